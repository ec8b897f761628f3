"""Write the pictures of docs/logistic_normal.md: `python docs/logistic_normal_pictures.py`, a quarter of an hour.

Englesson et al., Logistic-normal likelihoods for heteroscedastic label noise, TMLR 2023. The networks of its Figure 3
have two hidden layers of 2,000 and take 2,000 steps at a rate of 1e-4 with all points. Number of points, blur, flips,
temperature and floor are ours, as is Adam: plain gradient descent does not memorise as that figure shows.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import torch
from torch import Tensor, nn

from labelnoise.comparing import compare_methods
from labelnoise.data import load
from labelnoise.losses import CELoss, LogisticNormalLoss, label_height
from labelnoise.nets.base import build
from labelnoise.nets.heads import LogisticNormalHead
from labelnoise.noise import corrupt
from labelnoise.report.figures import Plane, regions
from labelnoise.report.gallery import gallery
from labelnoise.report.logistic_normal_figures import attenuation, best_law, logit_plane, simplex
from labelnoise.report.measured import residuals
from labelnoise.report.template import Panel

HERE = Path(__file__).parent
FLOOR, HEIGHT = 0.3, label_height(3, 0.2)  # two classes and the dummy, much smoothed: labels stand off the corners
FLOORS = (0.5, 1.0, 2.0)
POINTS, STEPS, RATE, SIDE = 200, 2000, 1e-4, 64
LOSSES: dict[str, nn.Module] = {"ce": CELoss(), "logistic_normal": LogisticNormalLoss(tau=1.0, lam=0.5)}


class Fitted(NamedTuple):
    """A trained network, as far as a picture needs it."""

    plane: Plane
    memorised: float  # share of the wrong labels that are predicted
    accuracy: float  # on 1,800 points that it has not seen


def laws() -> str:
    """Figure 1 of the paper: a sure input and a doubtful one, among logits and as probabilities."""
    shares = {"labelled A in 98 of 100": 0.98, "labelled A in 60 of 100": 0.6}
    both = [best_law(name, share, height=HEIGHT, floor=FLOOR) for name, share in shares.items()]
    title = "Two normal laws among logits and on the simplex; contours enclose 50, 80 and 95 %"
    among = Panel(logit_plane("logits", title, both, HEIGHT), "Normal laws among the logits")
    return gallery(title, [among, Panel(simplex("simplex", title, both, HEIGHT), "The same as probabilities")], 2)


def attenuated() -> str:
    """Figure 2 of the paper: what a residual counts."""
    term, whole = (attenuation(f"attenuation{each:d}", "By residual", FLOORS, whole=each) for each in (False, True))
    title = "What a residual counts under the best covariance, for three floors"
    return gallery(title, [Panel(term, "The part that depends on the label"), Panel(whole, "The whole loss")], 2)


def attenuated_rows() -> str:
    """Figure 6 of the paper, on digits: residuals without and with the covariance, for two kinds of noise."""
    rows = []
    with TemporaryDirectory() as folder:
        for noise in ("pair:0.4", "symmetric:0.4"):
            settings = {"methods": "logistic_normal", "noise": noise}
            comparison = compare_methods("digits", settings=settings, out=Path(folder) / noise.partition(":")[0])
            rows += [replace(row, label=noise) for row in comparison.summary.rows]
        panels = residuals(rows)["panels"]
    return gallery("Residuals of rightly (blue) and wrongly (orange) labelled digits", panels, 2)


def fit(data: str, loss: str, seed: int = 0) -> Fitted:
    """The network after the last step, of 200 points with 40 wrong labels."""
    dataset = corrupt(load(data, seed), "symmetric:0.2:exact", seed=seed, rows=torch.arange(POINTS))
    assert dataset.y_true is not None
    torch.manual_seed(seed)
    net = build("mlp_2000", (2,), partial(LogisticNormalHead, classes=2) if loss == "logistic_normal" else 2)
    optimiser = torch.optim.Adam(net.parameters(), lr=RATE, fused=True)
    for _ in range(STEPS):
        optimiser.zero_grad()
        LOSSES[loss](net(dataset.x[:POINTS]), dataset.y_given[:POINTS]).backward()
        optimiser.step()
    with torch.no_grad():
        return looked_at(net, dataset.x, dataset.y_given, dataset.y_true)


def looked_at(net: nn.Module, x: Tensor, given: Tensor, true: Tensor) -> Fitted:
    """What the network predicts on a grid, for its own points and for others."""
    points, wrong = x[:POINTS], (given != true)[:POINTS]
    low, high = points.amin(0) - 0.2, points.amax(0) + 0.2
    across, up = (torch.linspace(start, end, SIDE) for start, end in zip(low, high, strict=True))
    grid = torch.stack(torch.meshgrid(across, up, indexing="xy"), -1)  # (lines, columns, 2)
    probs = logits(net, grid.flatten(0, 1)).softmax(-1).T.unflatten(1, grid.shape[:2])
    frame = torch.stack([low, high], 1).flatten()
    drawn = (each.double().numpy() for each in (probs, frame, points))
    predicted = logits(net, x).argmax(-1)
    return Fitted(
        Plane(*drawn, given[:POINTS].numpy(), wrong.numpy()),
        memorised=(predicted == given)[:POINTS][wrong].double().mean().item(),
        accuracy=(predicted == true)[POINTS:].double().mean().item(),
    )


def logits(net: nn.Module, x: Tensor) -> Tensor:
    """Those of the K classes, at a temperature of 1."""
    output = net(x)
    return output if isinstance(output, Tensor) else output.mu


def compared(fitted: dict[tuple[str, str], Fitted]) -> str:
    """Figure 3 of the paper: decision regions, by data and loss."""
    panels = []
    for (data, loss), found in fitted.items():
        told = f"{data}, {loss}: {100 * found.memorised:.1f} % memorised"
        panels.append(Panel(regions(f"{data}_{loss}", told, found.plane), told))
    return gallery("Decision regions after 2,000 steps; hollow points are labelled wrongly", panels, len(LOSSES))


if __name__ == "__main__":
    pictures = {
        "law": laws(),
        "attenuation": attenuated(),
        "residuals": attenuated_rows(),
        "regions": compared({(data, loss): fit(data, loss) for data in ("moons", "circles") for loss in LOSSES}),
    }
    for name, text in pictures.items():
        (HERE / f"logistic_normal_{name}.svg").write_text(text, encoding="utf-8")
