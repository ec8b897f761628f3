from dataclasses import dataclass, replace

import pytest
import torch
from torch import nn

from labelnoise.methods import build
from labelnoise.methods.base import Method, Stage
from labelnoise.methods.wrapped import Wrapped
from labelnoise.rng import Rng
from labelnoise.testing import CHECKS
from labelnoise.types import Context, Snapshot, Terms


@dataclass(frozen=True)
class Busy(Method):
    """Uses everything that a method may."""

    def networks(self, spec):
        return {"net": spec.net(spec.classes), "other": nn.Linear(4, 3).double()}

    def groups(self):
        return {"other": {"lr": 0.5}}

    def draws(self, spec, size, rng):
        return {"shift": torch.full((size,), 2.0)}

    def memory(self, spec):
        return {"seen": torch.zeros(spec.samples)}

    def stages(self):
        return (Stage("one", 1.0, self, trains=("other",), before=lambda _: {"T": torch.eye(3)}, restart=("net",)),)

    @property
    def updates(self):
        return ("other",)

    def objective(self, nets, batch, ctx):
        assert set(nets) == {"net", "other"}
        assert (set(ctx.draws), set(ctx.memory), set(ctx.aux), ctx.update) == ({"shift"}, {"seen"}, {"T"}, "other")
        return Terms(
            nets["other"](batch.x).sum(),
            memory={"seen": ctx.memory["seen"] + 1},
            active={"other": torch.ones(())},
            kept={"net": torch.ones(2)},
        )

    def examine(self, nets, batch, ctx):
        assert (set(nets), set(ctx.aux)) == ({"net", "other"}, {"T"})
        return {"weight": 2.0 * batch.y}


INSIDE = Wrapped("teacher.", Busy())


def test_everything_goes_by_prefixed_names(spec) -> None:
    assert set(INSIDE.networks(spec)) == {"teacher.net", "teacher.other"}
    assert INSIDE.groups() == {"teacher.other": {"lr": 0.5}}
    assert set(INSIDE.draws(spec, 2, Rng(0))) == {"teacher.shift"}
    assert set(INSIDE.memory(spec)) == {"teacher.seen"}
    assert INSIDE.updates == ("teacher.other",)


def test_stages_train_restart_and_estimate_what_is_inside() -> None:
    (stage,) = INSIDE.stages()
    assert (stage.trains, stage.restart, stage.method) == (("teacher.other",), ("teacher.net",), INSIDE)
    assert set(stage.before(Snapshot(torch.zeros(1, 3), torch.zeros(1), 0.0))) == {"teacher.T"}


def test_a_stage_that_trains_all_trains_all_that_is_inside() -> None:
    (stage,) = Wrapped("teacher.", build("ce")).stages()
    assert stage.trains == ("teacher.",)


def test_the_objective_sees_its_own_names_only(spec, labelled) -> None:
    nets = {**INSIDE.networks(spec), "net": nn.Identity()}
    ctx = Context(
        draws={"teacher.shift": torch.zeros(2), "mine": torch.zeros(2)},
        memory={"teacher.seen": torch.zeros(2)},
        aux={"teacher.T": torch.eye(3), "T": torch.zeros(3, 3)},
        update="teacher.other",
    )
    terms = INSIDE.objective(nets, labelled([0, 1]), ctx)
    assert terms.memory["teacher.seen"].tolist() == [1, 1]
    assert set(terms.active) == {"teacher.other"}
    assert set(terms.kept) == {"teacher.net"}


def test_rows_are_examined_by_what_is_inside(spec, labelled) -> None:
    nets = {**INSIDE.networks(spec), "net": nn.Identity()}
    found = INSIDE.examine(nets, labelled([0, 1]), Context(aux={"teacher.T": torch.eye(3), "T": torch.zeros(3, 3)}))
    assert found["weight"].tolist() == [0, 2]


@pytest.mark.parametrize("name", ["ce", "forward", "co_teaching", "heteroscedastic"])
def test_predictions_are_those_of_the_method(spec, name) -> None:
    method = build(name)
    if name == "heteroscedastic":
        method = replace(method, samples=4)
    nets = method.networks(spec)
    outside = {f"teacher.{key}": net for key, net in nets.items()}
    x, draws = torch.randn(5, 4).double(), method.draws(spec, 1, Rng(0, dtype=torch.float64))
    plain = method.log_probs(nets, x, Context(draws=draws))
    wrapped = Wrapped("teacher.", method)
    prefixed = Context(draws={f"teacher.{key}": value for key, value in draws.items()})
    torch.testing.assert_close(wrapped.log_probs(outside, x, prefixed), plain)
    torch.testing.assert_close(wrapped.noisy_log_probs(outside, x, prefixed), plain)


@pytest.mark.parametrize("name", ["gce", "co_teaching", "forward"])
@pytest.mark.parametrize("check", ["stages fit together", "packed equals alone"])
def test_a_wrapped_method_keeps_the_contract(name, check) -> None:
    (test,) = (test for fact, test in CHECKS.items() if fact.replace("_", " ").startswith(check))
    test(Wrapped("teacher.", build(name)))
