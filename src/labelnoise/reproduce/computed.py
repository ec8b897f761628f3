"""Figures that need no training: losses by margin, normal laws, what a residual counts."""

from collections.abc import Callable, Mapping

import numpy as np
import torch

from labelnoise.losses import attenuated, label_height
from labelnoise.papers.figures import Figure
from labelnoise.report.logistic_normal_figures import attenuation, best_law, logit_plane, simplex
from labelnoise.report.margin_losses import smearing
from labelnoise.report.paper_figures import losses as loss_figure
from labelnoise.report.template import Drawing, Panel
from labelnoise.reproduce.series import Column, Series

FLOOR, HEIGHT = 0.3, label_height(3, 0.2)  # two classes and the dummy, much smoothed: labels stand off the corners
Computed = tuple[list[Series], Drawing]


def losses(figure: Figure) -> Computed:
    """The logistic loss of two classes by the margin of the label."""
    found, panels = [], []
    for place, alpha in enumerate(figure.values):
        family = smearing(alpha)
        for name, (loss, derivative) in family.curves.items():
            columns = {"margin": family.margin, "loss": loss, "derivative": derivative}
            found.append(_series(name, f"alpha {alpha:g}", columns))
        panels.append(Panel(loss_figure(f"losses{place}", family.title, family), "Two classes"))
    return found, Drawing(panels, "Losses by the margin of the label, and their derivatives.", columns=1)


def laws(figure: Figure) -> Computed:
    """Normal laws that suit a sure and a doubtful input, among logits and on the simplex."""
    shares = {f"labelled A in {100 * share:.0f} of 100": share for share in figure.values}
    drawn = [best_law(name, share, height=HEIGHT, floor=FLOOR) for name, share in shares.items()]
    found = [
        _series(
            law.name,
            "law",
            {
                "mean_a": law.mean[:1],
                "mean_b": law.mean[1:],
                "root_aa": law.root[:1, 0],
                "root_ab": law.root[:1, 1],
                "root_bb": law.root[1:, 1],
            },
        )
        for law in drawn
    ]
    title = "Two normal laws among logits and on the simplex; contours enclose 50, 80 and 95 %"
    panels = [
        Panel(logit_plane("logits", title, drawn, HEIGHT), "Normal laws among the logits"),
        Panel(simplex("simplex", title, drawn, HEIGHT), "The same as probabilities"),
    ]
    told = f"Contours enclose 50, 80 and 95 %; λ = {FLOOR:g}, labels (diamonds) are smoothed by 0.2."
    return found, Drawing(panels, told)


def residual_counts(figure: Figure) -> Computed:
    """What a residual counts under the best covariance: the part that depends on the label, and the whole loss."""
    r = torch.linspace(0, 4, 401, dtype=torch.float64)
    found = [
        _series(
            f"λ = {floor:g}",
            "residual",
            {
                "residual": r.numpy(),
                "label_term": (r / floor).square().clamp(max=1).numpy(),
                "loss": attenuated(r, floor)[0].numpy(),
            },
        )
        for floor in figure.values
    ]
    term, whole = (
        attenuation(f"attenuation{each:d}", "By residual", figure.values, whole=each) for each in (False, True)
    )
    panels = [Panel(term, "The part that depends on the label"), Panel(whole, "The whole loss")]
    return found, Drawing(panels, "What a residual counts under the best covariance, by its length.")


COMPUTED: dict[str, Callable[[Figure], Computed]] = {
    "losses": losses,
    "laws": laws,
    "attenuation": residual_counts,
}


def _series(method: str, part: str, columns: Mapping[str, Column]) -> Series:
    found = {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()}
    return Series("", "", method, "", "", "", 0, part, found)
