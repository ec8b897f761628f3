"""How fast, and how exactly, a device is used; no method knows."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import nn
from torch.utils._triton import has_triton

from labelnoise.errors import InputError
from labelnoise.nets.base import Lowerable
from labelnoise.registry import nearest

Precision = Literal["auto", "float32", "bfloat16"]
PRECISIONS: tuple[str, ...] = get_args(Precision)
# Without it torch refuses to be deterministic, and it looks but once, at the first product of matrices on a GPU.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
# Queues of the device. There are eight by default, and runs beyond wait for each other; CUDA looks but once, too.
os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")
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
            yield
            return
        matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
        before = matmul.allow_tf32, cudnn.allow_tf32, cudnn.benchmark
        strict, lenient = (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        )
        matmul.allow_tf32 = cudnn.allow_tf32 = self.precision != "float32"
        cudnn.benchmark = not self.deterministic
        torch.use_deterministic_algorithms(self.deterministic)
        try:
            yield
        finally:
            matmul.allow_tf32, cudnn.allow_tf32, cudnn.benchmark = before
            torch.use_deterministic_algorithms(strict, warn_only=lenient)


DEFAULT = Execution()


def _is_normalised(net: nn.Module) -> bool:
    return any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in net.modules())
