import pytest
import torch

from labelnoise.speed import whole
from labelnoise.speed.blocks import EnoughError
from labelnoise.speed.cases import Bench

CPU, GPU = torch.device("cpu"), torch.device("cuda")


@pytest.fixture(autouse=True)
def no_data(monkeypatch, tmp_path):
    monkeypatch.setenv("LABELNOISE_DATA", str(tmp_path))


@pytest.fixture
def clock():
    class Clock:
        time = 0.0

        def __call__(self):
            return self.time

    return Clock()


def test_on_a_gpu_it_is_the_papers_training_with_so_many_runs_and_epochs():
    job = whole.MNIST.job(GPU)
    assert (len(job.methods) * job.seeds, job.train.epochs, job.net.name) == (45, 100, "lenet5_same")
    assert job.split.rows * (1 - job.split.validation / (1 - job.split.test)) == pytest.approx(45_000)
    job = whole.CIFAR10.job(GPU)
    assert (job.seeds, job.train.epochs, job.net.name, job.train.augment.flip) == (6, 90, "wrn_28_2", True)


def test_what_lies_between_an_evaluation_and_a_step_is_the_hosts_but_for_the_step(clock):
    timer = whole.Timer(CPU, clock)
    timer.begin("ce", 3, 2, 0)
    for epoch in range(2):
        clock.time += 0.5 if epoch else 90.0
        for step in range(4):
            clock.time += 1.0
            timer.tick(epoch, step, 4)
        clock.time += 7.0
        timer.judge(epoch, 0.5)
        timer.judge(epoch, 1.0)
    assert timer.host_share == pytest.approx(0.5 / 11.5)  # of the second epoch alone: the first waits for compilers
    assert timer.steady == pytest.approx(3 / 11.5)
    assert timer.epochs == 6


def test_what_lies_between_two_packs_is_not_the_hosts(clock):
    timer = whole.Timer(CPU, clock)
    timer.begin("ce", 1, 1, 0)
    timer.judge(0, 1.0)
    clock.time += 9.0
    timer.begin("gce", 1, 1, 0)
    timer.tick(0, 0, 4)
    assert timer.host == timer.cycles == []


def test_a_comparison_is_left_when_its_time_is_over(clock):
    timer = whole.Timer(CPU, clock)
    timer.begin("ce", 1, 1, 0)
    timer.tick(0, 0, 4)
    clock.time += whole.LIMIT + 1
    with pytest.raises(EnoughError):
        timer.tick(0, 1, 4)


def test_of_a_comparison_that_was_left_the_time_of_all_is_reckoned(monkeypatch):
    def judge(timer, epoch, share):
        judged(timer, epoch, share)
        if share == 1:
            monkeypatch.setattr(whole, "LIMIT", 0.0)

    judged = whole.Timer.judge
    monkeypatch.setattr(whole.Timer, "judge", judge)
    seconds, rate = whole.measure(whole.SHORT, Bench(CPU, 0.0))
    assert "left after 1 of 3 epochs of runs" in seconds.note
    assert rate.value * seconds.value == pytest.approx(3 * 900)


def test_of_a_comparison_that_was_left_before_an_epoch_was_over_nothing_is_known(monkeypatch):
    monkeypatch.setattr(whole, "LIMIT", 0.0)
    (seconds,) = whole.measure(whole.SHORT, Bench(CPU, 0.0))
    assert seconds.value is None
    assert seconds.note.endswith("left before the end of an epoch")


def test_a_small_piece_is_run_on_a_cpu():
    seconds, rate, steady, host = whole.measure(whole.SHORT, Bench(CPU, 0.0))
    assert (seconds.unit, rate.unit, steady.unit, host.unit) == ("s", "images/s", "images/s", "%")
    assert rate.value * seconds.value == pytest.approx(3 * 900)
    assert steady.value > 0
    assert 0 <= host.value < 100
    assert "1 × 1 run × 3 epochs of 900 images" in seconds.note
