"""Figures of points in a plane, drawn from the numbers that the first run of each method has left."""

from collections.abc import Sequence

import numpy as np

from labelnoise.metrics.separator import Separator, separator
from labelnoise.papers.figures import Figure
from labelnoise.report import figures, paper_figures
from labelnoise.report.canvas import Floats
from labelnoise.report.figures import Plane
from labelnoise.report.paper_figures import Cloud, separators
from labelnoise.report.template import Drawing, Key, Panel, legend
from labelnoise.reproduce.series import Series
from labelnoise.sweep.headline import listed


def projection(_figure: Figure, found: Sequence[Series]) -> Drawing:
    """A panel for each training, with features of three classes."""
    drawn = _first(found)
    captions, key = _captions(drawn, drawn)
    panels = []
    for place, (each, caption) in enumerate(zip(drawn, captions, strict=True)):
        svg = paper_figures.projection(f"projection{place}", caption, _cloud(each))
        panels.append(Panel(svg, caption))
    told = "Features of training rows on the plane of three classes after the last epoch, black if labelled wrongly."
    return Drawing(panels, told, key, min(3, len(panels)))


def regions(_figure: Figure, found: Sequence[Series]) -> Drawing:
    """A panel for each training, with what is predicted all over the plane."""
    grids = _first([each for each in found if each.part == "grid"])
    points = [next(each for each in found if each.part == "points" and each.origin == grid.origin) for grid in grids]
    captions, key = _captions(grids, points)
    panels = []
    for place, (grid, own, caption) in enumerate(zip(grids, points, captions, strict=True)):
        cloud = _cloud(own)
        plane = Plane(*_grid(grid), cloud.points, cloud.given, cloud.wrong)
        panels.append(Panel(figures.regions(f"plane{place}", caption, plane), caption))
    told = "What is predicted after the last epoch, and training rows by given label: hollow if labelled wrongly."
    return Drawing(panels, told, key, 3 if len(panels) == 3 else 2)


def solved(figure: Figure) -> list[Series]:
    """Lines of logistic regression with weight decay, for the whole population."""
    found = []
    for decay in figure.values:
        line = {name: np.array([value]) for name, value in zip("abc", separator(l2=decay).plane, strict=True)}
        found.append(Series("", "", f"decay {decay:g}", "", "line", "", 0, "solved", line))
    return found


def lines(_figure: Figure, found: Sequence[Series]) -> Drawing:
    """The lines of the first runs in one panel, those that are solved in the other."""
    trained = _first([each for each in found if each.part == "line"])
    decayed = [each for each in found if each.part == "solved"]
    cloud = _cloud(next(each for each in found if each.part == "points" and each.run == trained[0].run))
    panels = [
        Panel(separators("trained", "Lines by label smoothing", cloud, _abc(trained)), "Label smoothing, trained"),
        Panel(
            separators("solved", "Lines by weight decay", cloud, _abc(decayed), len(trained)),
            "Weight decay, solved for all points there could be",
        ),
    ]
    both = [*trained, *decayed]
    labels = [f"{each.method}: t = {_crossing(*line):.3f}" for each, line in zip(both, _abc(both), strict=True)]
    told = "t is where a line crosses the diagonal, at (t, t) / √2; the best is dashed, wrong labels are black."
    return Drawing(panels, told, legend([label.replace("-", "\N{MINUS SIGN}") for label in labels]))


def _first(found: Sequence[Series]) -> list[Series]:
    # of each training the first seed there is
    by_training: dict[tuple[str, ...], Series] = {}
    for each in sorted(found, key=lambda each: each.seed):
        by_training.setdefault(each[:5], each)
    return [each for each in found if by_training[each[:5]] is each]


def _captions(drawn: Sequence[Series], points: Sequence[Series]) -> tuple[list[str], list[Key]]:
    # classes are in a key where all panels have the same, else with each of them in the order of the colours
    named = [", ".join(filter(None, (each.data, each.net, each.method))) for each in drawn]
    classes = [_classes(each) for each in points]
    if all(names == classes[0] for names in classes):
        return named, legend([f"labelled {name}" for name in classes[0]])
    return [f"{caption}: {listed(names)}" for caption, names in zip(named, classes, strict=True)], []


def _classes(each: Series) -> list[str]:
    # in the order of their numbers
    names = zip(each.numbers("given")[0].tolist(), each.columns["label"].tolist(), strict=True)
    return [str(name) for _, name in sorted({*names})]


def _cloud(each: Series) -> Cloud:
    _, given = np.unique(each.numbers("given")[0], return_inverse=True)
    return Cloud(np.stack(each.numbers("x", "y"), -1), given, each.numbers("wrong")[0] > 0)


def _grid(each: Series) -> tuple[Floats, Floats]:
    # probabilities (K, lines, columns), and the frame around them
    x, y = each.numbers("x", "y")
    probs = np.stack(each.numbers(*(name for name in each.columns if name.startswith("p"))))
    return probs.reshape(len(probs), -1, len(np.unique(x))), np.array([x.min(), x.max(), y.min(), y.max()])


def _abc(found: Sequence[Series]) -> Floats:
    return np.array([np.concatenate(each.numbers("a", "b", "c")) for each in found])


def _crossing(a: float, b: float, c: float) -> float:
    return Separator((a + b) / 2**0.5, c).crossing
