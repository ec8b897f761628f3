import pytest
import torch

from labelnoise.errors import InputError
from labelnoise.methods import build
from labelnoise.methods.backward import Backward
from labelnoise.types import Context, Snapshot

LOGITS = [[2.0, 0.5, -1.0]] * 3
T = torch.tensor([[0.8, 0.2, 0.0], [0.1, 0.7, 0.2], [0.05, 0.15, 0.8]], dtype=torch.float64)
AUX = {"T": T, "inverse": torch.linalg.inv(T)}


def test_objective_is_the_published_mean(table, labelled) -> None:
    loss = Backward(fix="none").objective({"net": table(LOGITS)}, labelled([0, 1, 2]), Context(aux=AUX)).loss
    assert loss.item() == pytest.approx((-0.05137163 + 1.41204300 + 3.79009178) / 3, abs=1e-8)


def test_its_mean_over_noisy_labels_is_the_risk_of_clean_ones(table, labelled) -> None:
    each = [
        Backward(fix="none").objective({"net": table(LOGITS[:1])}, labelled([y]), Context(aux=AUX)).loss
        for y in range(3)
    ]
    noisy = torch.tensor([0.6, 0.3, 0.1], dtype=torch.float64) @ T
    assert (noisy @ torch.stack(each)).item() == pytest.approx(0.99131130, abs=1e-8)


@pytest.mark.parametrize(("fix", "loss"), [("none", -0.05137163), ("clamp", 0.0), ("negate", 0.05137163)])
def test_a_mean_below_zero_is_mended_on_request(table, labelled, fix, loss) -> None:
    found = Backward(fix=fix).objective({"net": table(LOGITS[:1])}, labelled([0]), Context(aux=AUX)).loss
    assert found.item() == pytest.approx(loss, abs=1e-8)


def test_the_estimate_comes_with_its_inverse() -> None:
    posteriors = torch.cat([torch.eye(3), torch.full((9, 3), 1 / 3)]).double()
    aux = Backward(quantile=None).estimate(Snapshot(posteriors @ T, torch.zeros(12), 0.3))
    torch.testing.assert_close(aux["inverse"] @ T, torch.eye(3).double())


def test_a_matrix_without_an_inverse_does_not_end_the_training() -> None:
    aux = Backward(quantile=None).estimate(Snapshot(torch.full((12, 3), 1 / 3).double(), torch.zeros(12), 0.3))
    assert aux["inverse"].isfinite().all()


def test_an_unknown_fix_is_refused() -> None:
    with pytest.raises(InputError, match="fix must be none, clamp or negate, not 'cut'"):
        Backward(fix="cut")


def test_the_paper_goes_without_a_fix() -> None:
    assert build("backward", {"preset": "paper"}) == Backward(fix="none")
    assert build("backward", {"preset": "smoothing"}).matrix == "symmetric"
