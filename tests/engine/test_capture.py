"""These need a GPU: elsewhere nothing is recorded."""

import threading

import pytest
import torch

from labelnoise.engine.capture import MOST, WARM, Captured

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def drawn(*size):
    return torch.randn(size, generator=torch.Generator().manual_seed(0)).cuda()


def test_a_recorded_function_gives_what_the_function_gives():
    double = Captured(lambda inputs: {"twice": inputs[0] * 2, "sum": inputs[0].sum() + inputs[1]["b"]})
    for k in range(WARM + 5):
        x, b = drawn(50) + k, torch.tensor(float(k), device="cuda")
        found = double((x, {"b": b})).get()
        torch.testing.assert_close(found, {"twice": x * 2, "sum": x.sum() + b})
    assert [recording.graph is not None for recording in double.recordings.values()] == [True]


def test_results_outlive_later_calls():
    double = Captured(lambda x: x * 2)
    outcomes = [double(torch.full((9,), float(k), device="cuda")) for k in range(WARM + 5)]
    assert [outcome.get()[0].item() for outcome in outcomes] == [2.0 * k for k in range(WARM + 5)]


def test_every_layout_has_a_recording_and_rare_ones_are_called_plainly():
    double, calls = Captured(lambda x: x * 2), range(1, MOST + 3)
    for _ in range(WARM + 2):
        for n in calls:
            assert torch.equal(double(torch.ones(n, device="cuda")).get(), torch.full((n,), 2.0, device="cuda"))
    assert len(double.recordings) == MOST


def test_what_lies_with_gaps_is_recorded_too():
    double, wide = Captured(lambda x: x * 2), drawn(6, 100)
    for k in range(WARM + 3):
        part = wide[:, 10 * k : 10 * k + 10]
        assert torch.equal(double(part).get(), part * 2)
    (recording,) = double.recordings.values()
    assert recording.graph is not None


def test_a_state_that_is_written_in_place_moves_on_with_every_call():
    total = torch.zeros((), device="cuda")
    add = Captured(lambda x: total.add_(x).clone())
    for _ in range(WARM + 5):
        add(torch.ones((), device="cuda")).get()
    assert total.item() == WARM + 5


def test_what_asks_the_host_is_called_plainly_and_leaves_random_numbers_usable():
    ask = Captured(lambda x: x * x.sum().item())
    found = [ask(torch.ones(3, device="cuda")).get() for _ in range(WARM)]
    with pytest.warns(UserWarning, match="it cannot be recorded"):
        found.append(ask(torch.ones(3, device="cuda")).get())
    found += [ask(torch.ones(3, device="cuda")).get() for _ in range(2)]
    assert all(torch.equal(each, torch.full((3,), 3.0, device="cuda")) for each in found)
    assert not ask.possible
    assert torch.randn(100, device="cuda").std() > 0.5
    torch.cuda.empty_cache()  # which fails while torch thinks that something is being recorded
    double = Captured(lambda x: x * 2)
    for _ in range(WARM + 2):
        double(torch.ones(3, device="cuda"))
    (recording,) = double.recordings.values()
    assert recording.graph is not None


def test_a_result_that_is_an_input_outlives_later_calls():
    same = Captured(lambda x: x)
    outcomes = [same(torch.full((9,), float(k), device="cuda")) for k in range(WARM + 5)]
    assert [outcome.get()[0].item() for outcome in outcomes] == list(range(WARM + 5))


def test_other_threads_may_use_the_device_while_something_is_recorded():
    going, pinned = threading.Event(), []

    def pin():
        while not going.is_set():
            pinned.append(torch.empty(len(pinned) + 2**20).pin_memory()[:1])

    thread = threading.Thread(target=pin)
    thread.start()
    try:
        for n in range(1, 4):
            double = Captured(lambda x: (x * 2).sort().values.cumsum(0))
            for _ in range(WARM + 2):
                double(torch.ones(1000 * n, device="cuda"))
            (recording,) = double.recordings.values()
            assert recording.graph is not None
    finally:
        going.set()
        thread.join()


def test_after_forgetting_it_is_recorded_anew():
    factor = [2.0]
    times = Captured(lambda x: x * factor[0])
    for _ in range(WARM + 2):
        times(torch.ones(3, device="cuda")).get()
    factor[0] = 5.0
    times.forget()
    for _ in range(WARM + 2):
        found = times(torch.ones(3, device="cuda")).get()
    assert found[0].item() == 5.0
    (recording,) = times.recordings.values()
    assert recording.graph is not None
