import gc
import weakref
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from labelnoise.config import Optimiser, Schedule, WarmUp
from labelnoise.data.loader import batches
from labelnoise.engine import loop
from labelnoise.engine.checkpoint import Checkpointer, of_runs
from labelnoise.engine.evaluate import training_probs
from labelnoise.engine.executors import EXECUTORS
from labelnoise.engine.interrupt import InterruptError
from labelnoise.engine.lane import Lane
from labelnoise.engine.lanes import Alone
from labelnoise.engine.loop import Position
from labelnoise.engine.outcome import Outcome
from labelnoise.errors import InputError
from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.methods import build
from labelnoise.methods.base import Method, Stage, hyper
from labelnoise.methods.ce import CE
from labelnoise.testing import DOUBLE, TRAIN, Silent, training
from labelnoise.types import Terms

NEEDS_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

every_executor = pytest.mark.parametrize("executor", EXECUTORS)


@dataclass(frozen=True)
class Shares(Method):
    """Stages with these shares of the epochs."""

    shares: tuple[float, ...] = (1.0,)

    def stages(self):
        return tuple(Stage(str(i), share, CE()) for i, share in enumerate(self.shares))


@dataclass(frozen=True)
class Fused(CE):
    """Cross-entropy that turns NaN once its fuse has burnt down."""

    fuse: float = hyper(2.0, low=0.0, high=3.0)

    def objective(self, nets, batch, ctx):
        alight = ctx.progress >= self.fuse
        return Terms(super().objective(nets, batch, ctx).loss * torch.where(alight, torch.nan, 1.0))


@dataclass(frozen=True)
class Rich(Method):
    """Memory, draws, two kinds of stage, an estimate after every epoch, a best epoch, a new start."""

    decay: float = hyper(0.7, low=0.5, high=0.9)

    def memory(self, spec):
        return {"ema": torch.zeros(spec.samples), "visits": torch.zeros(spec.samples, dtype=torch.int64)}

    def draws(self, spec, size, rng):
        return {"noise": rng.normal(size, *spec.shape)}

    def stages(self):
        sgd = Optimiser("sgd", lr=0.1, momentum=0.9)
        first = Stage("first", 0.5, CE(), carry="best", optimiser=sgd, batch=32, schedule=Schedule("cosine"))
        return (
            first,
            Stage("second", 0.5, self, before=self.prior, refresh=self.prior, restart=("net",), carry="best"),
        )

    def prior(self, snapshot):
        return {"prior": snapshot.probs.mean(0) + snapshot.progress}

    def objective(self, nets, batch, ctx):
        logits = nets["net"](batch.x + 0.1 * ctx.draws["noise"]) + ctx.aux["prior"]
        loss = cross_entropy(logits, batch.y)
        ema = self.decay * ctx.memory["ema"] + (1 - self.decay) * loss.detach()
        return Terms((loss * (1 + ema)).mean(), {"ema": ema.mean()}, {"ema": ema, "visits": ctx.memory["visits"] + 1})


@dataclass(frozen=True)
class Burning(Rich):
    """The same, with a loss that turns NaN once its fuse has burnt down."""

    fuse: float = hyper(2.0, low=0.0, high=3.0)

    def objective(self, nets, batch, ctx):
        terms = super().objective(nets, batch, ctx)
        return terms._replace(loss=terms.loss * torch.where(ctx.progress >= self.fuse, torch.nan, 1.0))


def weights(trained):
    state = trained.executor.state()
    return {name: value.clone() for name, value in state.items() if name.startswith("weights|") and "seed" not in name}


class Watching(Silent):
    """Also keeps the weights of every epoch, and where each step was."""

    def __init__(self):
        super().__init__()
        self.weights, self.places = [], []

    def stepped(self, epoch, step, steps):
        self.places.append((epoch, step, steps))

    def finished_epoch(self, result):
        super().finished_epoch(result)
        self.weights.append(weights(self.training))


def watched(methods, executor="streams", **settings):
    observer = Watching()
    observer.training = training(methods, executor, observer=observer, **settings)
    return observer.training, observer


@every_executor
def test_the_best_epoch_first_among_equals_is_handed_over(executor):
    trained, seen = watched([Rich()] * 3, executor, train=replace(TRAIN, epochs=12))
    for phase in trained.phases:
        trained.begin(phase)
        trained.finish(phase)
        results, kept = seen.results[phase.first : phase.end], seen.weights[phase.first : phase.end]
        scores = np.array([[result.measures[run]["validation/score"] for result in results] for run in range(3)])
        assert (scores.max(1) > scores[:, 0]).any()
        for run, best in enumerate(scores.argmax(1)):
            assert all(torch.equal(value[run], kept[best][name][run]) for name, value in weights(trained).items())


def test_a_stage_that_carries_the_last_epoch_hands_over_that():
    trained, seen = watched([Shares((0.5, 0.5))] * 2, seeds=(0, 1))
    trained.begin(trained.phases[0])
    trained.finish(trained.phases[0])
    assert all(torch.equal(value, seen.weights[-1][name]) for name, value in weights(trained).items())


@every_executor
def test_a_restarted_network_is_new_and_the_same_for_the_same_seed(executor):
    entered = []
    for _ in range(2):
        trained, _ = watched([build("forward")] * 3, executor)
        trained.begin(trained.phases[0])
        before = weights(trained)
        trained.finish(trained.phases[0])
        trained.begin(trained.phases[1])
        entered.append(weights(trained))
    name = "weights|nets.net.head.weight"
    assert all(not torch.equal(old, new) for old, new in zip(before[name], entered[0][name], strict=True))
    assert all(torch.equal(value, entered[1][key]) for key, value in entered[0].items())


def test_steps_are_told_one_by_one_with_the_batch_size_of_the_stage():
    trained, seen = watched([Rich()], seeds=(0,))
    trained.run()
    samples = trained.loader.samples
    per_epoch = [batches(samples, 32)[0]] * 3 + [batches(samples, TRAIN.batch)[0]] * 3
    assert seen.places == [(epoch, step, steps) for epoch, steps in enumerate(per_epoch) for step in range(steps)]


@every_executor
def test_a_stage_may_have_an_optimiser_and_a_schedule_of_its_own(executor):
    @dataclass(frozen=True)
    class Own(CE):
        def stages(self):
            still = Schedule("step", milestones=(1,), gamma=0.0)  # moves in the stage's first epoch only
            sgd = Optimiser("sgd", lr=0.1, momentum=0.9)
            return (Stage("a", 0.5, self), Stage("b", 0.5, self, optimiser=sgd, schedule=still))

    trained, seen = watched([Own()] * 2, executor, seeds=(0, 1))
    trained.run()
    name = "weights|nets.net.head.weight"
    moved = [not torch.equal(one[name], two[name]) for one, two in pairwise(seen.weights)]
    assert moved == [True, True, True, False, False]
    kinds = {key.rpartition("|")[2] for key in trained.state() if key.startswith("optimiser|")}
    assert kinds == {"momentum_buffer"}


def test_optimiser_state_starts_fresh_per_stage():
    trained, _ = watched([Shares((0.5, 0.5))], seeds=(0,))
    trained.run()
    steps = batches(trained.loader.samples, TRAIN.batch)[0]
    counts = [value for name, value in trained.state().items() if name.endswith("|step")]
    assert counts
    assert all(value.tolist() == [3 * steps] for value in counts)


RENEWED = replace(TRAIN, optimiser=replace(TRAIN.optimiser, renew=True))


@every_executor
def test_an_optimiser_that_is_renewed_knows_the_steps_of_the_last_epoch_alone(executor):
    trained = training([CE()] * 2, executor, seeds=(0, 1), train=RENEWED)
    trained.run()
    steps = batches(trained.loader.samples, TRAIN.batch)[0]
    counts = [value.tolist() for name, value in trained.state().items() if name.endswith("|step")]
    assert counts
    assert all(each == [steps] * 2 for each in counts)


def test_the_clock_counts_within_the_stage():
    @dataclass(frozen=True)
    class Timed(CE):
        def stages(self):
            return (Stage("a", 1 / 3, self), Stage("b", 2 / 3, self))

        def objective(self, nets, batch, ctx):
            time = {"progress": ctx.progress, "epoch": ctx.epoch, "epochs": ctx.epochs}
            return super().objective(nets, batch, ctx)._replace(logs=time)

    trained, seen = watched([Timed()] * 2, "packed", seeds=(0, 1))
    trained.run()
    steps = batches(trained.loader.samples, TRAIN.batch)[0]
    for epoch, result in enumerate(seen.results):
        own, all_own = (epoch, 2) if epoch < 2 else (epoch - 2, 4)
        progress = np.mean([(own + step / steps) / all_own for step in range(steps)])
        for measures in result.measures.values():
            logged = [measures[f"train/{name}"] for name in ("progress", "epoch", "epochs")]
            assert logged == pytest.approx([progress, own, all_own], abs=1e-12)


def test_the_recorded_loss_is_the_mean_over_the_steps():
    trained, seen = watched([CE()] * 2, seeds=(0, 1))
    losses, launch = [], trained.executor.launch

    def launched(*args):
        losses.append(terms := launch(*args)())
        return lambda: terms

    trained.executor.launch = launched
    trained.run()
    per_epoch = torch.stack([terms.loss for terms in losses]).reshape(6, -1, 2).mean(1)
    for result, expected in zip(seen.results, per_epoch, strict=True):
        recorded = [result.measures[run]["train/loss"] for run in (0, 1)]
        assert recorded == pytest.approx(expected.tolist(), abs=1e-12)


@every_executor
def test_memory_is_read_and_written_at_the_rows_of_each_batch(executor):
    trained, _ = watched([Rich()] * 3, executor)
    trained.run()
    served = torch.zeros_like(trained.memory["visits"])
    for epoch in range(3, 6):
        for batch, _ in trained.loader.epoch(epoch, TRAIN.batch):
            for run in range(3):
                for row in batch.rows[run].tolist():
                    served[run, row] += 1
    assert torch.equal(trained.memory["visits"], served)


def test_memory_outlives_the_stage_that_began_it():
    @dataclass(frozen=True)
    class Long(Rich):
        def stages(self):
            _, second = super().stages()
            return (replace(second, name="first"), second)

    trained, _ = watched([Long()], seeds=(0,))
    trained.run()
    assert trained.memory["visits"].min() >= 6


def test_memory_has_the_precision_of_the_training_and_whole_numbers_stay_whole():
    trained, _ = watched([Rich()], seeds=(0,))
    trained.run()
    assert {name: rows.dtype for name, rows in trained.memory.items()} == {"ema": torch.float64, "visits": torch.int64}


def test_estimates_come_once_before_a_stage_and_after_each_of_its_epochs():
    seen = []

    @dataclass(frozen=True)
    class Estimating(CE):
        def stages(self):
            note = self.note
            return (Stage("a", 0.5, self), Stage("b", 0.5, self, before=note("before"), refresh=note("refresh")))

        def note(self, which):
            return lambda snapshot: seen.append((which, snapshot)) or {"seen": torch.zeros(1)}

    trained, _ = watched([Estimating()], seeds=(0,))
    trained.run()
    expected = [("before", 0), ("refresh", 1 / 3), ("refresh", 2 / 3), ("refresh", 1)]
    assert [(which, snapshot.progress) for which, snapshot in seen] == expected
    last = seen[-1][1]
    assert torch.equal(last.probs, training_probs(trained.executor, trained.loader)[0])
    assert torch.equal(last.labels, trained.loader.labels[0])


@every_executor
def test_a_run_that_turns_nan_is_reported_where_it_did_and_recorded_no_more(executor):
    trained, seen = watched([Fused(2.0), Fused(0.55), Fused(2.0)], executor)
    trained.run()
    assert [result.failed for result in seen.results] == [{}, {}, {}, {1: 2}, {}, {}]  # (3 + 2 / 4) / 6 >= 0.55
    assert [sorted(result.measures) for result in seen.results] == [[0, 1, 2]] * 3 + [[0, 2]] * 3


@every_executor
def test_records_of_neighbours_do_not_notice_a_run_that_turns_nan(executor):
    (bad, seen), (good, undisturbed) = (watched([Fused(), Fused(fuse), Fused()], executor) for fuse in (0.55, 2.0))
    bad.run()
    good.run()
    for result, expected in zip(seen.results, undisturbed.results, strict=True):
        assert all(result.measures[run] == expected.measures[run] for run in (0, 2))


def test_weights_ruined_by_the_last_step_of_an_epoch_are_noticed_in_that_epoch():
    @dataclass(frozen=True)
    class Late(CE):
        def objective(self, nets, batch, ctx):
            loss = super().objective(nets, batch, ctx).loss
            hidden = torch.where(ctx.progress >= 0.7, 0.0, 1.0) * loss  # 0 has no slope under a root
            return Terms(loss + hidden.sqrt())

    trained, seen = watched([Late()], seeds=(0,), train=replace(TRAIN, epochs=1))
    trained.run()
    assert seen.results[0].failed == {0: 3}
    assert seen.results[0].measures == {}


@every_executor
def test_a_training_ends_early_once_all_its_runs_have_failed(executor):
    trained, seen = watched([Fused(0.2), Fused(0.55), Fused(0.4)], executor)
    trained.run()
    assert [result.epoch for result in seen.results] == [0, 1, 2, 3]


@every_executor
def test_runs_that_all_fail_in_the_first_of_several_stages_end_in_peace(executor):
    @dataclass(frozen=True)
    class Doomed(Rich):
        def stages(self):
            first, second = super().stages()
            return (replace(first, method=Fused(0.0)), second)

    trained, seen = watched([Doomed()] * 2, executor, seeds=(0, 1))
    trained.run()
    assert len(seen.results) == 1


@every_executor
def test_left_at_any_step_and_resumed_it_ends_bit_for_bit_the_same(executor, tmp_path):
    methods = [Rich(0.6), Rich(0.8)]
    settings = {"seeds": (3, 4), "train": replace(TRAIN, epochs=4)}
    whole = Silent()
    expected = training(methods, executor, observer=whole, **settings)
    expected.run()
    for steps in range(1, whole.steps + 1):
        first, second, path = Silent(leave_after=steps), Silent(), tmp_path / f"{steps}.safetensors"
        with pytest.raises(KeyboardInterrupt):
            training(methods, executor, observer=first, checkpointer=Checkpointer(path, 0.0), **settings).run()
        resumed = training(methods, executor, observer=second, checkpointer=Checkpointer(path), **settings)
        resumed.resume()
        resumed.run()
        assert first.results + second.results == whole.results
        assert all(torch.equal(value, resumed.state()[name]) for name, value in expected.state().items())


@pytest.mark.parametrize(("saved", "resumed"), [("ce", "co_teaching"), ("t_revision", "ce")])
def test_a_checkpoint_of_another_training_is_refused(saved, resumed, tmp_path):
    path = tmp_path / "checkpoint.safetensors"
    with pytest.raises(KeyboardInterrupt):
        training(
            [build(saved)], seeds=(0,), observer=Silent(leave_after=20), checkpointer=Checkpointer(path, 0.0)
        ).run()
    with pytest.raises(InputError, match=r"checkpoint .* is of another training .* delete it to begin anew"):
        training([build(resumed)], seeds=(0,), checkpointer=Checkpointer(path)).resume()


def test_too_little_memory_for_a_checkpoint_is_not_taken_for_one_of_another_training(tmp_path, monkeypatch):
    def short(*_):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    left = training([CE()], seeds=(0,), checkpointer=Checkpointer(tmp_path / "checkpoint"))
    left.begin(left.phases[0])
    left.save()
    again = training([CE()], seeds=(0,), checkpointer=Checkpointer(tmp_path / "checkpoint"))
    monkeypatch.setattr(again.executor, "load", short)
    with pytest.raises(torch.cuda.OutOfMemoryError):
        again.resume()


@every_executor
def test_a_training_that_is_over_leaves_its_memory_at_once(executor):
    training([CE()], executor, seeds=(0,)).run()  # torch loads something late, and keeps hold of what is about
    over = training([CE()], executor, seeds=(0,))
    over.run()
    held = weakref.ref(over.executor)
    gc.disable()
    try:
        del over
        assert held() is None
    finally:
        gc.enable()


def test_a_failed_run_stays_failed_after_resuming(tmp_path):
    methods, path = [Fused(0.2), Fused(2.0)], tmp_path / "checkpoint.safetensors"
    first, second = Silent(leave_after=14), Silent()
    with pytest.raises(KeyboardInterrupt):
        training(methods, seeds=(0, 1), observer=first, checkpointer=Checkpointer(path, 0.0)).run()
    resumed = training(methods, seeds=(0, 1), observer=second, checkpointer=Checkpointer(path))
    resumed.resume()
    resumed.run()
    assert [result.failed for result in first.results + second.results] == [{}, {0: 1}, {}, {}, {}, {}]
    assert [sorted(result.measures) for result in second.results] == [[1]] * 3


@pytest.mark.parametrize("moment", [(0, 1), (1, 4), (2, 2)], ids=["step", "evaluation", "second stage"])
def test_a_training_asked_to_leave_saves_and_goes_on_later_as_if_nothing_had_been(tmp_path, moment):
    whole, first, second = Silent(), Silent(), Silent()
    training([build("t_revision")] * 2, seeds=(0, 1), observer=whole).run()
    checkpointer = Checkpointer(tmp_path / "checkpoint", every_seconds=1e9)
    left = training([build("t_revision")] * 2, seeds=(0, 1), observer=first, checkpointer=checkpointer)

    def ask(epoch, step, steps):
        if (epoch, step + 1) == moment:
            left.interrupt.number = 15

    first.stepped = ask
    with pytest.raises(InterruptError):
        left.run()
    resumed = training([build("t_revision")] * 2, seeds=(0, 1), observer=second, checkpointer=checkpointer)
    resumed.resume()
    resumed.run()
    assert len(first.results) == moment[0]
    assert first.results + second.results == whole.results


ESTIMATING = [Burning(0.6), Burning(0.8, fuse=0.1)]  # before the fourth epoch and after each from then on


@every_executor
@pytest.mark.parametrize("call", [1, 2, 4])
def test_asked_to_leave_within_an_estimate_it_saves_once_and_trains_no_step_twice(
    tmp_path, monkeypatch, executor, call
):
    whole, first, second, settings = Silent(), Silent(), Silent(), {"seeds": (0, 1)}
    expected = training(ESTIMATING, executor, observer=whole, **settings)
    expected.run()
    checkpointer = Checkpointer(tmp_path / "checkpoint", every_seconds=1e9)
    left = training(ESTIMATING, executor, observer=first, checkpointer=checkpointer, **settings)
    calls, saves, save = [], [], checkpointer.save

    def asked(*given):
        calls.append(1)
        if len(calls) == call:  # a signal comes while this is predicted
            left.interrupt.number = 15
        return training_probs(*given)

    monkeypatch.setattr(loop, "training_probs", asked)
    monkeypatch.setattr(checkpointer, "save", lambda *given: (saves.append(1), save(*given)))
    with pytest.raises(InterruptError):
        left.run()
    assert len(saves) == 1
    resumed = training(ESTIMATING, executor, observer=second, checkpointer=checkpointer, **settings)
    resumed.resume()
    resumed.run()
    assert first.steps + second.steps == whole.steps
    assert first.results + second.results == whole.results
    for name, value in expected.state().items():
        torch.testing.assert_close(resumed.state()[name], value, rtol=0, atol=0, equal_nan=True)


def test_asked_to_leave_within_an_estimate_before_the_first_step_it_has_nothing_to_save(tmp_path):
    @dataclass(frozen=True)
    class AtOnce(Rich):
        def stages(self):
            return (Stage("only", 1.0, self, before=self.prior),)

    checkpointer = Checkpointer(tmp_path / "checkpoint", every_seconds=0.0)
    left = training([AtOnce()], seeds=(0,), checkpointer=checkpointer)
    left.interrupt.number = 15
    with pytest.raises(InterruptError):
        left.run()
    assert left.observer.steps == 0
    assert not checkpointer.path.exists()


@every_executor
def test_a_training_that_was_saved_at_its_end_is_over_when_it_is_taken_up(tmp_path, executor):
    checkpointer, seen = Checkpointer(tmp_path / "checkpoint", every_seconds=1e9), Silent()
    over = training([Rich()] * 2, executor, seeds=(0, 1), checkpointer=checkpointer)
    over.run()
    over.save()
    again = training([Rich()] * 2, executor, seeds=(0, 1), observer=seen, checkpointer=checkpointer)
    again.resume()
    again.run()
    assert (seen.steps, seen.results) == (0, [])
    assert all(torch.equal(value, again.state()[name]) for name, value in over.state().items())


@every_executor
def test_the_last_stage_remembers_its_best_epoch_also_when_it_carries_the_last(executor):
    trained, seen = watched([CE()] * 2, executor, seeds=(0, 1), train=replace(TRAIN, epochs=8))
    trained.run()
    before = trained.state()
    trained.executor.exchange_best()
    for run in range(2):
        scores = [result.measures[run]["validation/score"] for result in seen.results]
        best = seen.weights[scores.index(max(scores))]
        assert all(torch.equal(value[run], best[name][run]) for name, value in weights(trained).items())
    trained.executor.exchange_best()
    assert all(torch.equal(value, before[name]) for name, value in trained.state().items())


@pytest.mark.parametrize("method", ["ce", "co_teaching", "t_revision"])
@pytest.mark.parametrize("call", [2, 4, 14, 30])
def test_left_between_two_runs_of_a_step_it_goes_on_with_those_that_are_missing(tmp_path, monkeypatch, method, call):
    whole, first, second = Silent(), Silent(), Silent()
    training([build(method)] * 3, observer=whole).run()
    checkpointer = Checkpointer(tmp_path / "checkpoint", every_seconds=1e9)
    left = training([build(method)] * 3, observer=first, checkpointer=checkpointer)
    step, calls = Alone.step, []

    def counted(lane, *given):
        calls.append(lane)
        if len(calls) == call:  # a signal comes while this run is at work
            left.interrupt.number = 15
        return step(lane, *given)

    monkeypatch.setattr(Alone, "step", counted)
    with pytest.raises(InterruptError):
        left.run()
    assert len(calls) == call
    resumed = training([build(method)] * 3, observer=second, checkpointer=checkpointer)
    resumed.resume()
    resumed.run()
    assert len(calls) == 3 * whole.steps
    assert first.results + second.results == whole.results


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=NEEDS_GPU)])
@pytest.mark.parametrize("executor", ["streams", "packed"])
@pytest.mark.parametrize("call", [5, 7])
def test_what_was_left_goes_on_as_if_nothing_had_been_on_every_device(tmp_path, device, executor, call):
    like, whole, first, second = DOUBLE.to(device), Silent(), Silent(), Silent()
    training([CE()] * 3, executor, like=like, observer=whole).run()
    checkpointer = Checkpointer(tmp_path / "checkpoint", every_seconds=1e9)
    left = training([CE()] * 3, executor, like=like, observer=first, checkpointer=checkpointer)
    pauses = []

    def paused():
        pauses.append(1)
        if len(pauses) == call:
            left.interrupt.number = 15
        left._leave()

    left.executor.pause = paused  # of streams within a step
    if executor == "packed":
        first.stepped = lambda *_: paused()
    with pytest.raises(InterruptError):
        left.run()
    resumed = training([CE()] * 3, executor, like=like, observer=second, checkpointer=checkpointer)
    resumed.resume()
    resumed.run()
    for one, other in zip(first.results + second.results, whole.results, strict=True):
        for run, measures in other.measures.items():
            assert one.measures[run] == pytest.approx(measures, rel=1e-9, abs=1e-10)


def test_a_training_left_within_a_step_is_not_taken_up_packed(tmp_path, monkeypatch):
    checkpointer = Checkpointer(tmp_path / "checkpoint", every_seconds=1e9)
    left = training([CE()] * 3, checkpointer=checkpointer)
    monkeypatch.setattr(left.executor, "_done", {0: Outcome(Terms(torch.zeros(())))})
    left.begin(left.phases[0])
    left.save()
    resumed = training([CE()] * 3, "packed", checkpointer=checkpointer)
    with pytest.raises(InputError, match="left between two runs of a step: to go on leave --executor packed out"):
        resumed.resume()


@pytest.mark.parametrize(
    ("executor", "call"), [("streams", 18), ("packed", 6)], ids=["within a step", "between two steps"]
)
def test_some_runs_of_a_checkpoint_go_on_by_themselves_as_they_would_have_together(
    tmp_path, monkeypatch, executor, call
):
    methods, seeds = [Fused(), Fused(), Fused(0.1), Fused()], (0, 1, 2, 3)  # the third fails in the first epoch
    whole, first = Silent(), Silent()
    training(methods, executor, seeds=seeds, observer=whole).run()
    checkpointer = Checkpointer(tmp_path / "checkpoint", every_seconds=1e9)
    left = training(methods, executor, seeds=seeds, observer=first, checkpointer=checkpointer)
    step, calls = Lane.step, []

    def counted(lane, *given):
        calls.append(lane)
        if len(calls) == call:  # of streams in the second epoch with the second run, so that the fourth is missing
            left.interrupt.number = 15
        return step(lane, *given)

    monkeypatch.setattr(Lane, "step", counted)
    with pytest.raises(InterruptError):
        left.run()
    for runs in (range(1), range(1, 4)):
        own, part = Checkpointer(tmp_path / "part"), slice(runs.start, runs.stop)
        own.save(*of_runs(*checkpointer.load(), runs))
        seen = Silent()
        alone = training(methods[part], executor, seeds=seeds[part], observer=seen, checkpointer=own)
        alone.resume()
        assert alone.position == left.position
        alone.run()
        for one, other in zip(seen.results, whole.results[len(first.results) :], strict=True):
            theirs = {run - runs.start: measures for run, measures in other.measures.items() if run in runs}
            assert one.failed == {}
            assert one.measures.keys() == theirs.keys()
            for run, measures in theirs.items():
                assert one.measures[run] == pytest.approx(measures, rel=1e-9, abs=1e-10)


LATE = replace(TRAIN, schedule=Schedule("linear", start=2, beta1=0.1))


@every_executor
@pytest.mark.parametrize("train", [LATE, RENEWED], ids=["with a late beta", "renewed"])
def test_left_within_an_epoch_an_optimiser_that_changes_by_epochs_goes_on_the_same(executor, train, tmp_path):
    settings, path = {"seeds": (0, 1), "train": train}, tmp_path / "checkpoint.safetensors"
    whole, plain = (training([CE()] * 2, executor, **settings | {"train": each}) for each in (train, TRAIN))
    whole.run()
    plain.run()
    assert not all(map(torch.equal, weights(whole).values(), weights(plain).values()))
    left = Silent(leave_after=13)  # of four steps an epoch: in the fourth epoch
    with pytest.raises(KeyboardInterrupt):
        training([CE()] * 2, executor, observer=left, checkpointer=Checkpointer(path, 0.0), **settings).run()
    resumed = training([CE()] * 2, executor, checkpointer=Checkpointer(path), **settings)
    resumed.resume()
    resumed.run()
    assert all(map(torch.equal, weights(whole).values(), weights(resumed).values()))


def test_with_a_late_beta_packed_equals_alone():
    together, alone = (training([CE()] * 3, executor, train=LATE) for executor in ("packed", "streams"))
    together.run()
    alone.run()
    for name, value in weights(alone).items():
        torch.testing.assert_close(weights(together)[name], value, rtol=0, atol=1e-8)


@dataclass(frozen=True)
class FirstHalf(CE):
    """Says that it learns from the first rows of the training set alone, and from one of them by half."""

    def objective(self, nets, batch, ctx):
        kept = torch.where(batch.rows == 0, 0.5, (batch.rows < 30).double())
        return super().objective(nets, batch, ctx)._replace(kept={"net": kept})


@every_executor
@pytest.mark.parametrize("leave_after", [None, 2])
def test_what_is_kept_is_held_against_the_truth_of_the_batches(executor, leave_after, tmp_path):
    """63 rows in batches of 16: 64 are served, one of them twice."""
    seen, path = Silent(), tmp_path / "checkpoint.safetensors"

    def made(observer, every=1e9):
        trained = training([FirstHalf()] * 2, executor, seeds=(0, 1), train=replace(TRAIN, epochs=1), observer=observer)
        part = trained.loader.parts["train"]
        wrong = torch.arange(part.rows.shape[1]) % 3 == 0
        trained.loader.parts["train"] = part._replace(y_true=torch.where(wrong, (part.y_given + 1) % 3, part.y_given))
        trained.checkpointer = Checkpointer(path, every)
        return trained

    if leave_after:
        with pytest.raises(KeyboardInterrupt):
            made(Silent(leave_after), 0.0).run()
    trained = made(seen)
    trained.resume()
    trained.run()
    for run in range(2):
        rows = torch.cat([batch.rows[run] for batch, _ in trained.loader.epoch(0, TRAIN.batch)])
        kept, right = torch.where(rows == 0, 0.5, (rows < 30).double()), rows % 3 != 0
        measures = seen.results[0].measures[run]
        assert measures["train/kept_net"] == pytest.approx(kept.mean().item())
        assert measures["train/kept_precision_net"] == pytest.approx((kept[right].sum() / kept.sum()).item())
        assert measures["train/kept_recall_net"] == pytest.approx(kept[right].mean().item())


def test_without_the_truth_no_precision_of_what_is_kept_is_told():
    seen = Silent()
    trained = training([FirstHalf()], seeds=(0,), train=replace(TRAIN, epochs=1), observer=seen)
    trained.loader.parts = {name: part._replace(y_true=None) for name, part in trained.loader.parts.items()}
    trained.run()
    assert [name for name in seen.results[0].measures[0] if "kept" in name] == ["train/kept_net"]


def test_a_warm_up_has_its_own_learning_rate_also_after_an_interruption(tmp_path):
    train = replace(TRAIN, epochs=4, optimiser=Optimiser("sgd", lr=1e-3), warm_up=WarmUp(0.5))
    method = build("f_divergence", {"warm_up": 0.5})
    checkpointer = Checkpointer(tmp_path / "checkpoint", every_seconds=1e9)
    found = training([method], seeds=[0], train=train, checkpointer=checkpointer)
    rates = []
    for phase in found.phases:
        found.begin(phase)
        rates.append(found.executor.lanes[0].updaters[""].rates[0])
        found.entered = True
        found.position = Position(phase.number, phase.first, 0)
        found.save()
        again = training([method], seeds=[0], train=train, checkpointer=checkpointer)
        again.resume()
        rates.append(again.executor.lanes[0].updaters[""].rates[0])
    assert rates == [0.5, 0.5, 1e-3, 1e-3]


@pytest.mark.parametrize("carry", ["method", "last"])
def test_a_second_stage_begins_with_the_best_epoch_of_the_first_or_with_its_last(carry):
    train = replace(TRAIN, epochs=6, optimiser=Optimiser("sgd", lr=3.0), carry=carry)  # too high a rate to settle
    found = training([build("f_divergence", {"warm_up": 0.5})], seeds=[0], train=train)
    first = found.phases[0]
    found.begin(first)
    lane, after = found.executor.lanes[0], []
    found.observer.finished_epoch = lambda result: after.append(
        (result.measures[0]["validation/score"], {name: value.clone() for name, value in lane.params.items()})
    )
    found.finish(first)
    scores = [score for score, _ in after]
    place = scores.index(max(scores)) if carry == "method" else -1
    for name, value in after[place][1].items():
        assert torch.equal(lane.params[name], value)
