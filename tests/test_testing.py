"""The conformance suite must be able to fail, and must let pass what the contract allows."""

from dataclasses import dataclass, make_dataclass

import pytest
import torch
from torch.nn import functional as F

from labelnoise.config import Optimiser, Schedule
from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.methods import Method, Stage, hyper
from labelnoise.methods.ce import CE
from labelnoise.testing import CHECKS, problem
from labelnoise.types import Terms


@dataclass(frozen=True)
class Remembering(Method):
    """Examples whose smoothed loss is high count less."""

    decay: float = hyper(0.9, low=0.5, high=0.99)

    def memory(self, spec):
        return {
            "ema": torch.full((spec.samples,), self.decay),
            "visits": torch.zeros(spec.samples, 2, dtype=torch.int64),
        }

    def objective(self, nets, batch, ctx):
        loss = cross_entropy(nets["net"](batch.x), batch.y)
        ema = self.decay * ctx.memory["ema"] + (1 - self.decay) * loss.detach()
        return Terms((loss / (1 + ema)).mean(), memory={"ema": ema, "visits": ctx.memory["visits"] + 1})


@dataclass(frozen=True)
class Ordered(Method):
    """A critic learns to foresee the loss, then the network learns with its advice."""

    @property
    def updates(self):
        return ("critic", "net")

    def networks(self, spec):
        return {"net": spec.net(spec.classes), "critic": spec.net(1)}

    def groups(self):
        return {"critic": {"lr": 3e-3}}

    def objective(self, nets, batch, ctx):
        loss = cross_entropy(nets["net"](batch.x), batch.y)
        foreseen = nets["critic"](batch.x).squeeze(-1)
        if ctx.update == "critic":
            return Terms((foreseen - loss.detach()).square().mean(), logs={"foreseen": foreseen.mean()})
        return Terms((loss * (1 + 0.1 * foreseen.detach().tanh())).mean())


@dataclass(frozen=True)
class Refreshing(Method):
    """Logits lean on the predicted class frequencies of the epoch before."""

    lean: float = hyper(0.1, low=0.0, high=0.5)

    def stages(self):
        return (Stage("train", 1.0, self, before=self.prior, refresh=self.prior),)

    def prior(self, snapshot):
        return {
            "prior": self.lean * snapshot.probs.mean(0).clamp(min=1e-6).log(),
            "done": torch.tensor(snapshot.progress),
        }

    def objective(self, nets, batch, ctx):
        return Terms(cross_entropy(nets["net"](batch.x) + ctx.aux["done"] * ctx.aux["prior"], batch.y).mean())


@dataclass(frozen=True)
class Teacher(Method):
    """Cross-entropy for the network that another method's name is put before."""

    def objective(self, nets, batch, ctx):
        return Terms(cross_entropy(nets["teacher.net"](batch.x), batch.y).mean())

    def log_probs(self, nets, x, ctx):
        return nets["teacher.net"](x).log_softmax(-1)


@dataclass(frozen=True)
class Student(Method):
    """Learns a teacher's soft labels."""

    def networks(self, spec):
        return {"teacher.net": spec.net(spec.classes), "net": spec.net(spec.classes)}

    def stages(self):
        return (Stage("teach", 0.5, Teacher(), trains=("teacher.net",)), Stage("learn", 0.5, self, trains=("net",)))

    def objective(self, nets, batch, ctx):
        soft = nets["teacher.net"](batch.x).softmax(-1).detach()
        return Terms(-(soft * nets["net"](batch.x).log_softmax(-1)).sum(-1).mean())


@dataclass(frozen=True)
class Staged(Method):
    """Equal stages, a stage of one epoch, and every setting that a stage may have."""

    def stages(self):
        sgd = Optimiser("sgd", lr=0.1, momentum=0.9, weight_decay=1e-4)
        once = Stage("once", 0.1, CE(), batch=64, schedule=Schedule("cosine"), optimiser=sgd, carry="best")
        twice = Stage("twice", 0.45, CE(), batch=10, schedule=Schedule("linear", start=1))
        return (once, twice, twice)


@dataclass(frozen=True)
class OneStepEpochs(CE):
    """All samples at once, so that an epoch is a single step."""

    def stages(self):
        return (Stage("train", 1.0, self, batch=1000),)


@dataclass(frozen=True)
class Skipping(Ordered):
    """Ordered updates of which one may be skipped."""

    @property
    def skips(self):
        return True

    def objective(self, nets, batch, ctx):
        terms = super().objective(nets, batch, ctx)
        odd = (batch.rows.sum() % 2).to(batch.x.dtype)
        return terms if ctx.update == "net" else terms._replace(active={"critic": odd})


SOUND = (Remembering(), Ordered(), Refreshing(), Student(), Staged(), OneStepEpochs(), Skipping())


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
@pytest.mark.parametrize("method", SOUND, ids=lambda method: type(method).__name__)
def test_what_the_contract_allows_passes(method, check):
    assert problem(check, method) is None


def broken(objective=None, **parts):
    """A method that is cross-entropy but for these parts; it has a packable hyper-parameter."""
    body = {"objective": objective} if objective else {}
    share = ("share", float, hyper(0.5, low=0.1, high=0.9))
    return make_dataclass("Broken", [share], bases=(CE,), namespace=body | parts, frozen=True)()


def loss_of(self, nets, batch, ctx):
    return cross_entropy(nets["net"](batch.x), batch.y)


def spoils_the_batch(self, nets, batch, ctx):
    loss = loss_of(self, nets, batch, ctx).mean()
    batch.rows.zero_()
    return Terms(loss)


def spoils_aux(self, nets, batch, ctx):
    ctx.aux["T"].mul_(2)
    return Terms(loss_of(self, nets, batch, ctx).mean())


def spoils_weights(self, nets, batch, ctx):
    with torch.no_grad():
        next(nets["net"].parameters()).add_(1e-9)
    return Terms(loss_of(self, nets, batch, ctx).mean())


def spoils_the_frozen(self, nets, batch, ctx):
    with torch.no_grad():
        next(nets["idle"].parameters()).add_(1.0)
    return Terms(loss_of(self, nets, batch, ctx).mean())


def rolls_dice(self, nets, batch, ctx):
    return Terms((loss_of(self, nets, batch, ctx) * torch.rand_like(batch.x[:, 0])).mean())


def forgets_the_mean(self, nets, batch, ctx):
    return Terms(loss_of(self, nets, batch, ctx))


def asks_for_a_number(self, nets, batch, ctx):
    loss = loss_of(self, nets, batch, ctx).mean()
    return Terms(loss / loss.item())


def picks_by_mask(self, nets, batch, ctx):
    loss = loss_of(self, nets, batch, ctx)
    return Terms(loss[loss < loss.detach().median()].mean())


def leaves_log_space(self, nets, batch, ctx):
    return Terms(F.nll_loss(nets["net"](batch.x).softmax(-1).log(), batch.y))


def learns_the_opposite(self, nets, batch, ctx):
    return Terms(-loss_of(self, nets, batch, ctx).clamp(max=3).mean())


def skips_unannounced(self, nets, batch, ctx):
    return Terms(loss_of(self, nets, batch, ctx).mean(), active={"net": torch.ones(())})


def writes_undeclared_memory(self, nets, batch, ctx):
    loss = loss_of(self, nets, batch, ctx)
    return Terms(loss.mean(), memory={"loss": loss.detach()})


def writes_one_number_for_all(self, nets, batch, ctx):
    loss = loss_of(self, nets, batch, ctx).mean()
    return Terms(loss, memory={"loss": loss.detach()})


def is_spoilt_by_its_neighbours(self, nets, batch, ctx):
    loss = loss_of(self, nets, batch, ctx).mean()
    SEEN.append(0)
    return Terms(loss * (1 + len(SEEN)))


SEEN = []


def two_networks(self, spec):
    return {"net": spec.net(spec.classes), "idle": spec.net(spec.classes)}


def one_stage(**settings):
    return lambda self: (Stage("train", settings.pop("share", 1.0), self, **settings),)


def packable_share(self):
    return (Stage("a", self.share, CE()), Stage("b", 1 - self.share, CE(), optimiser=Optimiser("sgd", lr=1e-4)))


def global_draws(self, spec, size, rng):
    return {"noise": torch.randn(size)}


def adds_draws(self, nets, batch, ctx):
    return Terms((loss_of(self, nets, batch, ctx) * ctx.draws["noise"].exp()).mean())


def memory_of(*shape):
    return lambda self, spec: {"loss": torch.zeros(*shape, dtype=torch.float64)}


BROKEN = [
    ("stages_fit_together", broken(stages=one_stage(share=0.9)), "shares do not sum to 1"),
    ("stages_fit_together", broken(stages=one_stage(trains=("nett",))), "networks that do not exist: ['nett']"),
    ("stages_fit_together", broken(stages=one_stage(restart=("head",))), "networks that do not exist: ['head']"),
    ("stages_fit_together", broken(groups=lambda self: {"net ": {}}), "networks that do not exist: ['net ']"),
    (
        "stages_fit_together",
        broken(networks=two_networks, stages=one_stage(trains=("net",)), updates=("idle", "net")),
        "updates networks that it does not train: ['idle']",
    ),
    ("objective_is_pure", broken(spoils_the_batch), "changes its batch"),
    (
        "objective_is_pure",
        broken(spoils_aux, stages=one_stage(before=lambda snapshot: {"T": torch.ones(1)})),
        "changes its aux",
    ),
    ("objective_is_pure", broken(spoils_weights), "two calls give"),
    ("objective_is_pure", broken(rolls_dice), "two calls give"),
    ("objective_is_pure", broken(is_spoilt_by_its_neighbours), "two calls give"),
    ("objective_is_pure", broken(forgets_the_mean), "the loss of method 'ce' has shape"),
    ("packed_equals_alone", broken(stages=packable_share), "differs by"),
    ("packed_equals_alone", broken(asks_for_a_number), ".item()"),
    ("packed_equals_alone", broken(picks_by_mask), "vmap"),
    ("packed_equals_alone", broken(rolls_dice), "vmap"),
    ("packed_equals_alone", broken(adds_draws, draws=global_draws), "differs by"),
    ("gradients_reach_what_learns", broken(networks=two_networks), "nets.idle.layers.0.weight stood still"),
    (
        "gradients_reach_what_learns",
        broken(spoils_the_frozen, networks=two_networks, stages=one_stage(trains=("net",))),
        "nets.idle.layers.0.weight moved",
    ),
    ("finite_in_bf16", broken(leaves_log_space), "weights times 30: the loss is inf"),
    ("log_probs_sum_to_one", broken(log_probs=lambda self, nets, x, ctx: nets["net"](x)), "miss 1 by"),
    (
        "log_probs_sum_to_one",
        broken(noisy_log_probs=lambda self, nets, x, ctx: nets["net"](x).softmax(-1)),
        "miss 1 by",
    ),
    ("log_probs_sum_to_one", broken(networks=lambda self, spec: {"net": spec.net(5)}), "log_probs have shape"),
    ("state_round_trips", broken(is_spoilt_by_its_neighbours), "differs after resuming"),
    ("state_round_trips", broken(adds_draws, draws=global_draws), "differs after resuming"),
    ("same_seed_same_result", broken(rolls_dice), "two equal trainings differ"),
    ("same_seed_same_result", broken(adds_draws, draws=global_draws), "two equal trainings differ"),
    ("learns_separable_blobs", broken(learns_the_opposite), "test accuracies are only"),
    ("bad_run_leaves_neighbours", broken(is_spoilt_by_its_neighbours), "of a neighbour has changed"),
    ("memory_keeps_its_shape", broken(memory=memory_of(5)), "has shape (5,)"),
    ("memory_keeps_its_shape", broken(writes_undeclared_memory), "'loss' is written but not declared"),
    ("memory_keeps_its_shape", broken(writes_one_number_for_all, memory=memory_of(63)), "is written as (), not (16,)"),
    ("needs_are_declared", broken(skips_unannounced), "`skips` and `active` disagree"),
    ("needs_are_declared", broken(skips=True), "`skips` and `active` disagree"),
    (
        "needs_are_declared",
        broken(skips_unannounced, networks=two_networks, stages=one_stage(trains=("idle",)), skips=True),
        "`active` names a network that does not learn",
    ),
]


@pytest.mark.parametrize(
    ("check", "method", "message"), BROKEN, ids=[f"{check}: {message}" for check, _, message in BROKEN]
)
def test_a_broken_method_is_caught(check, method, message):
    found = problem(CHECKS[check], method)
    assert found
    assert message in found


def test_every_check_has_been_seen_to_fail():
    assert {check for check, _, _ in BROKEN} == set(CHECKS)


def test_a_problem_is_one_line():
    assert "\n" not in problem(CHECKS["packed_equals_alone"], broken(asks_for_a_number))


def test_a_problem_in_the_file_of_the_method_has_its_place():
    @dataclass(frozen=True)
    class Misspelt(Method):
        def objective(self, nets, batch, ctx):
            return Terms(nets["net"](batch.x).meen())

    line = Misspelt.objective.__code__.co_firstlineno + 1
    assert problem(CHECKS["objective_is_pure"], Misspelt()) == (
        f"AttributeError in test_testing.py, line {line}: 'Tensor' object has no attribute 'meen'"
    )
