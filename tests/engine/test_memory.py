from dataclasses import dataclass, replace

import pytest
import torch
from torch import nn

from labelnoise.config import Optimiser, Train
from labelnoise.engine import memory as module
from labelnoise.engine.memory import is_shortage, needed
from labelnoise.methods import METHODS, Method, build
from labelnoise.methods.ce import CE
from labelnoise.testing import CLASSES, FEATURES, Small
from labelnoise.types import DataSpec, Terms

SPEC = DataSpec((FEATURES,), CLASSES, 90, Small)
TRAIN = Train(batch=64, optimiser=Optimiser("sgd", momentum=0.9))


def mlp(classes):
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, classes))


@dataclass(frozen=True)
class Squares(Method):
    """Whose backward pass is known by heart."""

    def objective(self, nets, batch, ctx):
        return Terms((nets["net"](batch.x) ** 2).mean())


def test_a_small_network_needs_what_is_counted_by_hand():
    found = needed(Squares(), DataSpec((4,), 3, 1000, mlp), replace(TRAIN, batch=10), rows=7)
    weights = 4 * (4 * 8 + 8 + 8 * 3 + 3)  # bytes
    assert found.state == 4 * weights  # themselves, the best, their gradients, their momentum
    inputs = 4 * 4 + 8 + 8  # of a row: x, y and its number
    kept = 4 * (8 + 3)  # of a row: what the ReLU gives, which both layers share, and what is squared
    widest = 4 * (8 + 8)  # of a row: what the ReLU reads and writes
    times = 2 * 8  # progress and epoch, which are one tensor here, and the number of epochs
    assert found.step == 10 * (inputs + kept + widest) + times
    assert found.prediction == 2 * (7 * (4 * 4 + widest) + times)  # of true and of given labels
    assert found.total == found.state + found.step + found.prediction


def test_what_waits_for_a_later_operation_counts_in_a_prediction():
    class Skipping(nn.Module):
        def __init__(self, classes):
            super().__init__()
            self.first, self.wide, self.narrow = nn.Linear(4, 8), nn.Linear(8, 32), nn.Linear(32, 8)
            self.last = nn.Linear(8, classes)

        def forward(self, x):
            first = self.first(x)
            return self.last(first + self.narrow(self.wide(first).relu()))

    found = needed(Squares(), DataSpec((4,), 3, 1000, Skipping), TRAIN, rows=7)
    rows = 7 * 4 * (4 + 8 + 32 + 32)  # x, what waits, and what the ReLU reads and writes
    assert found.prediction == 2 * (rows + 2 * 8)  # and progress and the number of epochs


@pytest.mark.parametrize(("optimiser", "kept"), [("sgd", 0), ("adagrad", 1), ("adam", 2)])
def test_optimisers_need_what_they_keep(optimiser, kept):
    weights = 4 * (4 * 8 + 8 + 8 * 3 + 3)
    counts = 4 * 4 if kept else 0  # of steps, one for each of four tensors
    found = needed(Squares(), DataSpec((4,), 3, 1000, mlp), Train(batch=10, optimiser=Optimiser(optimiser)), 7)
    assert found.state == (3 + kept) * weights + counts


def test_memory_of_samples_is_part_of_the_state():
    @dataclass(frozen=True)
    class Remembering(Squares):
        def memory(self, spec):
            return {"seen": torch.zeros(spec.samples, 5)}

    spec = DataSpec((4,), 3, 1000, mlp)
    more = needed(Remembering(), spec, TRAIN, 7).state - needed(Squares(), spec, TRAIN, 7).state
    assert more == 1000 * 5 * 4


def test_more_rows_of_a_batch_need_more_and_each_the_same():
    sizes = [needed(CE(), SPEC, replace(TRAIN, batch=batch), 7) for batch in (16, 32, 48)]
    steps = [each.step for each in sizes]
    assert steps[2] - steps[1] == steps[1] - steps[0] > 0
    assert len({(each.state, each.prediction) for each in sizes}) == 1


def test_a_batch_has_no_more_rows_than_there_are():
    assert needed(CE(), SPEC, replace(TRAIN, batch=5000), 7) == needed(CE(), SPEC, replace(TRAIN, batch=90), 7)


def test_two_networks_that_learn_need_twice_the_state_of_one():
    assert needed(build("co_teaching"), SPEC, TRAIN, 7).state == 2 * needed(CE(), SPEC, TRAIN, 7).state


ALL = [(name, {}) for name in METHODS] + [
    ("gce", {"preset": "truncated"}),
    ("noise_against_noise", {"preset": "official"}),
    ("co_teaching", {"rate": "estimated"}),
    ("mentor_net", {"mentor": "learnt"}),
    ("distillation", {"teacher": "co_teaching(rate=estimated)"}),
]


@pytest.mark.parametrize(("name", "settings"), ALL)
def test_what_is_scaled_from_a_few_rows_is_what_many_rows_need(name, settings, monkeypatch):
    scaled = needed(build(name, settings), SPEC, TRAIN, 64)
    monkeypatch.setattr(module, "FEW", 32)  # and 64, which is the batch
    assert scaled == needed(build(name, settings), SPEC, TRAIN, 64)
    assert min(scaled) > 0


def test_a_real_lack_of_memory_is_known_for_one():
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**50)
    assert is_shortage(caught.value)


@pytest.mark.parametrize(
    ("problem", "short"),
    [
        (torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."), True),
        (MemoryError("Unable to allocate 8 PiB for an array"), True),
        (RuntimeError("CUDA error: out of memory"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (RuntimeError("CUDA driver error: out of memory"), True),
        (RuntimeError("Triton Error [CUDA]: out of memory"), True),
        (RuntimeError("std::bad_alloc"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_other_troubles_are_none_of_memory(problem, short):
    assert is_shortage(problem) == short


@pytest.fixture
def gpu(monkeypatch):
    """A GPU in use, with so many of 100 bytes free."""

    def having(free):
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (free, 100))

    return having


DOUBTFUL = [
    "GET was unable to find an engine to execute this computation",
    "FIND was unable to find an engine to execute this computation",
    "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
    "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
]


@pytest.mark.parametrize("text", DOUBTFUL)
@pytest.mark.parametrize(("free", "short"), [(9, True), (11, False)])
def test_what_broken_libraries_say_too_is_a_shortage_where_a_gpu_is_full(gpu, text, free, short):
    gpu(free)
    assert is_shortage(RuntimeError(text)) is short


@pytest.mark.parametrize("text", DOUBTFUL)
def test_where_no_gpu_is_used_it_is_none(text):
    assert not is_shortage(RuntimeError(text))


def test_a_full_gpu_makes_no_shortage_of_other_troubles(gpu):
    gpu(0)
    assert not is_shortage(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
