"""Methods as modules in a loop of one's own, compared with the engine and with closed forms."""

import pickle
from copy import deepcopy
from dataclasses import dataclass, fields
from inspect import signature

import pytest
import torch
from safetensors.torch import load, save
from torch import nn

import labelnoise
from labelnoise.config import Optimiser
from labelnoise.engine.lanes import Alone
from labelnoise.engine.step import Clock
from labelnoise.errors import InputError
from labelnoise.methods import METHODS, Method, build
from labelnoise.nets import make_head
from labelnoise.stepping import MethodStep
from labelnoise.types import Batch, DataSpec, Terms

CLASSES, FEATURES, ROWS, SEED = 3, 4, 30, 5
LIKE = torch.zeros((), dtype=torch.float64)


class Small(nn.Module):
    def __init__(self, head):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(FEATURES, 8), nn.BatchNorm1d(8), nn.ReLU())
        self.head = make_head(8, head)

    def forward(self, x):
        return self.head(self.body(x))


def rows(seed=0):
    """A training set of three clouds."""
    y = torch.arange(ROWS) % CLASSES
    noise = torch.randn(ROWS, FEATURES, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return noise + 3 * torch.eye(CLASSES, FEATURES, dtype=torch.float64)[y], y


def made(name, *, seed=SEED, **settings):
    step = labelnoise.step(name, net=Small, classes=CLASSES, shape=(FEATURES,), train_size=ROWS, seed=seed, **settings)
    return step.double()


def batches(count, size=10):
    x, y = rows()
    for n in range(count):
        chosen = torch.randperm(ROWS, generator=torch.Generator().manual_seed(n))
        yield [Batch(x[part], y[part], part) for part in (chosen[:size], chosen[size : 2 * size], chosen[2 * size :])]


def walk(step, optimiser, count, epoch=None):
    """A plain loop of so many steps over all updates; losses of each."""
    losses = []
    x, y = rows()
    if epoch is not None:
        step.begin_epoch(epoch, 10, probs=step.log_probs(x).exp(), labels=y)
    for batch, *others in batches(count):
        peers = [(each.x, each.y) for each in others][: step.stage.method.peers]
        total = 0.0
        for update in step.updates:
            optimiser.zero_grad()
            loss = step(batch.x, batch.y, batch.rows, peers=peers, update=update)
            loss.backward()
            step.mask_gradients()
            optimiser.step()
            total += loss.item()
        step.follow()
        losses.append(total)
    return losses


SAME = {
    "ce": {},
    "gce": {},
    "mixup": {},
    "co_teaching": {"forget": 0.4},
    "decoupling": {},
    "mentor_net": {"preset": "official"},
    "heteroscedastic": {"factors": 1},
    "logistic_normal": {},
    "forward": {"matrix": "symmetric", "alpha": 0.3},
    "peer_loss": {"separate": True, "warm_up": 0.0},
    "f_divergence": {"separate": True, "warm_up": 0.0, "learnt": True},
    "noise_against_noise": {"average": 0.5},
    "causal_nl": {},
}


@pytest.mark.parametrize("name", SAME)
def test_a_plain_loop_goes_where_the_engine_goes(name):
    step, method = made(name, **SAME[name]), build(name, SAME[name])
    lane = Alone([method], DataSpec((FEATURES,), CLASSES, ROWS, Small), [SEED], LIKE)
    lane.enter(0, Optimiser("adam", lr=1e-2))
    if name == "forward":
        step.begin_stage("corrected")  # once more, for the module has become one of float64
        lane.aux = {"T": 0.7 * torch.eye(CLASSES).double() + 0.1}
    clock = Clock(0, 0, *(torch.tensor(t, dtype=torch.float64) for t in (0.5, 5.0, 10.0)), scale=1.0)
    expected = []
    for n, (batch, *others) in enumerate(batches(6)):
        terms = lane.step(batch, tuple(others[: method.peers]), {}, clock._replace(step=n))
        expected.append(terms.loss.item())
    assert walk(step, torch.optim.Adam(step.groups(), lr=1e-2), 6, epoch=5) == pytest.approx(expected, abs=1e-9)
    for key, value in lane.module.state_dict().items():
        torch.testing.assert_close(step.module.state_dict()[key], value, atol=1e-9, rtol=0)
    x, _ = rows()
    torch.testing.assert_close(step.log_probs(x), lane.log_probs(x))


ESTIMATED = [("co_teaching", {"rate": "estimated"}), ("f_divergence", {"learnt": True, "separate": True})]
FEW = {"heteroscedastic": {"factors": 2}}  # its presets have more than these data have classes
PRESETS = [(name, {"preset": preset, **FEW.get(name, {})}) for name in METHODS for preset in METHODS.get(name).presets]


@pytest.mark.parametrize(("name", "settings"), [*((name, {}) for name in METHODS), *PRESETS, *ESTIMATED])
def test_every_method_goes_through_its_stages_and_only_what_learns_moves(name, settings):
    step, (x, y) = made(name, **settings), rows()
    for stage in range(len(step.stages)):
        step.begin_stage(stage, step.log_probs(x).exp(), y)
        before = {name: deepcopy(net.state_dict()) for name, net in step.networks.items()}
        losses = walk(step, torch.optim.SGD(step.groups(), lr=0.1), 2, epoch=3)
        assert torch.tensor(losses).isfinite().all()
        for net in step.networks:
            moved = any(
                not torch.equal(before[net][key], each) for key, each in step.networks[net].state_dict().items()
            )
            followed, _ = step.stage.method.averages().get(net, (net, 0))
            assert moved == (followed in step.trains), f"{net} in stage {stage}"
    assert step.log_probs(x).exp().sum(1) == pytest.approx(torch.ones(ROWS))


@pytest.mark.parametrize("name", list(METHODS))
def test_no_method_has_a_setting_that_the_function_takes_for_itself(name):
    own = set(signature(labelnoise.step).parameters) - {"settings"}
    assert not own & {field.name for field in fields(METHODS.get(name))}


@dataclass(frozen=True)
class Counting(Method):
    """Remembers how often it has seen each row; the loss is the mean count before."""

    def memory(self, spec):
        return {"seen": torch.zeros(spec.samples)}

    def objective(self, nets, batch, ctx):
        loss = nets["net"](batch.x).sum() * 0 + ctx.memory["seen"].mean()
        return Terms(loss, memory={"seen": ctx.memory["seen"] + 1})


def counting():
    return MethodStep(Counting(), DataSpec((FEATURES,), CLASSES, ROWS, Small)).double()


def test_what_is_kept_of_each_row_is_written_at_its_place():
    step, (x, y) = counting(), rows()
    for seen in (torch.tensor([0, 1, 2]), torch.tensor([2, 5])):
        step(x[seen], y[seen], seen)
    assert step(x[:6], y[:6], torch.arange(6)).item() == pytest.approx((1 + 1 + 2 + 0 + 0 + 1) / 6)


def test_eval_mode_gives_the_loss_and_leaves_no_trace():
    step, (x, y) = counting().eval(), rows()
    before = deepcopy(step.state_dict())
    step(x, y, torch.arange(ROWS))
    assert all(torch.equal(value, before[key]) for key, value in step.state_dict().items())


MENTORS = [("mentor_net", {"mentor": mentor}) for mentor in ("quantile", "learnt")]


@pytest.mark.parametrize(("name", "settings"), [*((name, {}) for name in METHODS), *PRESETS, *MENTORS])
def test_no_method_leaves_a_trace_in_eval_mode(name, settings):
    step, (x, y) = made(name, **settings), rows()
    step.begin_stage(0, step.log_probs(x).exp(), y)
    walk(step, torch.optim.SGD(step.groups(), lr=0.1), 1, epoch=3)
    before, last = deepcopy(step.state_dict()), step.last
    step.eval()
    for update in step.updates:
        step(x[:12], y[:12], torch.arange(12), peers=[(x[:12], y[:12])] * step.stage.method.peers, update=update)
    assert all(torch.equal(value, before[key]) for key, value in step.state_dict().items())
    assert step.last is last


def test_gradients_are_masked_by_the_training_batch_whatever_is_evaluated_after_it():
    step, (x, y) = made("decoupling"), rows()
    step.begin_epoch(0, 1)
    differ = step.networks["a"](x).argmax(1) != step.networks["b"](x).argmax(1)
    assert 0 < differ.sum() < ROWS
    step(x[differ], y[differ]).backward()
    step.eval()
    step(x[~differ], y[~differ])
    step.mask_gradients()
    assert all(param.grad is not None for param in step.parameters())


def test_predicting_in_between_changes_nothing():
    x, _ = rows()
    losses = []
    for looks in (False, True):
        step = made("mixup")
        optimiser = torch.optim.Adam(step.parameters(), lr=1e-2)
        first = walk(step, optimiser, 2)
        if looks:
            assert torch.equal(step.predict(x), step.log_probs(x).argmax(1))
            assert step.training
        losses.append(first + walk(step, optimiser, 2))
    assert losses[0] == losses[1]


def test_a_step_left_and_taken_up_again_goes_on_exactly():
    # mixup draws at each step; the bytes are those of a safetensors file, as a Trainer writes it
    step = made("mixup")
    walk(step, torch.optim.SGD(step.parameters(), lr=0.1), 3)
    again = made("mixup", seed=SEED)
    again.load_state_dict(load(save(step.state_dict())))
    assert walk(again, torch.optim.SGD(again.parameters(), lr=0.1), 3) == walk(
        step, torch.optim.SGD(step.parameters(), lr=0.1), 3
    )


def test_the_seed_comes_back_with_the_state():
    step, again = made("mixup"), made("mixup", seed=SEED + 1)
    again.load_state_dict(step.state_dict())
    assert walk(again, torch.optim.SGD(again.parameters(), lr=0.1), 3) == walk(
        step, torch.optim.SGD(step.parameters(), lr=0.1), 3
    )


WRAPPED = ("distillation", {"teacher": "forward"})


@pytest.mark.parametrize(("name", "settings"), [*((name, {}) for name in METHODS), WRAPPED])
def test_a_step_can_be_pickled_in_any_stage(name, settings):
    step, (x, y) = made(name, **settings), rows()
    for stage in step.stages:
        step.begin_stage(stage, step.log_probs(x).exp(), y)
        again = pickle.loads(pickle.dumps(step))
        assert again.stage.name == stage
        torch.testing.assert_close(again.log_probs(x), step.log_probs(x), atol=0, rtol=0)
    again.load_state_dict(step.state_dict())  # the hook that makes room is still there


def test_estimates_epoch_and_stage_come_back_with_the_state_also_inside_another_module():
    x, y = rows()
    step = made("forward")
    walk(step, torch.optim.SGD(step.parameters(), lr=0.1), 3)
    step.begin_stage("corrected", step.log_probs(x).exp(), y)
    step.begin_epoch(2, 7)
    other = nn.ModuleDict({"step": made("forward")})
    other.load_state_dict({f"step.{key}": value for key, value in step.state_dict().items()})
    again = other["step"]
    assert (again.stage.name, again.place) == ("corrected", step.place)
    assert again(x, y).item() == step(x, y).item()
    assert again.get_buffer("aux|T") is not step.get_buffer("aux|T")


def test_a_seed_decides_the_weights_and_leaves_torchs_generator_alone():
    before = torch.get_rng_state()
    first, second, other = made("mixup"), made("mixup"), made("mixup", seed=SEED + 1)
    assert torch.equal(first.networks["net"].head.weight, second.networks["net"].head.weight)
    assert not torch.equal(first.networks["net"].head.weight, other.networks["net"].head.weight)
    walk(first, torch.optim.SGD(first.parameters(), lr=0.1), 2)
    assert torch.equal(torch.get_rng_state(), before)


def test_networks_that_agree_on_a_batch_stay_as_they_are_under_adam():
    step, (x, y) = made("decoupling"), rows()
    step.begin_epoch(0, 1)
    optimiser = torch.optim.Adam(step.parameters(), lr=1e-2)
    walk(step, optimiser, 3)  # Adam has momentum now
    step.networks["b"].load_state_dict(step.networks["a"].state_dict())
    before = [param.detach().clone() for param in step.parameters()]
    optimiser.zero_grad()
    step(x, y).backward()
    step.mask_gradients()
    optimiser.step()
    assert step.logs["differ"] == 0
    assert all(map(torch.equal, before, step.parameters()))


def test_a_batch_without_disagreement_goes_through_a_scaler_that_has_unscaled():
    step, (x, y) = made("decoupling"), rows()
    step.begin_epoch(0, 1)
    step.networks["b"].load_state_dict(step.networks["a"].state_dict())
    before = [param.detach().clone() for param in step.parameters()]
    optimiser, scaler = torch.optim.Adam(step.parameters(), lr=1e-2), torch.amp.GradScaler("cpu")
    scaler.scale(step(x, y)).backward()
    scaler.unscale_(optimiser)
    step.mask_gradients()
    scaler.step(optimiser)
    scaler.update()
    assert all(map(torch.equal, before, step.parameters()))


def test_which_examples_were_kept_can_be_seen():
    step, (x, y) = made("co_teaching", forget=0.4, ramp=0), rows()
    step.begin_epoch(0, 1)
    step(x, y)
    assert {name: kept.sum().item() for name, kept in step.last.kept.items()} == {"a": 18, "b": 18}
    assert not any(kept.requires_grad for kept in step.last.kept.values())


def test_the_share_that_is_forgotten_grows_with_the_epochs():
    step, (x, y) = made("co_teaching", forget=0.4, ramp=5), rows()
    kept = []
    for epoch in (0, 2, 4):
        step.begin_epoch(epoch, 5)
        step(x, y)
        kept.append(step.last.kept["a"].sum().item())
    assert kept == [30, 24, 18]


def test_progress_within_an_epoch_needs_the_number_of_steps():
    # decoupling counts every example while progress is below warm_up: here for half of one epoch
    step, (x, y) = made("decoupling", warm_up=0.5), rows()
    step.networks["b"].load_state_dict(step.networks["a"].state_dict())
    step.begin_epoch(0, 1, steps=4)
    seen = []
    for _ in range(4):
        step(x, y)
        seen.append(step.last.active["a"].item())
    assert seen == [1, 1, 0, 0]


def test_a_running_mean_follows_its_network():
    step, (x, y) = made("noise_against_noise", average=0.75), rows()
    before = step.networks["mean"].head.bias.clone()
    step(x, y).backward()
    torch.optim.SGD(step.parameters(), lr=1.0).step()
    step.follow()
    expected = 0.75 * before + 0.25 * step.networks["net"].head.bias
    torch.testing.assert_close(step.networks["mean"].head.bias, expected)


def test_a_stage_that_starts_afresh_has_new_weights_in_the_same_parameters():
    x, y = rows()
    step = made("forward")
    weight = step.networks["net"].head.weight
    before = weight.detach().clone()
    step.begin_stage(1, step.log_probs(x).exp(), y)
    assert step.networks["net"].head.weight is weight
    assert not torch.equal(weight, before)


def test_the_estimate_of_a_stage_is_that_of_the_probabilities_given():
    step, (_, y) = made("forward"), rows()
    probs = 0.7 * nn.functional.one_hot(y, CLASSES).double() + 0.1  # every row is an anchor point of its class
    step.begin_stage("corrected", probs, y)
    torch.testing.assert_close(step.get_buffer("aux|T"), 0.7 * torch.eye(CLASSES, dtype=torch.float64) + 0.1)


def test_settings_that_look_at_every_epoch_are_told_so():
    # truncated gce leaves out labels of at most 0.5 from a third of the epochs on
    step, (x, y) = made("gce", preset="truncated"), rows()
    with pytest.raises(InputError, match=r"step\.begin_stage\('train', probs, labels\)"):
        step(x, y, torch.arange(ROWS))
    uniform = torch.full((ROWS, CLASSES), 1 / CLASSES, dtype=torch.float64)
    step.begin_stage("train", uniform, y)
    step(x, y, torch.arange(ROWS))
    assert step.last.kept["net"].mean() == 1
    with pytest.raises(InputError, match="after every epoch; give probs= and labels="):
        step.begin_epoch(2, 3)
    step.begin_epoch(2, 3, probs=torch.cat([nn.functional.one_hot(y[:10], CLASSES), uniform[10:]]), labels=y)
    step(x, y, torch.arange(ROWS))
    assert step.last.kept["net"].sum() == 10


def test_a_wrapped_methods_estimates_keep_their_names():
    x, y = rows()
    step = made("distillation", teacher="forward(preset=smoothing)")
    walk(step, torch.optim.SGD(step.groups(), lr=0.1), 1)
    assert step.get_buffer("aux|teacher/T").sum().item() == pytest.approx(CLASSES)  # rows of T sum to 1
    step.begin_stage("student")
    assert step.trains == ("net",)
    assert step.networks["net"].training
    assert not step.networks["teacher.net"].training
    assert step(x, y).isfinite()


def test_the_matrix_of_a_method_is_that_of_its_stage():
    step, (_, y) = made("forward"), rows()
    with pytest.raises(InputError, match="'forward' has no T in stage 'warm-up', of warm-up, corrected"):
        step.transition()
    step.begin_stage("corrected", 0.7 * nn.functional.one_hot(y, CLASSES).double() + 0.1, y)
    torch.testing.assert_close(step.transition(), 0.7 * torch.eye(CLASSES, dtype=torch.float64) + 0.1)
    with pytest.raises(InputError, match=r"one T for all x; call step\.transition\(\)"):
        step.transition(torch.zeros(2, FEATURES))


def test_a_revised_matrix_has_its_correction():
    step, (_, y) = made("t_revision"), rows()
    for stage in step.stages:
        step.begin_stage(stage, 0.7 * nn.functional.one_hot(y, CLASSES).double() + 0.1, y)
    with torch.no_grad():
        next(step.networks["revision"].parameters())[0, 1] = 0.25
    expected = torch.tensor([[0.8, 0.35, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], dtype=torch.float64)
    torch.testing.assert_close(step.transition(), expected / expected.sum(1, keepdim=True))
    assert not step.transition().requires_grad


def test_a_matrix_of_each_input_is_learnt_by_causal_nl():
    step, (x, _) = made("causal_nl"), rows()
    found = step.transition(x)
    assert found.shape == (ROWS, CLASSES, CLASSES)
    torch.testing.assert_close(found.sum(-1), torch.ones(ROWS, CLASSES, dtype=torch.float64))
    torch.testing.assert_close(step.transition(x[:1])[0], found[0])  # in eval mode a row is on its own
    assert step.training
    with pytest.raises(InputError, match=r"depends on x; call step\.transition\(x\)"):
        step.transition()


def test_parts_that_are_in_eval_mode_are_left_so_by_a_look():
    step, (x, _) = made("ce"), rows()
    step.networks["net"].body.eval()
    step.predict(x)
    assert not step.networks["net"].body[1].training
    assert step.networks["net"].training


def test_groups_have_the_settings_that_stage_and_method_ask_for():
    step, (x, y) = made("t_revision"), rows()
    probs = step.log_probs(x).exp()
    for stage in step.stages[1:]:
        step.begin_stage(stage, probs, y)
    net, revision = step.groups()
    assert (net["lr"], revision["lr"], revision["weight_decay"]) == (5e-7, 3e-5, 1e-4)
    assert [param.shape for param in revision["params"]] == [(CLASSES, CLASSES)]


def test_parameters_that_their_maker_froze_stay_frozen():
    def net(head):
        small = Small(head)
        small.body.requires_grad_(False)
        return small

    step = labelnoise.step("co_teaching", net=net, classes=CLASSES)
    learning = {name for name, param in step.named_parameters() if param.requires_grad}
    assert learning == {f"module.nets.{net}.head.{kind}" for net in "ab" for kind in ("weight", "bias")}
    assert sum(len(group["params"]) for group in step.groups()) == 4


def test_an_update_reaches_only_the_network_it_names():
    step, (x, y) = made("f_divergence", learnt=True, warm_up=0.0), rows()
    step(x, y, update="critic").backward()
    graded = {name for name, net in step.networks.items() if any(param.grad is not None for param in net.parameters())}
    assert graded == {"critic"}
    assert all(param.requires_grad for param in step.parameters())


@pytest.mark.parametrize(
    ("name", "settings", "call", "match"),
    [
        ("f_divergence", {"learnt": True, "warm_up": 0.0}, {}, r"update '' is none of \('critic', 'net'\)"),
        ("ce", {}, {"update": "net"}, "update 'net' is none of"),
        ("peer_loss", {"preset": "paper"}, {}, "peers must be 2 further batches"),
        ("ce", {}, {"peers": [(None, None)]}, "peers must be 0 further batches"),
        ("co_teaching", {}, {}, r"call step\.begin_epoch\(epoch, epochs\)"),
        ("decoupling", {}, {}, r"call step\.begin_epoch\(epoch, epochs\)"),
    ],
)
def test_a_call_that_lacks_something_says_what(name, settings, call, match):
    x, y = rows()
    with pytest.raises(InputError, match=match):
        made(name, **settings)(x, y, **call)


@pytest.mark.parametrize("name", ["ce", "gce", "forward", "co_teaching", "mentor_net"])
def test_fewer_labels_than_inputs_are_refused(name):
    step, (x, y) = made(name), rows()
    step.begin_epoch(0, 1)
    with pytest.raises(InputError, match="30 rows are predicted, but there are 10 labels"):
        step(x, y[:10])


class SequenceFirst(nn.Module):
    """Reads (length, B, features)."""

    def __init__(self, classes):
        super().__init__()
        self.body, self.head = nn.LSTM(4, 5), nn.Linear(5, classes)

    def forward(self, x):
        return self.head(self.body(x)[0][-1])


@pytest.mark.parametrize("name", ["ce", "co_teaching", "f_divergence", "t_revision"])
def test_inputs_need_not_have_their_rows_first(name):
    step, (x, y) = labelnoise.step(name, net=SequenceFirst, classes=3), rows()
    step.begin_epoch(0, 1)
    assert step(x.float().expand(7, *x.shape), y).isfinite()


def test_peers_of_another_size_are_refused():
    x, y = rows()
    with pytest.raises(InputError, match="every peer must have the 30 rows of the batch, but one has 10"):
        made("peer_loss", separate=True)(x, y, peers=[(x, y), (x[:10], y[:10])])


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32])
def test_labels_and_rows_may_be_small_whole_numbers(dtype):
    step, (x, y) = counting(), rows()
    step(x[:2], y[:2].to(dtype), torch.tensor([1, 0], dtype=dtype))
    assert step.get_buffer("memory|seen")[:3].tolist() == [1, 1, 0]
    assert made("ce")(x, y.to(dtype)).item() == made("ce")(x, y).item()


def test_rows_are_asked_for_where_something_is_kept_of_each():
    x, y = rows()
    with pytest.raises(InputError, match=r"call step\(x, y, rows\)"):
        counting()(x, y)


@pytest.mark.parametrize("stage", ["corected", 2, -1])
def test_stages_that_do_not_exist_are_refused(stage):
    with pytest.raises(InputError, match="there are warm-up, corrected, counted from 0"):
        made("forward").begin_stage(stage)


def test_a_stage_is_not_begun_before_those_that_it_builds_on():
    step, (x, y) = made("t_revision"), rows()
    with pytest.raises(InputError, match="'revise' builds on those before it; begin stage 'reweight' first"):
        step.begin_stage("revise", step.log_probs(x).exp(), y)
    assert step.stage.name == "warm-up"


@pytest.mark.parametrize(("epoch", "epochs"), [(3, 3), (-1, 3), (0, 0)])
def test_epochs_that_do_not_exist_are_refused(epoch, epochs):
    with pytest.raises(InputError, match="counted from 0"):
        made("ce").begin_epoch(epoch, epochs)


def test_a_maker_that_gives_one_network_again_is_refused():
    only = Small(CLASSES)
    with pytest.raises(InputError, match="the same network twice"):
        labelnoise.step("co_teaching", net=lambda head: only, classes=CLASSES)


def test_a_method_of_ones_own_is_named_by_its_file(tmp_path, monkeypatch):
    monkeypatch.setattr(METHODS, "_things", dict(METHODS._things))
    path = tmp_path / "doubled.py"
    path.write_text(
        "from dataclasses import dataclass\nfrom labelnoise.methods import register\n"
        "from labelnoise.methods.ce import CE\n\n\n@register('doubled')\n@dataclass(frozen=True)\nclass Doubled(CE):\n"
        "    times: float = 1.0\n\n    def objective(self, nets, batch, ctx):\n"
        "        terms = super().objective(nets, batch, ctx)\n"
        "        return terms._replace(loss=self.times * terms.loss)\n"
    )
    x, y = rows()
    assert torch.equal(made(str(path), times=2)(x, y), 2 * made("ce")(x, y))
