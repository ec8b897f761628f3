import pytest
import torch
from torch.func import vmap

from labelnoise.errors import InputError
from labelnoise.methods.ce import CE
from labelnoise.methods.forward import Forward
from labelnoise.types import Context, Snapshot

LOGITS = [[2.0, -1.0, 0.5]] * 3
T = torch.tensor([[0.8, 0.2, 0.0], [0.0, 0.7, 0.3], [0.1, 0.0, 0.9]], dtype=torch.float64)


def test_objective_is_the_published_mean(table, labelled) -> None:
    loss = Forward().objective({"net": table(LOGITS)}, labelled([0, 1, 2]), Context(aux={"T": T})).loss
    assert loss.item() == pytest.approx((0.4369454550 + 1.6901155272 + 1.7749311142) / 3, abs=1e-9)


def test_identity_gives_cross_entropy(table, labelled) -> None:
    nets, batch = {"net": table(LOGITS)}, labelled([0, 1, 2])
    loss = Forward().objective(nets, batch, Context(aux={"T": torch.eye(3)})).loss
    torch.testing.assert_close(loss, CE().objective(nets, batch, Context()).loss, rtol=1e-14, atol=0)


def test_new_network_learns_after_the_estimate() -> None:
    method = Forward(warm_up=0.25)
    first, second = method.stages()
    assert (first.method, first.share, first.carry) == (CE(), 0.25, "best")
    assert (second.method, second.share, second.restart) == (method, 0.75, ("net",))


def test_estimate_is_the_anchor_matrix_of_the_snapshot() -> None:
    posteriors = torch.cat([torch.eye(3), torch.full((9, 3), 1 / 3)]).double()
    _, second = Forward(quantile=None).stages()
    aux = second.before(Snapshot(posteriors @ T, torch.zeros(12), 0.3))
    torch.testing.assert_close(aux["T"], T, rtol=1e-12, atol=1e-15)


def test_prediction_is_of_true_classes_and_validation_of_given_ones(table) -> None:
    nets, ctx, x = {"net": table(LOGITS)}, Context(aux={"T": T}), torch.zeros(3, 4)
    probs = nets["net"].logits.softmax(-1)
    torch.testing.assert_close(Forward().log_probs(nets, x, ctx).exp(), probs)
    torch.testing.assert_close(Forward().noisy_log_probs(nets, x, ctx).exp(), probs @ T)


@pytest.mark.parametrize(("method", "aux"), [(Forward(noisy_validation=False), {"T": T}), (Forward(), {})])
def test_validation_is_of_true_classes_on_request_or_before_t_is_known(table, method: Forward, aux: dict) -> None:
    nets, x = {"net": table(LOGITS)}, torch.zeros(3, 4)
    assert torch.equal(method.noisy_log_probs(nets, x, Context(aux=aux)), method.log_probs(nets, x, Context()))


def test_objective_mapped_over_matrices_equals_the_loop(table, labelled) -> None:
    nets, batch = {"net": table(LOGITS)}, labelled([0, 1, 2])
    matrices = torch.stack([T, T @ T, torch.eye(3).double()])
    mapped = vmap(lambda matrix: Forward().objective(nets, batch, Context(aux={"T": matrix})).loss)(matrices)
    looped = [Forward().objective(nets, batch, Context(aux={"T": matrix})).loss for matrix in matrices]
    torch.testing.assert_close(mapped, torch.stack(looped), rtol=1e-14, atol=0)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1])
def test_warm_up_must_leave_epochs_for_both_networks(share: float) -> None:
    with pytest.raises(InputError, match="warm_up must lie between 0 and 1"):
        Forward(warm_up=share)
