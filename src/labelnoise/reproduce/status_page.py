"""The page that says how much of the papers is reproduced: of all published cells, what is measured and what not."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from labelnoise.papers.paper import paper, papers
from labelnoise.reproduce.asked import Table
from labelnoise.reproduce.committed import VERDICTS, Committed
from labelnoise.reproduce.groups import Recipe
from labelnoise.reproduce.standing import IMPOSSIBLE, LEFT, ON_REQUEST, Standing, standings
from labelnoise.reproduce.tables import lined

INTRO = """\
# Status

<!-- Written by docs/generate.py from the papers' data and results/: change these, then run `make docs`. -->

Of all published cells of the four papers: how many there are, how many a command can train, how many are measured, and
what came out. [Measured results](results.md) has the figures, and why cells are off.

A cell is runnable if the package has its data set, noise, method, network and settings, and anybody can get the data:
it is measured, or left. Where our runs spread far more than the published ones (F-test at 1 %), being within noise says
little, and is counted apart; so are cells of which a single figure is published, beside which our own spread alone says
how large chance is. Not judged is what has no spread on either side, and what is near while runs of ours have failed. A
cell that needs data on request is not runnable here, but it is for whoever has them.
"""
HEAD = ["", "cells", "runnable", "measured", *VERDICTS, LEFT, ON_REQUEST]
Census = Mapping[str, Sequence[Standing]]  # by table


def page(found: Sequence[Committed], results: Path) -> str:
    """The whole page."""
    every = [Table(paper(name), table) for name in papers() for table in paper(name).tables]
    measured = {(str(each.table), each.recipe) for each in found}
    literal = _census(every, "paper", found)
    fast = _census([table for table in every if (str(table), "fast") in measured], "fast", found)
    paragraphs = [INTRO.rstrip(), "## By the paper's recipe", lined([HEAD, *_rows(literal)])]
    paragraphs += ["## By the fast recipe", lined([HEAD, *_rows(fast)]) if fast else "Nothing is measured by it yet."]
    paragraphs += ["## Not runnable here", *_not_here(literal), "## Figures", *_figures(results)]
    return "\n\n".join(paragraphs) + "\n"


def _census(tables: Sequence[Table], recipe: Recipe, found: Sequence[Committed]) -> Census:
    return {str(table): standings(table, recipe, found) for table in tables}


def _rows(census: Census) -> Iterator[list[str]]:
    for name in dict.fromkeys(table.partition("/")[0] for table in census):
        own = {table: cells for table, cells in census.items() if table.startswith(f"{name}/")}
        yield from (_row(table, cells) for table, cells in own.items())
        yield _row(f"**{name}**", [cell for cells in own.values() for cell in cells])
    yield _row("**all**", [cell for cells in census.values() for cell in cells])


def _row(title: str, cells: Sequence[Standing]) -> list[str]:
    names = [cell.name for cell in cells]
    runnable = len(names) - names.count(IMPOSSIBLE) - names.count(ON_REQUEST)
    measured = sum(names.count(verdict) for verdict in VERDICTS)
    numbers = [len(names), runnable, measured, *(names.count(name) for name in (*VERDICTS, LEFT, ON_REQUEST))]
    return [title, *map(str, numbers)]


def _not_here(census: Census) -> Iterator[str]:
    reasons: dict[str, dict[str, int]] = {}
    for table, cells in census.items():
        for cell in cells:
            if cell.why:
                counts = reasons.setdefault(cell.why, {})
                counts[table] = counts.get(table, 0) + 1
    rows = [[", ".join(counts), str(sum(counts.values())), why] for why, counts in reasons.items()]
    yield lined([["", "cells", "because of"], *rows]) if rows else "There is no such cell."
    yield (
        "Commands for data on request are tested on small made-up images in the real layout; who has the data can "
        "measure these cells like any other."
    )


def _figures(results: Path) -> Iterator[str]:
    shows = {
        f"{name}/{figure['name']}": figure["shows"]
        for name in papers()
        for figure in paper(name).facts.get("figures", [])
    }
    rows = [[name, what, "yes" if any(results.glob(f"{name}-*/*.svg")) else "no"] for name, what in shows.items()]
    yield "Figures have hardly any printed values, so that no cell is counted."
    yield lined([["", "shows", "committed"], *rows])
