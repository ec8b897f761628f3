"""Batches of images that stay on disk: other processes read ahead while the device works."""

import atexit
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from multiprocessing import get_context, parent_process, resource_tracker
from threading import Thread
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as Answers

from labelnoise.config import Augment, Train
from labelnoise.data.loader import Loader, Task
from labelnoise.data.pictures import Pictures, read_windows
from labelnoise.errors import InputError
from labelnoise.rng import Rng

MOST_WORKERS = 16
AHEAD = 2  # batches that each worker has ready
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Share(NamedTuple):
    """How processes that train together share the reading: each reads windows of its own, and then all have all."""

    processes: int
    own: Callable[[int], slice]  # of so many
    whole: Callable[[Tensor, int], Tensor]  # so many, from the own ones


def make_loader(
    tasks: Sequence[Task], train: Train, device: torch.device | str = "cpu", share: Share | None = None
) -> Loader:
    """The loader for these data: images on disk are streamed, everything else lies on the device."""
    if isinstance(tasks[0].dataset.x, Pictures):
        return Stream(tasks, train.augment, device, balanced=train.balanced, share=share)
    return Loader(tasks, train.augment, device, balanced=train.balanced)


def usual_workers() -> int:
    """A process for each core that this one may use, shared with those `torchrun` started, less the one it needs."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(MOST_WORKERS, cores // int(os.environ.get("LOCAL_WORLD_SIZE", "1")) - 1))


class Stream(Loader):
    """Serves runs that share `Pictures`: windows are random in training, the middle ones in evaluation.

    One iteration at a time: who begins another one, over an epoch or a part, cannot go on with the one before.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        settings: Augment | None = None,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        *,
        balanced: int = 0,
        workers: int | None = None,
        share: Share | None = None,
    ) -> None:
        super().__init__(tasks, settings, device, dtype, balanced=balanced)
        self.share = share or Share(1, lambda rows: slice(0, rows), lambda own, rows: own)
        self.workers = usual_workers() if workers is None else workers  # 0: this process reads itself

    def _hold(self, inputs: Sequence[Tensor | Pictures]) -> list[int]:
        pictures, *others = inputs
        if not isinstance(pictures, Pictures) or any(other is not pictures for other in others):
            raise InputError("the runs in a pack must share their images; load the data set once for all")
        self.pictures = pictures
        return [0] * len(inputs)

    def _served(
        self, rows: Sequence[Tensor], steps: range, size: int, epoch: int | None = None
    ) -> Iterator[list[Tensor]]:
        rows = [each.cpu() for each in rows]  # all at once, for a copy in each step would wait for the device
        cuts = [slice(step * size, (step + 1) * size) for step in steps]
        sizes: deque[int] = deque()  # windows of the wishes that have been made and not yet been answered
        wishes = (
            self._own(self._wish(each[:, here], None if epoch is None else (epoch, step, which)), sizes)
            for step, here in zip(steps, cuts, strict=True)
            for which, each in enumerate(rows)
        )
        reader = _reader(self.pictures.size, self.pictures.resize, self.workers, self.device)
        windows = reader.read(wishes)
        for here in cuts:
            yield [
                _arranged(self._whole(next(windows), sizes.popleft()), each[:, here], each_once=epoch is None)
                for each in rows
            ]

    def _own(self, wish: "Wish", sizes: deque[int]) -> "Wish":
        # what this process reads of it: all, where there are fewer windows than processes
        sizes.append(len(wish.which))
        if sizes[-1] < self.share.processes:
            return wish
        mine = self.share.own(sizes[-1])
        used, which = np.unique(wish.which[mine], return_inverse=True)
        places = None if wish.places is None else wish.places[mine]
        return Wish([wish.files[file] for file in used], which.tolist(), places)

    def _whole(self, windows: Tensor, size: int) -> Tensor:
        return windows if size < self.share.processes else self.share.whole(windows, size)

    def _wish(self, rows: Tensor, moment: tuple[int, int, int] | None) -> "Wish":
        distinct, which = np.unique(rows.numpy(), return_inverse=True)
        files = self.pictures.files(distinct.tolist())
        if moment is None:
            return Wish(files, list(range(len(files))), None)
        # Drawn here and not where the image is read, so that the number of workers does not matter.
        draws = [Rng(seed, "window", *moment).uniform(rows.shape[1], 2) for seed in self.seeds]
        return Wish(files, which.flatten().tolist(), torch.cat(draws).numpy())


def _arranged(windows: Tensor, rows: Tensor, *, each_once: bool) -> Tensor:
    # (R, B, 3, S, S); runs that are evaluated on the same image share its window
    if not each_once:
        return windows.reshape(*rows.shape, *windows.shape[1:])
    which = np.unique(rows.numpy(), return_inverse=True)[1].reshape(rows.shape)
    return windows[torch.from_numpy(which).to(windows.device)]


class Wish(NamedTuple):
    """The windows that one batch of all runs needs."""

    files: list[str]  # each once
    which: list[int]  # file of each window
    places: NDArray[np.float32] | None  # (windows, 2); None: in the middle


class _Answers(Answers[Tensor | str]):
    # wish -> pixels, or the sentence that says what is wrong: a worker's exception would come with a traceback

    def __init__(self, size: int, resize: int) -> None:
        self.size, self.resize = size, resize

    def __getitem__(self, wish: Wish) -> Tensor | str:
        try:
            return read_windows(*wish, size=self.size, resize=self.resize)
        except InputError as problem:
            return str(problem)


class _Wishes:
    # what the DataLoader walks through, other wishes each time

    def __init__(self) -> None:
        self.now: Iterable[Wish] = ()

    def __iter__(self) -> Iterator[Wish]:
        return iter(self.now)


class _Reader:
    # wishes in, pixels on the device out, in the same order

    def __init__(self, answers: _Answers, workers: int, device: torch.device) -> None:
        self.wishes, self.turn, self.device = _Wishes(), 0, device
        self.place = _apart if workers else nullcontext
        context = get_context("forkserver")  # a copy of this process would hold its threads' locks and its GPU
        context.set_forkserver_preload([__name__, "PIL.JpegImagePlugin"])  # so that each worker starts at once
        apart: dict[str, Any] = {"prefetch_factor": AHEAD, "multiprocessing_context": context}
        apart["worker_init_fn"] = _follow
        self.source: DataLoader[Tensor | str] = DataLoader(
            answers,
            batch_size=None,
            sampler=self.wishes,
            num_workers=workers,
            persistent_workers=workers > 0,
            pin_memory=device.type == "cuda",
            generator=torch.Generator(),  # torch's own is left as it was
            **(apart if workers else {}),
        )

    def read(self, wishes: Iterable[Wish]) -> Iterator[Tensor]:
        self.wishes.now = wishes
        self.turn += 1
        turn = self.turn
        with self.place():
            answers = iter(self.source)
        if turn == 1:
            # After torch, which would wait five seconds for each worker in the end: who asks last is served first.
            atexit.register(_dismiss, self.source)
        while True:
            if turn != self.turn:
                raise RuntimeError("another iteration over streamed images has begun; finish one before the next")
            try:
                answer = next(answers)
            except StopIteration:
                return
            except RuntimeError as problem:
                _reader.cache_clear()
                reason = str(problem).splitlines()[0]
                raise InputError(
                    f"a process that reads images has died, perhaps for lack of memory ({reason}); "
                    "free some, then type the command again"
                ) from None
            if isinstance(answer, str):
                raise InputError(answer)
            yield answer.to(self.device, non_blocking=True)


@cache  # one set of workers for all packs of a process
def _reader(size: int, resize: int, workers: int, device: torch.device) -> _Reader:
    return _Reader(_Answers(size, resize), workers, device)


def _dismiss(source: DataLoader[Any]) -> None:
    # Before Python's own end of child processes, which sends a signal that they do not hear.
    if stop := getattr(getattr(source, "_iterator", None), "_shutdown_workers", None):
        stop()


def _follow(_: int) -> None:
    # A worker ends with the process it works for, also where that is killed.
    Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    if parent := parent_process():
        parent.join()
    os._exit(1)


@contextmanager
def _apart() -> Iterator[None]:
    """Processes begun inside hear no Ctrl-C or SIGTERM, which systems send to all, and import no script of the user's.

    This process hears of the signals afterwards: it decides when to end, and ends the others.
    """
    resource_tracker.ensure_running()  # it would let signals through if it were begun inside
    heard, script = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS), sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script
        signal.pthread_sigmask(signal.SIG_SETMASK, heard)
