"""Write docs/losses.svg, every loss and its derivative by the margin of the label: `python docs/loss_pictures.py`.

Two classes throughout: the logits are (z, 0), the label is the first class, z is its margin.
"""

from pathlib import Path
from statistics import NormalDist

import numpy as np
import torch
from torch import Tensor

from labelnoise.losses import (
    BackwardLoss,
    BiTemperedLoss,
    CELoss,
    DistillationLoss,
    DMILoss,
    ForwardLoss,
    GCELoss,
    LabelSmoothingLoss,
    ReweightLoss,
    SmearedLoss,
    attenuated,
    heteroscedastic_nll,
    joint_term,
    peer_loss,
    product_term,
)
from labelnoise.losses.divergences import DIVERGENCES
from labelnoise.report.margin_losses import STEPS, LossOf, by, family, first, logits, smearing
from labelnoise.report.paper_figures import Family, loss_catalogue

PICTURE = Path(__file__).with_name("losses.svg")
DRAWS = 401
LOPSIDED = [[0.9, 0.1], [0.3, 0.7]]  # more of the second class are labelled as the first
SPOKEN = {
    "total_variation": "total variation",
    "jensen_shannon": "Jensen–Shannon",
    "pearson": "Pearson",
    "kl": "KL",
    "reverse_kl": "reverse KL",
    "jeffrey": "Jeffrey",
    "squared_hellinger": "squared Hellinger",
    "neyman": "Neyman",
}
CE = CELoss(reduction="none")


def diverging(name: str) -> LossOf:
    """Minus an f-divergence, where labels of others are of both classes alike."""
    kind, even = DIVERGENCES[name], torch.full((STEPS, 2), 0.5, dtype=torch.float64)

    def loss(z: Tensor) -> Tensor:
        log_probs = logits(z).log_softmax(-1)
        return product_term(log_probs, even, kind) - joint_term(log_probs, first(z), kind)

    return loss


def beside_peers(alpha: float) -> LossOf:
    """Peer loss, where labels of others are of both classes alike."""
    return lambda z: (
        (peer_loss(logits(z), first(z), first(z), alpha) + peer_loss(logits(z), first(z), 1 - first(z), alpha)) / 2
    )


def beside(other: float) -> LossOf:
    """DMI of a batch of two: this example, and one of the other class with this probability of its label."""
    rest = torch.tensor([[1 - other, other]], dtype=torch.float64).log()
    loss = DMILoss(classes=2)
    return lambda z: torch.stack([loss(torch.cat([logits(one[None]), rest]), torch.tensor([0, 1])) for one in z])


def spread(scale: float) -> LossOf:
    """Normal logits of this spread, at evenly spaced quantiles instead of draws."""
    normals = torch.tensor([NormalDist().inv_cdf((i + 0.5) / DRAWS) for i in range(DRAWS)], dtype=torch.float64)
    noise = torch.stack([normals, torch.zeros_like(normals)], -1)[:, None]  # (S, 1, K)

    def nll(z: Tensor) -> Tensor:
        loc = logits(z)
        law = (loc, torch.full_like(loc, scale), loc.new_zeros(len(z), 2, 0))
        return heteroscedastic_nll(*law, first(z), noise=noise, factor_noise=noise[..., :0], temperature=1.0)

    return nll


def taught(temperature: float, teacher: float = 2.0) -> LossOf:
    """Distillation from a teacher with this margin."""
    loss = DistillationLoss(temperature, reduction="none")
    return lambda z: loss(logits(z), logits(torch.full_like(z, teacher)))


def logistic_normal() -> Family:
    """The loss at the best covariance, by how far the prediction lies from the label's logits."""
    r = torch.linspace(0, 4, STEPS, dtype=torch.float64)
    curves = {f"λ = {floor}": tuple(each.numpy() for each in attenuated(r, floor)) for floor in (0.5, 1, 2)}
    return Family("Logistic-Normal, best covariance", np.asarray(r), curves, axis="residual ‖r‖")


def families() -> list[Family]:
    """The cells of the picture."""
    return [
        smearing(0.2),
        family(
            "Label smoothing, sharpening, smearing",
            {
                f"α = {alpha}".replace("-", "−"): by(LabelSmoothingLoss(alpha, reduction="none"))
                for alpha in (-0.4, 0, 0.2)
            }
            | {"smeared, M_y = (.7, .3)": by(SmearedLoss([[0.7, 0.3], [0.0, 1.0]], reduction="none"))},
        ),
        family(
            "Known T = [[.9, .1], [.3, .7]]",
            {
                "CE": by(CE),
                "reweight": by(ReweightLoss(LOPSIDED, reduction="none")),
                "backward": by(BackwardLoss(LOPSIDED, reduction="none")),
                "forward": by(ForwardLoss(LOPSIDED, reduction="none")),
            },
        ),
        family(
            "Generalised cross-entropy",
            {"CE (q → 0)": by(CE)}
            | {f"q = {q}{' (MAE)' * (q == 1)}": by(GCELoss(q, reduction="none")) for q in (0.3, 0.7, 1)},
        ),
        family(
            "Truncated, q = 0.7",
            {"q = 0.7": by(GCELoss(0.7, reduction="none"))}
            | {f"p_y ≤ {k} left out": by(GCELoss(0.7, "none", truncation=k)) for k in (0.2, 0.5)},
        ),
        family(
            "Bi-tempered",
            {"CE (t1 = t2 = 1)": by(CE)}
            | {
                f"t1 = {t1}, t2 = {t2}": by(BiTemperedLoss(t1, t2, reduction="none"))
                for t1, t2 in ((0.7, 1), (1, 2), (0.7, 2))
            },
        ),
        family("f-divergences", {SPOKEN[name]: diverging(name) for name in DIVERGENCES}),
        family(
            "Peer loss",
            {"CE (α = 0)": by(CE)} | {f"α = {alpha}": beside_peers(alpha) for alpha in (0.5, 1, 2)},
        ),
        family(
            "DMI of two, one of each class",
            {f"other's p_y = {other}": beside(other) for other in (0.6, 0.8, 0.95)},
            most=(5, 5),
        ),
        family("Heteroscedastic", {f"spread {scale}": spread(scale) for scale in (0, 1, 2, 4)}),
        logistic_normal(),
        family(
            "Distillation, teacher's margin 2",
            {f"temperature {temperature}": taught(temperature) for temperature in (1, 2, 4)},
            axis="margin of the student",
        ),
    ]


def picture() -> str:
    """The whole file."""
    return loss_catalogue("Losses by the margin of the label, and their derivatives, for two classes", families())


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
