import numpy as np
import pytest
import torch

from labelnoise.losses import GCELoss
from labelnoise.report.margin_losses import by, family, smearing


def test_a_loss_is_that_of_a_label_with_this_margin():
    z = torch.tensor([-1.0, 0.0, 3.0])
    p = 1 / (1 + torch.exp(-z))
    torch.testing.assert_close(by(GCELoss(1.0, reduction="none"))(z), 1 - p)


def test_derivatives_are_taken_at_every_margin():
    found = family("squares", {"square": lambda z: z**2})
    loss, slope = found.curves["square"]
    assert loss == pytest.approx(found.margin**2)
    assert slope == pytest.approx(2 * found.margin)


@pytest.mark.parametrize("alpha", [0.1, 0.2, 0.6])
def test_smoothing_and_backward_correction_undo_each_other(alpha):
    curves = smearing(alpha).curves
    assert list(curves) == ["CE", "label smoothing", "backward", "forward"]
    turned = np.flip  # the loss of the other label
    T = np.array([[1 - alpha / 2, alpha / 2], [alpha / 2, 1 - alpha / 2]])
    backward = curves["backward"][0]
    assert T[0] @ np.stack([backward, turned(backward)]) == pytest.approx(curves["CE"][0], abs=1e-6)
    smoothed = curves["label smoothing"][0]
    assert smoothed == pytest.approx(T[0] @ np.stack([curves["CE"][0], turned(curves["CE"][0])]), abs=1e-6)
