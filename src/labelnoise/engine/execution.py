"""How fast, and how exactly, a device is used; no method knows."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import nn
from torch.utils._triton import has_triton

from labelnoise.errors import InputError
from labelnoise.heap import HEAP
from labelnoise.nets.base import Lowerable
from labelnoise.registry import nearest

Precision = Literal["auto", "float32", "bfloat16"]
PRECISIONS: tuple[str, ...] = get_args(Precision)
_of: Any = torch.backends
# Where torch keeps how float32 is computed: what others inherit from comes first, and last the products of a CPU, for
# which one of the old settings speaks as well
PLACES = (_of.cudnn, _of.cuda.matmul, _of.cudnn.conv, _of.cudnn.rnn, _of.mkldnn.matmul)
WORTH_COMPILING = 10_000  # steps: fewer are over before a compiler, which takes 10 to 40 s, has paid for itself


@dataclass(frozen=True)
class Execution:
    """What a person may say about it; everything is about GPUs but the executor.

    auto: layers with BatchNorm compute in bfloat16, all else in float32 on the tensor cores (tf32), weights are kept in
    float32. float32: everything in full float32. bfloat16: so do the layers below the head of classifiers without it.
    """

    executor: str | None = None  # None: the one that is likely faster
    precision: Precision = "auto"
    eager: bool = False  # neither compiled nor recorded: slow, and easy to look into
    deterministic: bool = False  # the same seed gives the same numbers twice, more slowly

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise InputError(f"unknown precision {self.precision!r}; {nearest(self.precision, PRECISIONS)}")

    def compiles(self, device: torch.device, steps: int) -> bool:
        """Whether a training of so many steps is worth compiling, and can be."""
        return device.type == "cuda" and not self.eager and steps >= WORTH_COMPILING and has_triton()

    def lower(self, module: nn.Module, device: torch.device, kind: type[Lowerable] = Lowerable) -> None:
        """Let the networks of this kind, where it is safe or asked for, compute in bfloat16, but for their heads."""
        if device.type != "cuda" or self.precision == "float32":
            return
        for net in module.modules():
            if isinstance(net, kind) and (self.precision == "bfloat16" or _is_normalised(net)):
                net.precision = torch.bfloat16

    @contextmanager
    def settings(self, device: torch.device) -> Iterator[None]:
        """torch's own settings for a training, and afterwards as they were."""
        if device.type != "cuda":
            with HEAP.kept():
                yield
            return
        before, strict, lenient = (
            torch.backends.cudnn.benchmark,
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        )
        torch.backends.cudnn.benchmark = not self.deterministic
        torch.use_deterministic_algorithms(self.deterministic)
        try:
            with _tf32(self.precision != "float32"):
                yield
        finally:
            torch.backends.cudnn.benchmark = before
            torch.use_deterministic_algorithms(strict, warn_only=lenient)


DEFAULT = Execution()


@contextmanager
def _tf32(allowed: bool) -> Iterator[None]:
    # Told by torch's old settings and by its new ones, for its compiler reads both. To read an old one raises where it
    # disagrees with a new one, which a program may have set; while these say "ieee", the old ones can be told.
    cudnn, before = torch.backends.cudnn, [place.fp32_precision for place in PLACES]
    for place in PLACES:
        place.fp32_precision = "ieee"
    products, convolutions = torch.get_float32_matmul_precision(), _cudnn_rounds()
    try:
        torch.backends.cuda.matmul.allow_tf32 = cudnn.allow_tf32 = allowed
        for place in PLACES[:-1]:
            place.fp32_precision = "tf32" if allowed else "ieee"
        yield
    finally:
        torch.set_float32_matmul_precision(products)
        cudnn.allow_tf32 = convolutions
        for place, precision in zip(PLACES, before, strict=True):
            place.fp32_precision = "none"  # inherited, if that gives what was there
            if place.fp32_precision != precision:
                place.fp32_precision = precision


def _cudnn_rounds() -> bool:
    # as the old setting has it, while the new ones say "ieee": either it agrees or it raises
    try:
        return torch.backends.cudnn.allow_tf32
    except RuntimeError:
        return True


def _is_normalised(net: nn.Module) -> bool:
    return any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in net.modules())
