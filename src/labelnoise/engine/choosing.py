"""Which executor is likely faster, from what is known before the first step; `benchmarks/executors.py` measures it."""

from math import prod

import torch
from torch import Tensor, nn

from labelnoise.methods.base import Method
from labelnoise.rng import Rng, seeded_init
from labelnoise.types import DataSpec

SMALL = 1.2e7  # products of a weight and a number of a row, in one call
UNSHARED = 7e6  # the same in a run's own call, times the share of threads that have nothing to do in a pack's
MOST_WEIGHTS = 5e6  # of a network that is packed on a CPU: larger ones were not measured
MOST_DRAWS = 1000  # for a row: with more, kernels are large anyway
# Numbers that a layer gives for a batch, on average, up to which packing convolutions pays if runs are very many
MOST_OUTPUTS = 25_000
PLAIN_CALLS = 1.7  # that one call for all runs costs as much as
PLAIN_CALLS_ALONE = 2.7  # on a single thread, since packs have work for a second one sooner
NORMALISED = 4  # times as many with BatchNorm, whose layers are several kernels


def threads_that_pay(net: nn.Module, rows: int) -> int:
    """How many threads a CPU should take for calls of so many rows; of small ones waiting for threads is the most."""
    return 1 if not _convolves(net) and _weights(net) * rows < SMALL else torch.get_num_threads()


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
    if max(map(_weights, networks.values())) > MOST_WEIGHTS or numbers > MOST_DRAWS:
        return False
    if any(_convolves(each) for each in networks.values() if type(each) is not type(net)):  # generators of images
        return False
    return _convolutions_pay(net, spec, runs) if _convolves(net) else _products_pay(net, spec.batch, runs)


def _products_pay(net: nn.Module, batch: int, runs: int) -> bool:
    # All threads share a product of a single run, but of a pack each takes whole runs. Of two runs, though they divide
    # evenly, a pack gains too little where products are large.
    threads = threads_that_pay(net, batch * runs)
    if threads == 1:
        return runs > 2
    idle = max(-runs % threads, int(runs == 2)) / runs
    return threads_that_pay(net, batch) == 1 or _weights(net) * batch * idle < UNSHARED


def _convolutions_pay(net: nn.Module, spec: DataSpec, runs: int) -> bool:
    gain = 1 - (PLAIN_CALLS if torch.get_num_threads() > 1 else PLAIN_CALLS_ALONE) / runs
    kernels = NORMALISED if _has(net, nn.modules.batchnorm._BatchNorm) else 1
    return _outputs(net, spec) < MOST_OUTPUTS * gain * kernels


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


def _convolves(net: nn.Module) -> bool:
    return _has(net, nn.modules.conv._ConvNd)


def _has(net: nn.Module, kind: type[nn.Module]) -> bool:
    return any(isinstance(module, kind) for module in net.modules())
