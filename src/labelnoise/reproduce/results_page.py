"""The page of measured results: every table that was trained beside the published one, from committed records alone."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from labelnoise.data.rows import counted
from labelnoise.reproduce import tables
from labelnoise.reproduce.committed import VERDICTS, Committed, Measured
from labelnoise.reproduce.gallery import gallery
from labelnoise.reproduce.origin import in_markdown, origin
from labelnoise.reproduce.tables import lined, placed
from labelnoise.reproduce.writing import RECIPES, parts, published_over, reported

INTRO = """\
# Measured results

<!-- Written by docs/generate.py from results/: measure more, then run `make docs`. -->

What our trainings reach beside what was published. No figure of the tables is typed by hand: all are computed from
[committed records](../results/README.md), a line for every run. [Status](status.md) says how much of the papers is
measured, [Reproducing a table](reproduce.md) how to measure more.

In a cell of a table: ours in %, mean ± std over seeds, at the epoch that the paper reports; below it the published
figure; below that the difference in points. It is within noise up to two standard errors, else off; without a word,
nothing tells how large chance is. Two standard errors of few runs are little: of trainings that are alike, three runs
are off beside a mean of five in one cell of ten, and beside a single run in two of eleven. Bold figures are not
significantly worse than the best of their column (pooled two-sided t-test at 5 %); of published ones, those that the
paper prints so, and of ours among the measured cells with a published figure. The number of runs stands in a cell that
has not as many as most of its table. Under a noise stands the share of training labels that came out wrong, mean over
all runs. For what is off, p of that test says how often chance alone makes a difference as large, and a sentence what
we suspect: these are written by hand, in part after trials that are not kept.

How exactly numbers are computed belongs to no recipe. On a GPU it is as fast as is safe, which *precision auto* spells
out, and not as the authors did; [what that does to results](performance.md#whether-fast-execution-bends-results) is
measured. Where runs of one cell differ in that, in code, torch or device, a line below the table says so.
"""
UNKNOWN = "No reason is known yet."
WIDE = "Spread far wider than the published one (F-test at 1 %), so that being within noise says little there."


def page(found: Sequence[Committed], results: Path) -> str:
    """The whole page, for a folder beside that of the results."""
    sections = [paragraph for each in found for paragraph in _section(each)]
    pictures = list(gallery(results, f"../{results.name}"))
    figures = ["## Figures", *pictures] if pictures else []
    return "\n\n".join([INTRO.rstrip(), _overview(found), *sections, *figures, *_deviations(found)]) + "\n"


def _overview(found: Sequence[Committed]) -> str:
    if not found:
        return "Nothing is measured yet."
    rows = [["", "published cells measured", *VERDICTS]]
    for each in found:
        anchor = str(each).replace("/", "").replace(",", "").replace(" ", "-")
        rows.append([f"[{each}](#{anchor})", _measured(each), *map(str, each.verdicts.values())])
    return lined(rows)


def _measured(each: Committed) -> str:
    measured, published = each.published, each.table.paper.published(each.table.name)
    besides = f", and {counted(more, 'variant')} of ours" if (more := len(each.cells) - len(measured)) else ""
    return f"{len(measured)} of {len(published)}{besides}"


def _section(each: Committed) -> Iterator[str]:
    facts, besides = each.table.paper.facts, [cell.beside for cell in each.cells]
    yield f"## {each}"
    yield (
        f"{facts['title']}. Recipe {each.recipe}: {RECIPES[each.recipe]}. Epoch of ours: "
        f"{reported(besides)}. Published: {published_over(facts['protocol'])}."
    )
    own = {cell.cell: cell.runs for cell in each.cells}
    yield lined([("", ""), *in_markdown(origin(each.table, each.recipe, own, "/".join(each.folder.parts[-3:])))])
    yield from _grids(list(parts(besides)))
    if off := list(_off(each.cells)):
        yield "\n".join(["Off:", "", *off])
    if wide := list(_wide(each.cells)):
        yield "\n".join([f"{WIDE} Seed by seed:", "", *wide])
    if unlike := list(tables.unlike(besides)):
        yield "\n".join(f"- {sentence}" for sentence in unlike)
    yield _folded("Every cell at its last, selected and oracle epoch", lined([tables.HEAD, *tables.rows(besides)]))


def _grids(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    # a table for each part, its noises across; where parts have one noise each, one table with the parts across
    columns = {
        (part["title"], noise): {method: cells[place] for method, cells in part["rows"]}
        for part in found
        for place, noise in enumerate(part["noises"])
    }
    if len(columns) == len(found):
        heads = [f"{part['title']}<br>{_rated(part['noises'][0], part['rates'][0])}" for part in found]
        yield _grid(heads, list(columns.values()))
        return
    for part in found:
        heads = list(map(_rated, part["noises"], part["rates"]))
        yield f"**{part['title']}**"
        yield _grid(heads, [columns[part["title"], noise] for noise in part["noises"]])


def _grid(heads: Sequence[str], columns: Sequence[Mapping[str, Any]]) -> str:
    methods = dict.fromkeys(method for column in columns for method in column)
    return lined([["", *heads], *([method, *(_shown(column.get(method)) for column in columns)] for method in methods)])


def _rated(noise: str, rate: float | None) -> str:
    return noise if rate is None else f"{noise}<br>{100 * rate:.1f} % wrong"


def _shown(cell: Mapping[str, Any] | None) -> str:
    if cell is None:
        return ""
    ours = f"**{cell['ours']}**" if cell["best"] else cell["ours"]
    published = f"**{cell['published']}**" if cell["published_best"] else cell["published"]
    verdict = {"off": "**off**"}.get(cell["verdict"], cell["verdict"])
    difference = f"{cell['difference'].removesuffix(' !')} {verdict}".strip()
    runs = f"<br>{cell['runs']}" if cell["runs"] else ""
    text = f"{ours}<br>{published}<br>{difference or 'no figure'}{runs}"
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def _off(cells: Iterable[Measured]) -> Iterator[str]:
    # noises of one method with one reason in a line
    found: dict[tuple[str, str, str], list[str]] = {}
    for each in cells:
        if each.off:
            place = placed(each.cell), each.cell.method, each.reason or UNKNOWN
            found.setdefault(place, []).append(f"{each.cell.noise} ({_far(each)})")
    for (part, method, reason), noises in found.items():
        yield f"- {part}, {method}, {', '.join(noises)}: {reason}"


def _far(each: Measured) -> str:
    away, chance = each.beside.difference, each.beside.chance
    if away is None:
        return "no figure"
    return f"{away:+.2f}" if chance is None else f"{away:+.2f}, p = {chance:.2g}"


def _wide(cells: Iterable[Measured]) -> Iterator[str]:
    for each in cells:
        if each.beside.wide:
            found = [run.measured(each.beside.reported, each.cell.measure) for run in each.runs]
            values = ", ".join("failed" if value is None else f"{100 * value:.2f}" for value in found)
            yield f"- {placed(each.cell)}, {each.cell.method}, {each.cell.noise}: {values}"


def _deviations(found: Sequence[Committed]) -> Iterator[str]:
    papers = {each.table.paper.folder.name: each.table.paper.facts["deviations"] for each in found}
    if papers:
        yield "## Where we differ from the papers, as far as we know"
    for name, sentences in papers.items():
        yield _folded(f"{name}: {counted(len(sentences), 'deviation')}", "\n".join(f"- {each}" for each in sentences))


def _folded(summary: str, text: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{text}\n\n</details>"
