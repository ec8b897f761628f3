import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from labelnoise.errors import InputError
from labelnoise.losses.evidence_bound import Generated
from labelnoise.methods import build
from labelnoise.methods.causal_nl import CausalNL
from labelnoise.rng import Rng
from labelnoise.types import Batch, Context, DataSpec

X = torch.tensor([[0, 0.5, 1, 0.25], [1, 1, 0, 0], [0.2, 0.4, 0.6, 0.8], [0.5, 0.5, 0.5, 0.5]]).double()
GENERATED = Generated(
    mean=torch.tensor([[0.5, -1], [0, 0], [0.2, 0.1], [-0.3, 0.4]]).double(),
    log_variance=torch.tensor([[0, math.log(0.25)], [0, 0], [-0.5, 0.5], [0.1, -0.1]]).double(),
    reconstruction=torch.tensor(
        [[0.1, 0.5, 0.7, 0.25], [0.9, 0.6, 0.1, 0.2], [0.3, 0.4, 0.5, 0.7], [0.5, 0.4, 0.6, 0.9]]
    ).double(),
    noisy_logits=torch.tensor([[1, 0, 0], [0, 1, 0.5], [0.2, 0.1, 0], [0, 0, 2]]).double(),
)
LOGITS = {
    "a": torch.tensor([[2, 0, 0], [0, 1, 0], [1, 0, 0.5], [0, 0, 3]]).double(),
    "b": torch.tensor([[0, 1, 0], [0, 2, 0], [0, 0, 1], [0.5, 0, 1]]).double(),
}
LABEL = torch.tensor([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.5, 0.2, 0.3], [0.05, 0.05, 0.9]]).double()
BATCH = Batch(X, torch.tensor([0, 1, 2, 2]), torch.arange(4))
CO_TEACHING = {"a": 0.608879, "b": 0.823753}
# of branch a; that of b differs in the entropy of its predictions alone, which `official` and its successor leave out
TOTALS = {"paper": 0.694955, "official": 0.297607, "official_v2": 0.203251}


class Fixed(nn.Module):
    """The same output whatever is put in."""

    def __init__(self, output):
        super().__init__()
        self.output = output

    def forward(self, *given):
        return self.output


def fixed_nets():
    nets = {f"classifier_{k}": Fixed(LOGITS[k]) for k in "ab"}
    return nets | {f"generator_{k}": Fixed(GENERATED) for k in "ab"}


def drawing_label(epoch=20.0):
    """Draws by which both branches' sampled label is LABEL."""
    y = {f"y_{k}": (-(LOGITS[k] - LABEL.log()).exp()).exp() for k in "ab"}
    return Context(draws=y | {f"z_{k}": torch.zeros(4, 2) for k in "ab"}, epoch=torch.tensor(epoch).double())


def scene(method=None, seed=0):
    """A small instance of all networks, a batch and its draws."""
    spec = DataSpec((4,), 3, 12, lambda head: nn.Linear(4, head))
    torch.manual_seed(seed)
    method = method or CausalNL(forget=0.25, latent=2)
    nets = {name: net.double() for name, net in method.networks(spec).items()}
    ctx = Context(draws=method.draws(spec, 4, Rng(seed, dtype=torch.float64)), epoch=torch.tensor(20.0))
    return method, nets, ctx


@pytest.mark.parametrize("preset", TOTALS)
def test_the_loss_is_the_published_total_of_each_preset(preset):
    method = replace(build("causal_nl", {"preset": preset}), forget=0.25)
    loss = method.objective(fixed_nets(), BATCH, drawing_label()).loss.item()
    scale = {"paper": 1}.get(preset, 1 / 3)
    second = TOTALS[preset] + scale * (CO_TEACHING["b"] - CO_TEACHING["a"])
    if preset == "paper":
        entropies = [(LOGITS[k].softmax(-1) * LOGITS[k].log_softmax(-1)).sum(-1).mean().item() for k in "ab"]
        second += 1e-5 * (entropies[1] - entropies[0])
    assert loss == pytest.approx(TOTALS[preset] + second, abs=2e-6)


def test_the_paper_is_the_default():
    assert build("causal_nl", {"preset": "paper"}) == CausalNL()


def test_every_term_is_logged_as_the_mean_of_the_branches():
    logs = CausalNL(forget=0.25).objective(fixed_nets(), BATCH, drawing_label()).logs
    entropies = [(LOGITS[k].softmax(-1) * LOGITS[k].log_softmax(-1)).sum(-1).mean().item() for k in "ab"]
    assert {name: value.item() for name, value in logs.items()} == pytest.approx(
        {
            "reconstruction": 0.131250,
            "noisy_label": 0.668300,
            "label_prior": sum(entropies) / 2,
            "gaussian_kl": 0.306444,
            "co_teaching": sum(CO_TEACHING.values()) / 2,
        },
        abs=2e-6,
    )


def test_each_classifier_learns_from_the_others_picks():
    kept = CausalNL(forget=0.25).objective(fixed_nets(), BATCH, drawing_label()).kept
    assert {name: weight.nonzero().flatten().tolist() for name, weight in kept.items()} == {
        "classifier_a": [1, 2, 3],
        "classifier_b": [0, 1, 3],
    }


def test_nothing_is_forgotten_in_the_first_epoch():
    kept = CausalNL(forget=0.75).objective(fixed_nets(), BATCH, drawing_label(epoch=0.0)).kept
    assert all(weight.all() for weight in kept.values())


@pytest.mark.parametrize("term", ["reconstruction", "noisy_label", "gaussian_kl"])
def test_every_term_reaches_the_classifier(term):
    weights = {name: float(name == term) for name in ("reconstruction", "noisy_label", "label_prior", "gaussian_kl")}
    method, nets, ctx = scene(CausalNL(latent=2, **weights))
    alone, _, _ = scene(replace(method, elbo=0.0))
    classifier = nets["classifier_a"].weight
    grads = [torch.autograd.grad(each.objective(nets, BATCH, ctx).loss, classifier)[0] for each in (method, alone)]
    assert (grads[0] - grads[1]).abs().max() > 1e-6


def test_the_label_prior_of_official_teaches_nothing():
    def gradient(weight):
        method, nets, ctx = scene(replace(build("causal_nl", {"preset": "official"}), latent=2, label_prior=weight))
        return torch.autograd.grad(method.objective(nets, BATCH, ctx).loss, nets["classifier_a"].weight)[0]

    assert torch.equal(gradient(0.0), gradient(1e3))


@pytest.mark.parametrize(("forget", "replaced"), [(0.25, ["generator"]), (0.0, ["generator", "classifier"])])
def test_a_branch_learns_nothing_from_the_other_but_which_rows_to_keep(forget, replaced):
    def gradients(seed):
        method, nets, ctx = scene(CausalNL(forget=forget, latent=2))
        _, others, _ = scene(method, seed)
        nets |= {f"{name}_b": others[f"{name}_b"] for name in replaced}
        loss = method.objective(nets, BATCH, ctx).loss
        mine = [p for name in ("classifier_a", "generator_a") for p in nets[name].parameters()]
        return loss, torch.autograd.grad(loss, mine)

    (loss, plain), (other_loss, other) = gradients(0), gradients(1)
    assert loss != other_loss
    assert all(torch.equal(one, two) for one, two in zip(plain, other, strict=True))


def test_branches_start_apart_and_draw_apart():
    method, nets, ctx = scene()
    assert sorted(nets) == ["classifier_a", "classifier_b", "generator_a", "generator_b"]
    assert not torch.equal(nets["classifier_a"].weight, nets["classifier_b"].weight)
    for name in "yz":
        assert not torch.equal(ctx.draws[f"{name}_a"], ctx.draws[f"{name}_b"])
    assert method.coupled


@pytest.mark.parametrize("mode", ["gumbel_soft", "softmax", "gumbel_st", "enumerate"])
def test_every_way_to_draw_labels_teaches_all_networks(mode):
    method, nets, ctx = scene(CausalNL(y_mode=mode, latent=2))
    method.objective(nets, BATCH, ctx).loss.backward()
    assert all(p.grad.any() for net in nets.values() for p in net.parameters())


def test_the_first_classifier_predicts():
    log_probs = CausalNL().log_probs(fixed_nets(), X, Context())
    torch.testing.assert_close(log_probs, LOGITS["a"].log_softmax(-1))


def test_told_the_noise_rate_it_forgets_as_much():
    assert CausalNL(ramp=5).informed(0.45) == CausalNL(forget=0.45, ramp=5)


def test_a_reconstruction_is_that_of_the_first_branch_for_the_predicted_label():
    method, nets, ctx = scene()
    label = nets["classifier_a"](X).softmax(-1)
    expected = nets["generator_a"](X, label, torch.zeros(4, 2).double()).reconstruction
    torch.testing.assert_close(method.reconstruct(nets, X, ctx), expected)


def test_a_transition_has_a_distribution_of_given_labels_for_every_true_one():
    method, nets, ctx = scene()
    found = method.instance_transition(nets, X, ctx)
    assert found.shape == (4, 3, 3)
    torch.testing.assert_close(found.sum(-1), torch.ones(4, 3).double())
    label = torch.eye(3).double()[[1] * 4]
    given = nets["generator_a"](X, label, torch.zeros(4, 2).double()).noisy_logits.softmax(-1)
    torch.testing.assert_close(found[:, 1], given)


@pytest.mark.parametrize("settings", [{"y_mode": "hard"}, {"t_input": "x"}])
def test_settings_of_bound_and_networks_are_checked(settings):
    with pytest.raises(InputError, match="must be"):
        CausalNL(**settings)


def test_what_noisy_validation_cannot_judge_is_what_no_prediction_reads():
    method, nets, ctx = scene()
    for name in method.unjudged:
        del nets[name]
    assert method.log_probs(nets, X, ctx).shape == method.noisy_log_probs(nets, X, ctx).shape == (4, 3)
    assert set(nets) == {"classifier_a", "classifier_b"}


def test_the_second_version_forgets_from_the_first_epoch_on():
    method = replace(build("causal_nl", {"preset": "official_v2"}), forget=0.75, ramp=4)
    kept = method.objective(fixed_nets(), BATCH, drawing_label(epoch=0.0)).kept  # as many as epoch 1 of others: 3 of 4
    assert [weight.sum() for weight in kept.values()] == [3, 3]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"forget": 1.7}, "forget must be a share"),
        ({"ramp": -3}, "ramp and first"),
        ({"tau": 0.0}, "tau must be above"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, sentence):
    with pytest.raises(InputError, match=sentence):
        CausalNL(**settings)


def test_with_an_estimated_rate_all_networks_start_anew():
    warm_up, train = CausalNL(rate="estimated").stages()
    assert warm_up.method.forget == 0
    assert set(train.restart) == set(scene()[1])


@pytest.mark.parametrize("mode", ["gumbel_soft", "enumerate"])
def test_networks_in_half_precision_give_a_finite_loss_in_single(mode):
    method, nets, ctx = scene(CausalNL(forget=0.25, latent=2, y_mode=mode))
    half = {name: net.bfloat16() for name, net in nets.items()}
    draws = {name: value.bfloat16() for name, value in ctx.draws.items()}
    loss = method.objective(half, BATCH._replace(x=X.bfloat16()), ctx._replace(draws=draws)).loss
    assert loss.dtype == torch.float32
    assert loss.isfinite()
