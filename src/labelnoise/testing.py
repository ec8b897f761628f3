"""The conformance suite: what every method must hold, whoever wrote it.

Each check takes a method and raises AssertionError with a sentence; `labelnoise check NAME` runs them all.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map

from labelnoise.config import Optimiser, Split, Train
from labelnoise.data.dataset import Dataset
from labelnoise.data.loader import Loader, Task
from labelnoise.data.split import split
from labelnoise.engine.checkpoint import Checkpointer
from labelnoise.engine.execution import DEFAULT, Execution
from labelnoise.engine.executors import EXECUTORS
from labelnoise.engine.lane import Lane
from labelnoise.engine.loop import Training
from labelnoise.engine.observer import EpochResult
from labelnoise.engine.phases import Phase
from labelnoise.engine.step import chosen, owner
from labelnoise.methods import Method
from labelnoise.methods.base import Stage, hyper_fields
from labelnoise.methods.own import described
from labelnoise.nets import Dropout
from labelnoise.nets.base import make_head
from labelnoise.rng import Rng
from labelnoise.types import Batch, DataSpec, Head, Terms

CLASSES, FEATURES, SAMPLES, SEEDS = 3, 4, 90, (0, 1, 2)
DOUBLE = torch.zeros((), dtype=torch.float64)  # what tensors of a small training are like
TRAIN = Train(epochs=6, batch=20, optimiser=Optimiser("adam", lr=1e-2))


class Small(nn.Module):
    """The least network with everything that packs awkwardly: BatchNorm statistics and dropout."""

    def __init__(self, head: Head) -> None:
        super().__init__()
        # a bias before BatchNorm would have no gradient
        first = nn.Linear(FEATURES, 16, bias=False)
        self.layers = nn.Sequential(first, nn.BatchNorm1d(16), nn.ReLU(), Dropout(0.1))
        self.head = make_head(16, head)

    def forward(self, x: Tensor) -> Any:
        """Whatever the head returns."""
        return self.head(self.layers(x))


def blobs(seed: int, samples: int = SAMPLES) -> Task:
    """Three well separated clouds with right labels."""
    rng = Rng(seed, "blobs", dtype=torch.float64)
    y = torch.arange(samples) % CLASSES
    x = rng.normal(samples, FEATURES) + 4 * torch.eye(CLASSES, FEATURES, dtype=torch.float64)[y]
    data = Dataset("blobs", x, y, y, tuple("abc"))
    return Task(data, split(data, Split(), seed), seed)


class Silent:
    """Hears everything, keeps the epochs' results, and can end a training after so many steps."""

    def __init__(self, leave_after: int | None = None) -> None:
        self.results: list[EpochResult] = []
        self.steps, self.leave_after = 0, leave_after

    def stepped(self, epoch: int, step: int, steps: int) -> None:
        """Count."""
        self.steps += 1
        if self.steps == self.leave_after:
            raise KeyboardInterrupt

    def judged(self, epoch: int, share: float) -> None:
        """Nothing."""

    def finished_epoch(self, result: EpochResult) -> None:
        """Keep it."""
        self.results.append(result)


def training(
    methods: Sequence[Method],
    executor: str = "streams",
    *,
    seeds: Sequence[int] = SEEDS,
    train: Train = TRAIN,
    samples: int = SAMPLES,
    like: Tensor = DOUBLE,
    execution: Execution = DEFAULT,
    observer: Silent | None = None,
    checkpointer: Checkpointer | None = None,
) -> Training:
    """A small training on blobs, ready to run."""
    loader = Loader([blobs(seed, samples) for seed in seeds], device=like.device, dtype=like.dtype)
    spec = DataSpec((FEATURES,), CLASSES, loader.samples, Small)
    runner = EXECUTORS[executor](methods, spec, seeds, like, execution)
    return Training(runner, loader, spec, train, observer=observer or Silent(), checkpointer=checkpointer)


def varied(method: Method, runs: int = len(SEEDS)) -> list[Method]:
    """The same method with other packable values for each run."""
    ranges = hyper_fields(method)
    shares = [0.25 + 0.5 * run / max(runs - 1, 1) for run in range(runs)]
    return [replace(method, **{n: r.low + share * (r.high - r.low) for n, r in ranges.items()}) for share in shares]


class Scene(NamedTuple):
    """One run of a method at the beginning of one of its stages, with a first batch."""

    training: Training
    lane: Lane
    phase: Phase
    batch: Batch  # without the run axis, as the objective sees it
    peers: tuple[Batch, ...]

    def terms(self, update: str) -> Terms:
        """The objective of an update on the first batch."""
        memory = {name: rows[0, self.batch.rows] for name, rows in self.training.memory.items()}
        clock = self.training.clock(self.phase, 0, 1)
        return self.lane.terms(self.lane.feed(self.batch, self.peers, memory, clock), update)

    @property
    def stage(self) -> Stage:
        """The stage that begins."""
        return self.phase.stage

    @property
    def updates(self) -> dict[str, set[str]]:
        """The stage's ordered updates, with the networks that each trains."""
        return {update: {update} if update else set(self.lane.trains) for update in self.stage.method.updates}


def scenes(method: Method, dtype: torch.dtype = torch.float64) -> Iterator[Scene]:
    """Every stage of a method, each reached by training the ones before."""
    started = training([method], seeds=SEEDS[:1], like=torch.zeros((), dtype=dtype))
    for phase in started.phases:
        started.begin(phase)
        served = started.loader.epoch(phase.first, TRAIN.batch, phase.stage.method.peers)
        batch, peers = tree_map(lambda tensor: tensor[0], next(served))
        yield Scene(started, started.executor.lanes[0], phase, batch, peers)
        started.finish(phase)


def stages_fit_together(method: Method) -> None:
    """The stages' shares sum to one, they name networks that exist, and ordered updates train what learns."""
    assert abs(sum(stage.share for stage in method.stages()) - 1) < 1e-9, "the stages' shares do not sum to 1"
    networks = set(training([method], seeds=SEEDS[:1]).executor.lanes[0].module.networks)
    for stage in method.stages():
        updates = set(stage.method.updates) - {""}
        named = {*stage.trains, *stage.restart, *stage.method.groups(), *updates}
        unknown = {name for name in named if not chosen((name,), networks)}
        assert not unknown, f"stage {stage.name!r} names networks that do not exist: {sorted(unknown)}"
        frozen = updates - set(chosen(stage.trains, networks) or networks)
        assert not frozen, f"stage {stage.name!r} updates networks that it does not train: {sorted(frozen)}"


def objective_is_pure(method: Method) -> None:
    """Called twice it gives the same scalar, and nothing it was given has changed but BatchNorm's statistics."""
    for scene in scenes(method):
        given = {"weights": scene.lane.params, "batch": scene.batch, "peers": scene.peers, "aux": scene.lane.aux}
        before = {kind: [tensor.detach().clone() for tensor in tree_leaves(tree)] for kind, tree in given.items()}
        for update in scene.updates:
            first, second = scene.terms(update).loss, scene.terms(update).loss
            assert torch.equal(first, second), f"stage {scene.stage.name!r}: two calls give {first} and {second}"
        for kind, tree in given.items():
            unchanged = all(map(torch.equal, before[kind], tree_leaves(tree)))
            assert unchanged, f"stage {scene.stage.name!r}: the objective changes its {kind}"


def packed_equals_alone(method: Method) -> None:
    """Runs with different seeds and hyper-parameters end the same, packed into one call or each alone, in float64."""
    together = training(varied(method), "packed")
    single = [training([each], seeds=[seed]) for each, seed in zip(varied(method), SEEDS, strict=True)]
    for trained in (together, *single):
        trained.run()
    packed, states = together.state(), [trained.state() for trained in single]
    alone = {name: torch.cat([state[name] for state in states]) for name in states[0]}
    assert alone.keys() == packed.keys()
    for name, value in alone.items():
        off = (value.double() - packed[name].double()).abs().max() if value.numel() else torch.zeros(())
        assert off < 1e-8, f"{name} differs by {off:.1e}"


def gradients_reach_what_learns(method: Method) -> None:
    """An epoch of a stage moves every parameter of the networks that it trains or that follow one, and no other."""
    for scene in scenes(method):
        before = {name: value.detach().clone() for name, value in scene.lane.params.items()}
        one_epoch = scene.phase._replace(end=scene.phase.first + 1, stage=replace(scene.stage, carry="last"))
        scene.training.finish(one_epoch)
        for name, value in scene.lane.params.items():
            followed, _ = scene.stage.method.averages().get(owner(name), (owner(name), 0))
            moved, learns = not torch.equal(before[name], value), followed in scene.lane.trains
            assert moved == learns, f"stage {scene.stage.name!r}: {name} {'moved' if moved else 'stood still'}"


def finite_in_bf16(method: Method) -> None:
    """Under bfloat16 autocast the loss and all gradients are numbers, with weights as they are and with large ones."""
    for scene in scenes(method, torch.float32):
        before = {name: value.detach().clone() for name, value in scene.lane.params.items()}
        for factor in (1, 30):
            for name, value in scene.lane.params.items():
                value.data.copy_(factor * before[name])
            for update, networks in scene.updates.items():
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    loss = scene.terms(update).loss
                learning = [value for name, value in scene.lane.params.items() if owner(name) in networks]
                grads = torch.autograd.grad(loss, learning, allow_unused=True)
                where = f"stage {scene.stage.name!r}, weights times {factor}"
                assert loss.isfinite(), f"{where}: the loss is {loss}"
                assert all(grad is None or grad.isfinite().all() for grad in grads), f"{where}: a gradient is infinite"
        for name, value in scene.lane.params.items():
            value.data.copy_(before[name])


def log_probs_sum_to_one(method: Method) -> None:
    """Predicted probabilities of true and of given labels are distributions."""
    trained = training([method], seeds=SEEDS[:1])
    trained.run()
    x = next(trained.loader.chunks("test", 64)).x
    for noisy in (False, True):
        log_probs = trained.executor.log_probs(x, noisy=noisy)
        assert log_probs.shape == (1, x.shape[1], CLASSES), f"log_probs have shape {tuple(log_probs.shape[1:])}"
        off = (log_probs.exp().sum(-1) - 1).abs().max()
        assert off < 1e-6, f"rows of probabilities miss 1 by {off:.1e}"


def state_round_trips(method: Method) -> None:
    """Left in the middle of an epoch and taken up again, it ends bit for bit the same."""
    for executor in EXECUTORS:
        with TemporaryDirectory() as folder:
            whole, second = Silent(), Silent()
            expected = training(varied(method), executor, observer=whole)
            expected.run()
            first = Silent(leave_after=max(whole.steps // 2 - 1, 1))
            path = Path(folder) / "checkpoint.safetensors"
            left = training(varied(method), executor, observer=first, checkpointer=Checkpointer(path, 0.0))
            with suppress(KeyboardInterrupt):
                left.run()
            resumed = training(varied(method), executor, observer=second, checkpointer=Checkpointer(path))
            resumed.resume()
            resumed.run()
            for name, value in expected.state().items():
                assert torch.equal(value, resumed.state()[name]), f"{executor}: {name} differs after resuming"
            assert first.results + second.results == whole.results, f"{executor}: records differ after resuming"


def same_seed_same_result(method: Method) -> None:
    """A seed decides everything: the same one gives the same weights, another one others."""
    states = []
    for _ in range(2):
        trained = training([method, method], seeds=(0, 1))
        trained.run()
        states.append(trained.state())
    assert all(torch.equal(value, states[1][name]) for name, value in states[0].items()), "two equal trainings differ"
    weights = [value for name, value in states[0].items() if name.startswith("weights|") and value.dim() > 1]
    assert any(not torch.equal(value[0], value[1]) for value in weights), "two seeds give the same weights"


def learns_separable_blobs(method: Method) -> None:
    """With right labels and clear classes it learns."""
    observer = Silent()
    # enough validation rows for the best of a stage to be a good one
    training([method] * 3, "packed", train=replace(TRAIN, epochs=20), samples=3 * SAMPLES, observer=observer).run()
    reached = [measures["test/accuracy_true"] for measures in observer.results[-1].measures.values()]
    assert len(reached) == 3, "a run failed"
    assert min(reached) > 0.9, f"test accuracies are only {reached}"


def bad_run_leaves_neighbours(method: Method) -> None:
    """A run that turns NaN is reported, and its neighbours in the pack stay bit for bit as they were."""
    states = []
    for poisoned in (False, True):
        observer = Silent()
        trained = training(varied(method), "packed", observer=observer)
        if poisoned:
            for value in trained.executor.lanes[0].params.values():
                value.data[1] = float("nan")
        trained.run()
        states.append(trained.state())
    assert list(observer.results[0].failed) == [1], "the bad run is not the one reported"
    healthy = [0, 2]
    for name, value in states[0].items():
        assert torch.equal(value[healthy], states[1][name][healthy]), f"{name} of a neighbour has changed"


def memory_keeps_its_shape(method: Method) -> None:
    """Per-sample state is declared with one row per sample, and what is written has the shape of what is read."""
    for scene in scenes(method):
        declared, samples = scene.stage.method.memory(scene.training.spec), scene.training.spec.samples
        for name, rows in declared.items():
            assert rows.shape[:1] == (samples,), f"memory {name!r} has shape {tuple(rows.shape)} for {samples} samples"
        for update in scene.updates:
            for name, rows in scene.terms(update).memory.items():
                assert name in declared, f"memory {name!r} is written but not declared"
                expected = (len(scene.batch.rows), *declared[name].shape[1:])
                assert rows.shape == expected, f"memory {name!r} is written as {tuple(rows.shape)}, not {expected}"


def needs_are_declared(method: Method) -> None:
    """`active` is returned exactly by methods that declare `skips`, for networks that the update trains."""
    for scene in scenes(method):
        where, active = f"stage {scene.stage.name!r}", {update: scene.terms(update).active for update in scene.updates}
        assert any(active.values()) == scene.stage.method.skips, f"{where}: `skips` and `active` disagree"
        for update, networks in scene.updates.items():
            assert set(active[update]) <= networks, f"{where}: `active` names a network that does not learn"


CHECKS: dict[str, Callable[[Method], None]] = {
    check.__name__: check
    for check in (
        stages_fit_together,
        objective_is_pure,
        packed_equals_alone,
        gradients_reach_what_learns,
        finite_in_bf16,
        log_probs_sum_to_one,
        state_round_trips,
        same_seed_same_result,
        learns_separable_blobs,
        bad_run_leaves_neighbours,
        memory_keeps_its_shape,
        needs_are_declared,
    )
}


ADVICE = {  # part of a message -> what to write instead
    "random operation": "declare random numbers in draws() and read them from ctx.draws",
    "dynamic shape": "instead of indexing with a mask use a 0/1 weight and weighted_mean(loss, weight)",
    "data-dependent control flow": "use torch.where instead of `if` on a tensor",
    ".item()": "a tensor cannot become a Python number here; stay with tensors",
    "cannot assign to field": "a method changes nothing; per-sample state goes through Terms.memory",
}


def problem(check: Callable[[Method], None], method: Method) -> str | None:
    """What is wrong, where in the method's file and, for common mistakes, what to do, in one line; None if nothing."""
    try:
        check(method)
    except Exception as error:
        first = described(error, sys.modules[type(method).__module__].__file__)
        advice = [f" → {todo}" for part, todo in ADVICE.items() if part in first]
        return first + "".join(advice[:1])
    return None
