from dataclasses import dataclass, replace

import pytest
import torch
from torch import nn

from labelnoise.config import Optimiser
from labelnoise.engine.lanes import Alone, Stacked
from labelnoise.engine.step import Clock, owner
from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.methods.base import Method, Stage, hyper
from labelnoise.nets import Dropout
from labelnoise.testing import TRAIN, training
from labelnoise.types import Batch, DataSpec, Terms

LIKE = torch.zeros((), dtype=torch.float64)
SEEDS, SIZE, CLASSES = (5, 6), 12, 3
AT = [(0, 0), (1, 0), (0, 1), (1, 1)]  # step and epoch
LANES = {"alone": lambda method: Alone([method], SPEC, SEEDS[:1], LIKE), "stacked": lambda m: packed([m, m])}
both_lanes = pytest.mark.parametrize("make", LANES.values(), ids=LANES)


def network(head):
    layers = [nn.Linear(4, 6, bias=False), nn.BatchNorm1d(6), nn.ReLU(), Dropout(0.5), nn.Linear(6, 6), Dropout(0.2)]
    return nn.Sequential(*layers, nn.Linear(6, head))


SPEC = DataSpec((4,), CLASSES, 30, network)


@dataclass(frozen=True)
class Pair(Method):
    """Two networks, the first of which learns; the loss is weighted, and noise is added to the inputs."""

    weight: float = hyper(1.0, low=0.5, high=2.0)

    def networks(self, spec):
        return {"net": spec.net(spec.classes), "frozen": spec.net(spec.classes)}

    def draws(self, spec, size, rng):
        return {"noise": rng.normal(size, *spec.shape)}

    def stages(self):
        return (Stage("only", 1.0, self, trains=("net",)),)

    def objective(self, nets, batch, ctx):
        logits = nets["net"](batch.x + ctx.draws["noise"]) + nets["frozen"](batch.x)
        logs = {"noise": ctx.draws["noise"].sum(), "weight": self.weight * batch.x.new_ones(())}
        return Terms(self.weight * cross_entropy(logits, batch.y).mean(), logs=logs)


def packed(methods):
    return Stacked(methods, SPEC, SEEDS[: len(methods)], LIKE)


def batch(*runs):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(*runs, SIZE, 4, dtype=torch.float64, generator=generator)
    return Batch(x, torch.randint(CLASSES, (*runs, SIZE), generator=generator), torch.arange(SIZE).expand(*runs, -1))


def clock(step, epoch=0):
    return Clock(epoch, step, LIKE, LIKE, LIKE + 1, 1.0)


def weights(lane):
    return {name: value.clone() for name, value in lane.state().items() if name.startswith("weights|")}


def entered(lane):
    lane.enter(0, Optimiser(lr=0.1))
    return lane


def stepped(lane, steps=3):
    entered(lane)
    served = batch() if lane.runs is None else batch(lane.runs)
    for step in range(steps):
        terms = lane.step(served, (), {}, clock(step))
    return lane, terms


def test_a_run_has_the_same_first_weights_alone_and_stacked():
    together = weights(entered(packed([Pair(), Pair()])))
    for run, seed in enumerate(SEEDS):
        for name, value in weights(entered(Alone([Pair()], SPEC, [seed], LIKE))).items():
            assert torch.equal(together[name][run], value[0])


def test_networks_and_runs_start_differently():
    first = weights(entered(packed([Pair(), Pair()])))
    net, frozen = (first[f"weights|nets.{name}.0.weight"] for name in ("net", "frozen"))
    assert not torch.equal(net[0], net[1])
    assert not torch.equal(net[0], frozen[0])


def test_making_networks_leaves_torchs_own_generator_alone():
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    packed([Pair(), Pair()])
    assert torch.equal(torch.rand(1), expected)


def test_draws_hyper_parameters_and_dropout_of_a_step_are_the_same_alone_and_stacked():
    methods = [Pair(0.6), Pair(1.7)]
    together, logs = stepped(packed(methods))
    served = batch(2)
    for run, (method, seed) in enumerate(zip(methods, SEEDS, strict=True)):
        alone = entered(Alone([method], SPEC, [seed], LIKE))
        for step in range(3):
            terms = alone.step(Batch(*(tensor[run] for tensor in served)), (), {}, clock(step))
        assert torch.equal(terms.logs["noise"], logs.logs["noise"][run])
        assert logs.logs["weight"][run] == method.weight
        for name, value in alone.state().items():
            torch.testing.assert_close(together.state()[name][run], value[0], rtol=0, atol=1e-12)


def test_draws_and_dropout_masks_change_with_step_and_epoch():
    lane = entered(LANES["alone"](Pair()))
    seen = [(lane.terms(lane.feed(batch(), (), {}, clock(*at))), lane.buffers["nets.net.3.seed"].item()) for at in AT]
    assert len({terms.logs["noise"].item() for terms, _ in seen}) == len(AT)
    assert len({seed for _, seed in seen}) == len(AT)


def test_dropout_layers_have_masks_of_their_own():
    lane, _ = stepped(LANES["stacked"](Pair()))
    seeds = torch.stack([value for name, value in lane.buffers.items() if name.endswith(".seed")])
    assert seeds.unique().numel() == seeds.numel()


@both_lanes
def test_networks_that_do_not_learn_keep_weights_and_statistics(make):
    lane = entered(make(Pair()))
    before = weights(lane)
    stepped(lane)
    for name, value in weights(lane).items():
        if owner(name.removeprefix("weights|")) == "frozen" and not name.endswith("seed"):
            assert torch.equal(value, before[name]), name


@both_lanes
def test_statistics_of_networks_that_learn_follow_their_batches(make):
    lane = entered(make(Pair()))
    first = lane.params["nets.net.0.weight"].detach().clone()
    served = batch() if lane.runs is None else batch(lane.runs)
    lane.terms(lane.feed(served, (), {}, clock(0)))
    noisy = served.x + lane.draws(SIZE, "draws", 0, 0)["noise"]
    expected = 0.1 * (noisy @ first.transpose(-1, -2)).mean(-2)  # from zero, with torch's momentum of 0.1
    torch.testing.assert_close(lane.buffers["nets.net.1.running_mean"], expected, rtol=0, atol=1e-12)


@both_lanes
def test_predictions_are_made_in_eval_mode_and_leave_no_trace(make):
    lane, _ = stepped(make(Pair()))
    before = weights(lane)
    x = batch().x if lane.runs is None else batch(lane.runs).x
    first, second = lane.log_probs(x), lane.log_probs(x)
    assert torch.equal(first, second)
    assert not first.requires_grad
    assert all(torch.equal(value, before[name]) for name, value in weights(lane).items())


@both_lanes
def test_restart_makes_the_named_networks_anew_and_no_other(make):
    lane, _ = stepped(make(Pair()))
    used, first = weights(lane), weights(entered(make(Pair())))
    lane.restart(1, ("net",))
    name, other = "weights|nets.net.0.weight", "weights|nets.frozen.0.weight"
    assert not torch.equal(weights(lane)[name], used[name])
    assert not torch.equal(weights(lane)[name], first[name])
    assert torch.equal(weights(lane)[other], used[other])
    assert not weights(lane)["weights|nets.net.1.running_mean"].any()


@both_lanes
def test_restart_depends_on_seed_and_stage_alone(make):
    lanes = [stepped(make(Pair()), steps)[0] for steps in (1, 4)]
    for lane, stage in zip(lanes, (1, 1), strict=True):
        lane.restart(stage, ("net",))
    name = "weights|nets.net.0.weight"
    assert torch.equal(weights(lanes[0])[name], weights(lanes[1])[name])
    lanes[1].restart(2, ("net",))
    assert not torch.equal(weights(lanes[0])[name], weights(lanes[1])[name])


def test_each_run_goes_back_to_its_own_best_weights():
    lane, _ = stepped(packed([Pair(), Pair()]), 1)
    history = []
    for step, better in enumerate([[True, True], [False, True], [True, False], [False, False]]):
        history.append(weights(lane))
        lane.keep_best(torch.tensor(better))
        lane.step(batch(2), (), {}, clock(step))
    lane.restore_best()
    for name, value in weights(lane).items():
        assert torch.equal(value[0], history[2][name][0])
        assert torch.equal(value[1], history[1][name][1])


def test_of_a_network_that_noisy_validation_does_not_judge_the_last_weights_are_kept():
    @dataclass(frozen=True)
    class Half(Pair):
        unjudged = ("net",)

    lane, _ = stepped(packed([Half(), Half()]), 1)
    for step, better in enumerate([[True, True], [False, True]]):
        lane.keep_best(torch.tensor(better))
        last = weights(lane)
        lane.step(batch(2), (), {}, clock(step))
    lane.restore_best()
    assert all(torch.equal(value, last[name]) for name, value in weights(lane).items() if owner(name) == "net")


def test_entering_a_stage_forgets_the_remembered_weights():
    lane, _ = stepped(LANES["alone"](Pair()))
    lane.keep_best(torch.tensor(True))
    assert not any(name.startswith("best|") for name in entered(lane).state())


def test_with_nothing_remembered_weights_stay():
    lane, _ = stepped(LANES["alone"](Pair()))
    before = weights(lane)
    lane.restore_best()
    assert all(torch.equal(value, before[name]) for name, value in weights(lane).items())


@both_lanes
def test_a_loaded_state_is_the_saved_one_and_goes_on_the_same(make):
    lane, _ = stepped(make(Pair()))
    lane.keep_best(torch.tensor(True) if lane.runs is None else torch.tensor([True, True]))
    lane.aux["T"] = torch.rand((3, 3) if lane.runs is None else (2, 3, 3), dtype=torch.float64)
    saved = {name: value.clone() for name, value in lane.state().items()}
    other = entered(make(Pair()))
    other.load(saved)
    assert saved.keys() == other.state().keys()
    assert all(torch.equal(value, other.state()[name]) for name, value in saved.items())
    for each in (lane, other):
        each.step(batch() if lane.runs is None else batch(lane.runs), (), {}, clock(9))
    assert all(torch.equal(value, other.state()[name]) for name, value in lane.state().items())


def test_weights_that_lie_in_memory_with_gaps_are_trained_right():
    class Gappy(nn.Module):
        def __init__(self, head, gaps):
            super().__init__()
            start = torch.arange(8 * head, dtype=torch.float64).reshape(4, 2 * head)[:, ::2]
            self.weight = nn.Parameter(start if gaps else start.clone(memory_format=torch.contiguous_format))

        def forward(self, x):
            return x @ self.weight

    @dataclass(frozen=True)
    class Plain(Method):
        def objective(self, nets, batch, ctx):
            return Terms(cross_entropy(nets["net"](batch.x), batch.y).mean())

    ends = []
    for gaps in (True, False):
        spec = SPEC._replace(net=lambda head, gaps=gaps: Gappy(head, gaps))
        lane, _ = stepped(Alone([Plain()], spec, SEEDS[:1], LIKE))
        ends.append(lane.params["nets.net.weight"].detach())
    assert torch.equal(*ends)


@dataclass(frozen=True)
class InTurn(Method):
    """Two ordered updates, of which the first writes the memory."""

    bad: bool = False

    @property
    def updates(self):
        return ("critic", "net")

    def networks(self, spec):
        return {"net": spec.net(spec.classes), "critic": spec.net(spec.classes)}

    def memory(self, spec):
        return {"seen": torch.zeros(spec.samples)}

    def objective(self, nets, batch, ctx):
        loss = nets[ctx.update](batch.x).square().mean()
        if ctx.update == "critic":
            return Terms(loss * float("nan") if self.bad else loss, memory={"seen": ctx.memory["seen"] + 1})
        return Terms(loss + 0 * ctx.memory["seen"].mean())


@pytest.mark.parametrize("executor", ["streams", "packed"])
def test_memory_written_by_an_earlier_update_arrives(executor):
    trained = training([InTurn()] * 2, executor, seeds=(0, 1), train=replace(TRAIN, epochs=1))
    trained.run()
    assert (trained.memory["seen"] >= 1).all()


@pytest.mark.parametrize("executor", ["streams", "packed"])
def test_a_loss_that_is_no_number_in_an_earlier_update_is_noticed(executor):
    trained = training([InTurn(bad=True)] * 2, executor, seeds=(0, 1), train=replace(TRAIN, epochs=1))
    trained.run()
    assert trained.failed == {0: (0, 0), 1: (0, 0)}
