"""Memory of the host that is freed and soon needed again."""

import ctypes
import platform
from collections.abc import Iterator
from contextlib import contextmanager

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # what glibc's mallopt calls them
MOST = 2**31 - 1  # bytes, as large as it takes them
# Where glibc goes by itself as a program frees larger and larger pieces; once told, it stays where it is
USUAL = {MMAP_THRESHOLD: 32 * 2**20, TRIM_THRESHOLD: 64 * 2**20}


class Heap:
    """The one of this process, if glibc's."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(None) if platform.libc_ver()[0] == "glibc" else None
        self.users = 0

    @contextmanager
    def kept(self) -> Iterator[None]:
        """What is freed inside stays with the process, and goes back to the system in the end.

        Tensors of some megabytes come and go with every layer. Where each goes back to the system, which clears the
        pages of the next one, packed runs of small networks take 15 % longer.
        """
        self._tell(dict.fromkeys(USUAL, MOST))
        self.users += 1
        try:
            yield
        finally:
            self.users -= 1
            if not self.users:
                self._tell(USUAL)
                self._give_back()

    def _tell(self, thresholds: dict[int, int]) -> None:
        if self.library is not None:
            for name, value in thresholds.items():
                self.library.mallopt(name, value)

    def _give_back(self) -> None:
        if self.library is not None:
            self.library.malloc_trim(0)


HEAP = Heap()
