import pytest
import torch

from labelnoise.errors import InputError
from labelnoise.speed import start
from labelnoise.speed.cases import Bench


def test_the_first_step_is_timed_from_the_start_of_a_process_twice(monkeypatch, tmp_path):
    monkeypatch.setenv("LABELNOISE_DATA", str(tmp_path))
    first, again = start.measure(Bench(torch.device("cpu"), 0.0, rows=1000))
    assert min(first.value, again.value) > 0
    assert (first.key, again.key) == ("", "again")


@pytest.mark.parametrize(
    ("child", "last"),
    [
        ("raise RuntimeError('CUDA out of memory.')", "CUDA out of memory"),
        (r"raise RuntimeError('CUDA out of memory.\nCompile with more')", "Compile with more"),
        ("raise MemoryError", "MemoryError"),
        ("import os; os.kill(os.getpid(), 9)", "it said nothing"),
    ],
)
def test_a_process_for_which_memory_is_short_is_no_fault_of_what_was_typed(monkeypatch, child, last):
    monkeypatch.setattr(start, "CHILD", child)
    with pytest.raises(MemoryError, match=f"first step has failed: .*{last}"):
        list(start.measure(Bench(torch.device("cpu"), 0.0)))


def test_a_process_that_fails_is_told_with_what_it_said():
    with pytest.raises(InputError, match=r"first step has failed: .*no_such_device"):
        list(start.measure(Bench(type("Device", (), {"__str__": lambda self: "no_such_device", "type": "cpu"})(), 0.0)))
