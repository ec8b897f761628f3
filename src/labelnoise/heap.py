"""Memory of the host that is freed and soon needed again."""

import ctypes
import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # what glibc's mallopt calls them
MOST = 2**31 - 1  # bytes, as large as it takes them; before 2.35 it takes no more than USUAL for MMAP_THRESHOLD
# Where glibc goes by itself as a program frees larger and larger pieces; once told, it stays where it is
USUAL = {MMAP_THRESHOLD: 32 * 2**20, TRIM_THRESHOLD: 64 * 2**20}


class Heap:
    """The one of this process, if glibc's."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(None) if platform.libc_ver()[0] == "glibc" else None
        self.users, self.lock = 0, threading.Lock()

    @contextmanager
    def kept(self) -> Iterator[None]:
        """What the main thread frees inside stays with the process, and goes back to the system in the end.

        Tensors of some megabytes come and go with every layer. Where each goes back to the system, which clears the
        pages of the next one, packed runs of small networks take 15 % longer.
        """
        with self.lock:
            self.users += 1
            self._keep()
        try:
            yield
        finally:
            with self.lock:
                self.users -= 1
                if not self.users:
                    self._give_back()

    def _keep(self) -> None:
        if self.library is not None:
            for name, usual in USUAL.items():
                if not self.library.mallopt(name, MOST):
                    self.library.mallopt(name, usual)

    def _give_back(self) -> None:
        if self.library is not None:
            for name, usual in USUAL.items():
                self.library.mallopt(name, usual)
            self.library.malloc_trim(0)


HEAP = Heap()
