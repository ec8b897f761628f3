import pytest
import torch
from torch.func import functional_call, vmap

from labelnoise.config import Optimiser
from labelnoise.errors import InputError
from labelnoise.methods.base import METHODS
from labelnoise.methods.ce import CE
from labelnoise.methods.t_revision import Reweight, TRevision
from labelnoise.transition.revision import Revision
from labelnoise.types import Context, DataSpec, Snapshot

LOGITS = [[1.0, 0.5, -0.5]]
T = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6]], dtype=torch.float64)
DELTA = torch.tensor([[-0.05, 0.05, 0.0], [0.02, -0.02, 0.0], [0.0, 0.01, -0.01]], dtype=torch.float64)
CTX = Context(aux={"T": T})


def revision(delta: torch.Tensor | None = None) -> Revision:
    module = Revision(3).double()
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


def test_reweight_is_a_stage_and_no_method_of_its_own() -> None:
    assert Reweight not in [METHODS.get(name) for name in METHODS]


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
