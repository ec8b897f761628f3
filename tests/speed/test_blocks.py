import pytest
import torch

from labelnoise.speed.blocks import WARM, Blocks, EnoughError, in_turns

CPU = torch.device("cpu")


class Clock:
    """Stands still but when told."""

    def __init__(self):
        self.time = 0.0

    def __call__(self):
        return self.time


def walk(watch, clock, *, steps, seconds, epochs=100, evaluation=0.0):
    """The loop's calls, with steps that take what `seconds(number)` says."""
    number = 0
    for epoch in range(epochs):
        for step in range(steps):
            clock.time += seconds(number)
            number += 1
            watch.stepped(epoch, step, steps)
        clock.time += evaluation
    return number


def test_the_time_of_a_step_is_that_without_warm_up_and_evaluation():
    clock = Clock()
    watch = Blocks(CPU, 1.0, clock)
    with pytest.raises(EnoughError):
        walk(watch, clock, steps=6, seconds=lambda number: 0.01 if number >= WARM["cpu"] else 0.3, evaluation=50.0)
    assert watch.step_seconds == pytest.approx(0.01)
    assert len(watch.taken) == watch.blocks
    assert watch.note == ""


def test_one_slow_block_does_not_count():
    clock = Clock()
    watch = Blocks(CPU, 1.0, clock)
    with pytest.raises(EnoughError):
        walk(watch, clock, steps=1000, seconds=lambda number: 9.0 if number == 60 else 0.01)
    assert watch.step_seconds == pytest.approx(0.01)


def test_blocks_are_as_long_as_the_time_allows():
    clock = Clock()
    watch = Blocks(CPU, 0.7, clock)
    with pytest.raises(EnoughError):
        walk(watch, clock, steps=1000, seconds=lambda number: 0.01)
    assert watch.length == 10


def test_a_step_longer_than_the_time_there_is_is_measured_once_and_said_to_be():
    clock = Clock()
    watch = Blocks(CPU, 1.0, clock)
    with pytest.raises(EnoughError):
        walk(watch, clock, steps=100, seconds=lambda number: 5.0)
    assert (watch.step_seconds, clock.time) == (5.0, 15.0)
    assert watch.note == "from 1 step only"


def test_the_steps_of_a_few_blocks_are_counted():
    clock = Clock()
    watch = Blocks(CPU, 0.7, clock)
    walk(watch, clock, steps=30, seconds=lambda number: 0.01, epochs=1)
    assert len(watch.taken) == 2
    assert watch.note == "from 20 steps only"


def test_pieces_of_work_take_turns_and_the_first_round_does_not_count(monkeypatch):
    clock, done = Clock(), []
    monkeypatch.setattr("labelnoise.speed.blocks.time.perf_counter", clock)

    def work(name, *taken):
        seconds = iter(taken)

        def piece():
            done.append(name)
            clock.time += next(seconds)

        return piece

    pair = in_turns([work("a", 50.0, 1.0, 1.0, 9.0), work("b", 70.0, 2.0, 3.0, 4.0)], CPU, 0.0)
    assert (pair, "".join(done)) == ([1.0, 3.0], "ab" * 4)
