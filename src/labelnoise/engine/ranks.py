"""The processes that `torchrun` starts to train together: who they are, what they exchange, and when all of them stop.

Without `torchrun` there is one, and nothing here does anything.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from labelnoise.engine.interrupt import Interrupt, InterruptError

PATIENCE = timedelta(days=7)  # while the first process writes reports the others wait for the next training
BUCKET = 2**25  # bytes that are sent at once
TORCHRUN = ("RANK", "WORLD_SIZE", "MASTER_ADDR")  # what it sets; many clusters set one of them for ends of their own
_control: list[dist.ProcessGroup] = []  # of the group that was joined: words between hosts, no tensors of devices


def started() -> int:
    """How many processes `torchrun` has started; 1 without it."""
    return int(os.environ["WORLD_SIZE"]) if all(map(os.environ.get, TORCHRUN)) else 1


def count() -> int:
    """How many processes train together."""
    return dist.get_world_size() if _control else 1


def rank() -> int:
    """The number of this one; 0 is the one that writes."""
    return dist.get_rank() if _control else 0


@contextmanager
def group(device: torch.device) -> Iterator[None]:
    """Inside, all processes that were started train together."""
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    _control.append(dist.new_group(backend="gloo", timeout=PATIENCE))
    free = device.type == "cpu"
    try:
        yield
        free = True
    finally:
        _control.clear()
        if free:  # GPUs that wait for each other are freed by the end of a process alone
            dist.destroy_process_group()


def meet() -> None:
    """Go on when all are here."""
    dist.barrier(_control[0])


def told(message: Any = None) -> Any:
    """What the first process says here; the others need not say anything."""
    said = [message]
    dist.broadcast_object_list(said, src=0, group=_control[0])
    return said[0]


def is_loss(problem: Exception) -> bool:
    """Whether this is what an exchange ends with when another process is gone."""
    return isinstance(problem, dist.DistError) or "onnection" in str(problem)


def bounds(rows: int, parts: int) -> list[slice]:
    """So many rows in parts that differ by one row at most."""
    return [slice(rows * part // parts, rows * (part + 1) // parts) for part in range(parts)]


def own_rows(rows: int) -> slice:
    """Those of so many rows that are this process's."""
    return bounds(rows, count())[rank()]


def gathered(own: Tensor, rows: int) -> Tensor:
    """All rows, of which each process has its own, at least one."""
    if not own.numel():
        return own.new_empty(rows, *own.shape[1:])
    sizes = [part.stop - part.start for part in bounds(rows, count())]
    missing = max(sizes) - len(own)  # all must send the same number
    padded = torch.cat([own, own.new_zeros(missing, *own.shape[1:])]) if missing else own.contiguous()
    every = [torch.empty_like(padded) for _ in sizes]
    dist.all_gather(every, padded)
    return torch.cat([each[:size] for each, size in zip(every, sizes, strict=True)])


def summed(tensor: Tensor) -> Tensor:
    """The sum over the processes."""
    total = tensor.contiguous().clone()
    dist.all_reduce(total)
    return total


def averaged(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The mean of each over the processes: all buckets are on their way before the first is waited for."""
    sent = []
    for bucket in _buckets(tensors):
        flat = torch.cat([each.flatten() for each in bucket])
        sent.append((bucket, flat, dist.all_reduce(flat, async_op=True)))
    means: list[Tensor] = []
    for bucket, flat, work in sent:
        work.wait()
        parts = torch.split(flat.div_(count()), [each.numel() for each in bucket])
        means += [part.view(each.shape) for part, each in zip(parts, bucket, strict=True)]
    return means


def _buckets(tensors: Sequence[Tensor]) -> list[list[Tensor]]:
    # in their order, each of one type
    found: list[list[Tensor]] = []
    room = 0
    for each in tensors:
        if not found or found[-1][0].dtype != each.dtype or room < each.nbytes:
            found.append([])
            room = BUCKET
        found[-1].append(each)
        room -= each.nbytes
    return found


class Agreed(Interrupt):
    """A signal that one process hears stops all of them, at the same moment."""

    def __init__(self) -> None:
        super().__init__()
        self._agreed = 0

    @property
    def asked(self) -> bool:
        """Whether a signal has come to any process: all must ask at the same moments."""
        if not self._agreed:
            heard = torch.tensor(self.number or 0)
            dist.all_reduce(heard, dist.ReduceOp.MAX, group=_control[0])
            self._agreed = int(heard)
        return self._agreed > 0

    def check(self) -> None:
        """Raise where a signal has come to any process."""
        if self.asked:
            raise InterruptError(self._agreed)


def interrupt() -> Interrupt:
    """What a training asks whether it must stop."""
    return Agreed() if count() > 1 else Interrupt()
