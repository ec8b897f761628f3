"""Which executor is likely faster, from what is known before the first step; `benchmarks/executors.py` measures it."""

from math import prod

import torch
from torch import Tensor, nn

from labelnoise.methods.base import Method
from labelnoise.rng import Rng, seeded_init
from labelnoise.types import DataSpec

SMALL = 1.2e7  # products of a weight and a number of a row, in one call
MOST_WEIGHTS = 2e6  # of a network that is packed on a CPU: beyond, stacked weights are too many for its caches
MOST_DRAWS = 1000  # for a row: with more, kernels are large anyway
# Numbers that a layer gives for a batch, on average, up to which packing pays if runs are very many
MOST_OUTPUTS = 205_000
MOST_CONVOLVED = 25_000  # of networks with convolutions, which are slower packed
PLAIN_CALLS = 1.7  # that one call for all runs costs as much as
PLAIN_CALLS_ALONE = 2.7  # on a single thread, since packs have work for a second one sooner
NORMALISED = 3  # times as many with BatchNorm, whose layers are several kernels


def threads_that_pay(net: nn.Module, rows: int) -> int:
    """How many threads a CPU should take for calls of so many rows; of small ones waiting for threads is the most."""
    small = not _has(net, nn.modules.conv._ConvNd) and _weights(net) * rows < SMALL
    return 1 if small else torch.get_num_threads()


def choose(method: Method, spec: DataSpec, runs: int, device: torch.device) -> str:
    """The executor that is likely faster: packing saves the cost of calling small kernels; large ones it slows down."""
    if runs == 1:
        return "streams"
    with seeded_init(0, "choose"):  # so that nobody else's random numbers change
        packs = _pays_on_cpu(method, spec, runs) if device.type == "cpu" else _pays_on_gpu(spec)
    return "packed" if packs else "streams"


def _pays_on_gpu(spec: DataSpec) -> bool:
    # Recorded steps cost the host little, so what decides is whether the kernels of one run leave the device idle.
    net = spec.net(spec.classes)
    return _weights(net) < 1e6 and not _has(net, nn.modules.batchnorm._BatchNorm)


def _pays_on_cpu(method: Method, spec: DataSpec, runs: int) -> bool:
    net, networks = spec.net(spec.classes), method.networks(spec)
    numbers = sum(draw.numel() for draw in method.stages()[-1].method.draws(spec, 1, Rng(0)).values())
    others = [each for each in networks.values() if type(each) is not type(net)]
    if any(_has(each, nn.modules.conv._ConvNd) for each in others):  # such as generators of images
        return False
    few = max(map(_weights, networks.values())) <= MOST_WEIGHTS and numbers <= MOST_DRAWS
    return few and _outputs(net, spec) < _bound(net, runs)


def _bound(net: nn.Module, runs: int) -> float:
    gain = 1 - (PLAIN_CALLS if torch.get_num_threads() > 1 else PLAIN_CALLS_ALONE) / runs
    if not _has(net, nn.modules.conv._ConvNd):
        return MOST_OUTPUTS * gain
    return MOST_CONVOLVED * gain * (NORMALISED if _has(net, nn.modules.batchnorm._BatchNorm) else 1)


@torch.no_grad()
def _outputs(net: nn.Module, spec: DataSpec) -> float:
    # numbers that a layer gives for a batch, on average
    sizes: list[int] = []

    def note(layer: nn.Module, inputs: object, output: object) -> None:
        if isinstance(output, Tensor):
            sizes.append(prod(output.shape[1:]))

    for layer in net.modules():
        if not any(layer.children()):
            layer.register_forward_hook(note)
    net.eval()(torch.zeros(1, *spec.shape))
    return spec.batch * sum(sizes) / len(sizes)


def _weights(net: nn.Module) -> int:
    return sum(param.numel() for param in net.parameters())


def _has(net: nn.Module, kind: type[nn.Module]) -> bool:
    return any(isinstance(module, kind) for module in net.modules())
