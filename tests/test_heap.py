import platform
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from labelnoise.heap import HEAP, MMAP_THRESHOLD, TRIM_THRESHOLD, Heap

LARGE = 40 * 2**20  # bytes: more than glibc keeps by itself

glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries are left as they are")

COUNT = """
import resource
import torch
from labelnoise.heap import HEAP

def pages_fetched(rounds):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(rounds):
        [torch.empty(40 * 2**20, dtype=torch.uint8).fill_(1) for _ in range(4)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print(pages_fetched(6))
with HEAP.kept():
    pages_fetched(3)
    print(pages_fetched(6))
"""


def several():
    for _ in [torch.empty(LARGE, dtype=torch.uint8).fill_(1) for _ in range(4)]:
        pass


def held():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def held_in_the_beginning():
    with HEAP.kept():
        pass  # what others have freed goes back
    return held()


@glibc
def test_pages_of_what_is_freed_are_seldom_fetched_again_inside():
    told = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, check=True)
    outside, inside = map(int, told.stdout.split())
    assert inside < outside / 2


@glibc
def test_what_is_freed_goes_back_in_the_end_and_no_sooner():
    before = held_in_the_beginning()
    with HEAP.kept():
        with HEAP.kept():
            several()
        assert held() - before > 2 * LARGE
    assert held() - before < LARGE


def fail():
    several()
    raise ValueError("inside")


@glibc
def test_it_goes_back_also_after_an_error():
    before = held_in_the_beginning()
    with pytest.raises(ValueError, match="inside"), HEAP.kept():
        fail()
    assert held() - before < LARGE


class Strict:
    """glibc before 2.35: it takes no threshold beyond 32 MiB, and none at all but those it is told."""

    def __init__(self):
        self.told = {}

    def mallopt(self, name, value):
        if name == MMAP_THRESHOLD and value > 32 * 2**20:
            return 0
        self.told[name] = value
        return 1

    def malloc_trim(self, kept):
        self.told["trimmed"] = kept


def test_an_older_library_is_told_as_much_as_it_takes():
    heap = Heap()
    heap.library = Strict()
    with heap.kept():
        assert heap.library.told == {MMAP_THRESHOLD: 32 * 2**20, TRIM_THRESHOLD: 2**31 - 1}
    assert heap.library.told == {MMAP_THRESHOLD: 32 * 2**20, TRIM_THRESHOLD: 64 * 2**20, "trimmed": 0}


def test_other_libraries_are_left_as_they_are(monkeypatch):
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    heap = Heap()
    with heap.kept():
        several()
    assert heap.library is None
