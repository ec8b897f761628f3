import pytest
import torch
from torch.func import functional_call, vmap

from labelnoise.config import Optimiser, Schedule
from labelnoise.errors import InputError
from labelnoise.methods import build
from labelnoise.methods.ce import CE
from labelnoise.methods.reweight import Reweight
from labelnoise.methods.t_revision import TRevision
from labelnoise.testing import CHECKS
from labelnoise.transition.revision import Project, Revision
from labelnoise.types import Context, DataSpec, Snapshot

LOGITS = [[1.0, 0.5, -0.5]]
T = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6]], dtype=torch.float64)
DELTA = torch.tensor([[-0.05, 0.05, 0.0], [0.02, -0.02, 0.0], [0.0, 0.01, -0.01]], dtype=torch.float64)
CTX = Context(aux={"T": T})


def revision(delta: torch.Tensor | None = None, project: Project = "abs_row") -> Revision:
    module = Revision(3, project).double()
    if delta is not None:
        module.delta.data.copy_(delta)
    return module


def test_reweight_and_unrevised_t_revision_have_the_same_published_loss(table, labelled) -> None:
    nets = {"net": table(LOGITS), "revision": revision()}
    for method in (Reweight(), TRevision()):
        assert method.objective(nets, labelled([1]), CTX).loss.item() == pytest.approx(0.946507, abs=1e-6)


@pytest.mark.parametrize(
    ("method", "expected"),
    [(Reweight(), [0.468525, -0.573067, 0.104542]), (TRevision(), [0.200975, -0.275668, 0.074693])],
)
def test_gradient_passes_through_the_weight_in_revision_alone(table, labelled, method, expected) -> None:
    nets = {"net": table(LOGITS), "revision": revision()}
    method.objective(nets, labelled([1]), CTX).loss.backward()
    assert nets["net"].logits.grad[0].tolist() == pytest.approx(expected, abs=1e-6)


def test_revision_learns(table, labelled) -> None:
    nets = {"net": table(LOGITS), "revision": revision()}
    TRevision().objective(nets, labelled([1]), CTX).loss.backward()
    assert nets["revision"].delta.grad.abs().max() > 0.1


def test_reweight_leaves_revision_without_gradient(table, labelled) -> None:
    nets = {"net": table(LOGITS), "revision": revision()}
    Reweight().objective(nets, labelled([1]), CTX).loss.backward()
    assert nets["revision"].delta.grad is None


def test_loss_with_a_correction_of_zero_row_sums_is_the_published_one(table, labelled) -> None:
    nets = {"net": table(LOGITS), "revision": revision(DELTA)}
    assert TRevision().objective(nets, labelled([1]), CTX).loss.item() == pytest.approx(0.895739, abs=1e-6)


def test_revised_matrix_is_stochastic_whatever_the_correction() -> None:
    revised = revision(torch.linspace(-2, 2, 9).reshape(3, 3))(T)
    assert (revised >= 0).all()
    torch.testing.assert_close(revised.sum(1), torch.ones(3).double())


def test_revision_starts_as_the_estimate() -> None:
    torch.testing.assert_close(revision()(T), T, rtol=1e-14, atol=0)


def test_identity_gives_cross_entropy(table, labelled) -> None:
    nets = {"net": table(LOGITS), "revision": revision()}
    expected = CE().objective(nets, labelled([1]), CTX).loss
    for method in (Reweight(), TRevision()):
        loss = method.objective(nets, labelled([1]), Context(aux={"T": torch.eye(3).double()})).loss
        torch.testing.assert_close(loss, expected, rtol=1e-12, atol=0)


def test_validation_uses_the_revised_matrix(table) -> None:
    nets, x = {"net": table(LOGITS), "revision": revision(DELTA)}, torch.zeros(1, 4)
    probs = nets["net"].logits.softmax(-1)
    torch.testing.assert_close(TRevision().noisy_log_probs(nets, x, CTX).exp(), probs @ (T + DELTA))
    torch.testing.assert_close(Reweight().noisy_log_probs(nets, x, CTX).exp(), probs @ T)


def test_stages_are_estimation_reweighting_and_revision() -> None:
    method = TRevision()
    first, second, third = method.stages()
    assert [stage.method for stage in (first, second, third)] == [CE(), Reweight(), method]
    assert [stage.share for stage in (first, second, third)] == pytest.approx([0.3, 0.3, 0.4])
    assert (first.carry, second.carry) == ("best", "best")
    assert (first.trains, second.trains, third.trains) == (("net",), ("net",), ())


def test_revision_stage_has_a_slow_network_and_a_faster_correction() -> None:
    method = TRevision()
    assert method.stages()[2].optimiser == Optimiser("adam", lr=5e-7, weight_decay=1e-4)
    assert method.groups() == {"revision": {"lr": 3e-5}}


def test_estimate_is_the_anchor_matrix_of_the_snapshot() -> None:
    posteriors = torch.cat([torch.eye(3), torch.full((9, 3), 1 / 3)]).double()
    aux = TRevision(quantile=None).stages()[1].before(Snapshot(posteriors @ T, torch.zeros(12), 0.3))
    torch.testing.assert_close(aux["T"], T, rtol=1e-12, atol=0)


def test_networks_are_classifier_and_correction(spec: DataSpec) -> None:
    nets = TRevision().networks(spec)
    assert set(nets) == {"net", "revision"}
    assert torch.equal(nets["revision"].delta, torch.zeros(3, 3))


def test_gradient_in_the_correction_without_projection_is_the_published_one(table, labelled) -> None:
    nets = {"net": table(LOGITS), "revision": revision(project="none")}
    TRevision(project="none").objective(nets, labelled([1]), CTX).loss.backward()
    expected = torch.zeros(3, 3)
    expected[:, 1] = torch.tensor([-1.337748, -0.811385, -0.298492])
    torch.testing.assert_close(nets["revision"].delta.grad.float(), expected, rtol=0, atol=1e-6)


def test_cumulative_correction_counts_once_more_for_each_example(table, labelled) -> None:
    nets = {"net": table(LOGITS * 2), "revision": revision(DELTA, "none")}
    method = TRevision(project="none", cumulative=True)
    assert method.objective(nets, labelled([1, 1]), CTX).loss.item() == pytest.approx(
        (0.895739 + 0.850141) / 2, abs=1e-6
    )


def test_without_projection_the_correction_is_added_once_for_all(table, labelled) -> None:
    nets = {"net": table(LOGITS * 2), "revision": revision(DELTA, "none")}
    loss = TRevision(project="none").objective(nets, labelled([1, 1]), CTX).loss
    assert loss.item() == pytest.approx(0.895739, abs=1e-6)


def test_the_official_preset_has_the_slow_cumulative_correction_and_sgd_before() -> None:
    method = build("t_revision", {"preset": "official"})
    first, second, third = method.stages()
    assert [stage.share for stage in (first, second, third)] == pytest.approx([20 / 420, 200 / 420, 200 / 420])
    assert method.groups() == {"revision": {"lr": 5e-7}}
    assert (method.project, method.cumulative) == ("none", True)
    assert first.optimiser == Optimiser("sgd", lr=0.01, weight_decay=1e-4)
    assert second.optimiser == Optimiser("sgd", lr=0.01, momentum=0.9, weight_decay=1e-4)
    assert second.schedule == Schedule("step", (40, 80), 0.1)
    assert third.optimiser == Optimiser("adam", lr=5e-7, weight_decay=1e-4)


@pytest.mark.parametrize("check", CHECKS)
def test_the_official_preset_keeps_the_contract(check: str) -> None:
    CHECKS[check](build("t_revision", {"preset": "official"}))


def test_rows_are_examined_for_their_weights(table, labelled) -> None:
    nets = {"net": table(LOGITS), "revision": revision()}
    assert TRevision().examine(nets, labelled([1]), CTX)["weight"].item() == pytest.approx(0.857242, abs=1e-6)


def test_validation_without_projection_is_a_distribution(table) -> None:
    nets = {"net": table(LOGITS), "revision": revision(DELTA.abs(), "none")}
    probs = TRevision(project="none").noisy_log_probs(nets, torch.zeros(1, 4), CTX).exp()
    unscaled = nets["net"].logits.softmax(-1) @ (T + DELTA.abs())
    torch.testing.assert_close(probs, unscaled / unscaled.sum())


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"project": "simplex"}, "project must be abs_row or none, not 'simplex'"),
        ({"cumulative": True}, "cumulative has no effect here, only with project=none"),
        ({"optimiser": "adam"}, "optimiser must be run or official, not 'adam'"),
        ({"quantile": 2.0}, "quantile must be above 0 and at most 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        build("t_revision", settings)


def test_gradient_mapped_over_corrections_equals_the_loop(table, labelled) -> None:
    net, batch, module = table(LOGITS * 2), labelled([1, 2]), revision()
    deltas = torch.stack([0 * DELTA, DELTA, 2 * DELTA]).requires_grad_()

    def loss(delta: torch.Tensor) -> torch.Tensor:
        nets = {"net": net, "revision": lambda matrix: functional_call(module, {"delta": delta}, (matrix,))}
        return TRevision().objective(nets, batch, CTX).loss

    (mapped,) = torch.autograd.grad(vmap(loss)(deltas).sum(), deltas)
    (looped,) = torch.autograd.grad(sum(loss(delta) for delta in deltas), deltas)
    torch.testing.assert_close(mapped, looped, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("shares", [{"warm_up": 0.6}, {"warm_up": 0.0}, {"revise": 0.0}, {"revise": 0.8}])
def test_every_stage_must_have_a_share(shares: dict[str, float]) -> None:
    with pytest.raises(InputError, match=r"revise .* must be above 0 and sum to less than 1"):
        TRevision(**shares)


def test_the_matrix_it_shows_is_the_revised_one() -> None:
    nets = {"revision": revision(DELTA)}
    torch.testing.assert_close(TRevision().transition(nets, CTX)["T"], T + DELTA)  # whose rows sum to 1
