"""The files of a reproduced table, and what is said before it is trained."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from labelnoise.files import write
from labelnoise.report.template import fill
from labelnoise.reproduce import estimate, tables
from labelnoise.reproduce.asked import Table
from labelnoise.reproduce.beside import Beside
from labelnoise.reproduce.groups import Group, Recipe

RECIPES = {"paper": "as the paper says", "fast": "fewer epochs, one setting for all noises"}


def announced(groups: Sequence[Group], seeds: int, device: torch.device) -> Iterator[str]:
    """How much is to be trained, and how long it takes on this device, if nothing is there yet."""
    total, runs, epochs = 0.0, 0, 0
    for group in groups:
        job, count = group.job(group.cells[0]), seeds * len(group.trained)
        took = estimate.seconds(group, seeds, device)
        total, runs, epochs = total + took, runs + count, epochs + count * job.train.epochs
        methods = ", ".join(dict.fromkeys(cell.method for cell in group.cells))
        noises = len({cell.noise for cell in group.cells})
        yield (
            f"{group.cells[0].data}, {job.net.name}: {methods} × {noises} noises × {seeds} seeds, "
            f"{count} runs × {job.train.epochs} epochs, about {estimate.spoken(took)}"
        )
    yield f"in all {runs} runs, {epochs:,} epochs, about {estimate.spoken(total)} on {device}"


def write_all(table: Table, found: Sequence[Beside], recipe: Recipe, out: Path) -> list[Path]:
    """Markdown, CSV, LaTeX and HTML."""
    texts = {
        "table.md": tables.markdown(found),
        "table.csv": tables.table(found),
        "table.tex": tables.latex(found),
        "table.html": _page(table, found, recipe),
    }
    for name, text in texts.items():
        write(out / name, text)
    return [out / name for name in texts]


def _page(table: Table, found: Sequence[Beside], recipe: Recipe) -> str:
    facts = table.paper.facts
    protocol = facts["protocol"]
    told = {
        "paper": facts["title"],
        "recipe": f"{recipe}: {RECIPES[recipe]}",
        "reported": f"{protocol['reported']}, over {protocol['seeds']} seeds",
        "chosen": protocol["chosen"],
    }
    return fill(
        "reproduced.html",
        str(table),
        counts=tables.counts(found),
        facts=told,
        head=tables.HEAD,
        lines=list(tables.rows(found)),
        deviations=facts["deviations"],
    )
