"""The files of a reproduced figure: picture, numbers, page, and a few lines for a document."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from labelnoise.data.rows import counted
from labelnoise.files import write
from labelnoise.papers.figures import Figure
from labelnoise.report.gallery import gallery
from labelnoise.report.measured import number
from labelnoise.report.template import Drawing, fill
from labelnoise.reproduce.asked import Table
from labelnoise.reproduce.beside import spread
from labelnoise.reproduce.groups import Recipe
from labelnoise.reproduce.series import Series, table
from labelnoise.reproduce.writing import RECIPES

VALUED = ("by noise", "by setting")  # kinds with one value for each run


def write_figure(
    asked: Table, figure: Figure, found: Sequence[Series], drawing: Drawing, *, recipe: Recipe, out: Path
) -> list[Path]:
    """SVG, CSV, Markdown and HTML."""
    out.mkdir(parents=True, exist_ok=True)
    stem = f"{asked.paper.folder.name}-{asked.name}-{recipe}"
    texts = {
        "svg": gallery(f"{asked}: {figure.shows}", drawing.panels, drawing.columns, drawing.legend),
        "csv": table(found),
        "md": markdown(asked, figure, found, drawing, recipe, picture=f"![{figure.shows}]({stem}.svg)"),
        "html": _page(asked, figure, found, drawing, recipe),
    }
    for kind, text in texts.items():
        write(out / f"{stem}.{kind}", text)
    return [out / f"{stem}.{kind}" for kind in texts]


def markdown(
    asked: Table, figure: Figure, found: Sequence[Series], drawing: Drawing, recipe: Recipe, *, picture: str = ""
) -> str:
    """What the figure shows, the picture where there is one, and its values where a run has one."""
    told = [f"{asked}, {_made(asked, figure, found, recipe)}", figure.shows, picture, drawing.told]
    return "\n\n".join(filter(None, [*told, "\n".join(_values(figure, found))])) + "\n"


def _values(figure: Figure, found: Sequence[Series]) -> Iterator[str]:
    if figure.kind not in VALUED:
        return
    yield "| data | noise | method | measure | runs | ours | published |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for place in dict.fromkeys((each.data, each.noise, each.method, each.measure) for each in found):
        own = [each for each in found if (each.data, each.noise, each.method, each.measure) == place]
        values = [float(each.numbers("value")[0][0]) for each in own]
        ours = spread(values) if "accuracy" in place[-1] else number(values)
        printed = [each.numbers("published")[0][0] for each in own if "published" in each.columns]
        published = f"{100 * printed[0]:.2f}" if printed else "–"
        yield f"| {' | '.join(place)} | {len(own)} | {ours} | {published} |"


def _made(asked: Table, figure: Figure, found: Sequence[Series], recipe: Recipe) -> str:
    if not figure.cells:
        return "computed"
    runs = counted(len({each.run for each in found if each.run}), "run")
    rule = f"; by the epoch that the paper reports: {asked.paper.facts['protocol']['reported']}"
    return f"recipe {recipe} ({RECIPES[recipe]}), {runs}{rule if figure.kind in VALUED else ''}"


def _page(asked: Table, figure: Figure, found: Sequence[Series], drawing: Drawing, recipe: Recipe) -> str:
    facts = asked.paper.facts
    told = {"paper": facts["title"], "kind": figure.kind, "made": _made(asked, figure, found, recipe)}
    return fill(
        "figure.html", str(asked), shows=figure.shows, facts=told, drawing=drawing, deviations=facts["deviations"]
    )
