"""The files of a reproduced table, and what is said before it is trained."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import torch

from labelnoise.data.rows import counted
from labelnoise.files import write
from labelnoise.report.template import fill
from labelnoise.reproduce import choices, estimate, tables
from labelnoise.reproduce.asked import Table
from labelnoise.reproduce.beside import Beside
from labelnoise.reproduce.choices import Choice
from labelnoise.reproduce.groups import Group, Recipe
from labelnoise.reproduce.left import NONE, Left, left, together
from labelnoise.reproduce.origin import in_markdown
from labelnoise.reproduce.outcomes import Outcome

RECIPES = {
    "paper": "as the paper says",
    "fast": "fewer epochs, one setting for all noises",
    "paper-search": "as the paper says, hyper-parameters searched anew on noisy validation",
    "fast-search": "fewer epochs, hyper-parameters searched anew on noisy validation",
}


def announced(
    groups: Sequence[Group],
    seeds: int,
    device: torch.device,
    known: Mapping[str, Outcome] | None = None,
    begun: Mapping[str, int] = NONE,
) -> Iterator[str]:
    """How much is left to train beside known outcomes and what is begun, and how long it takes on this device."""
    if not groups:
        yield "nothing is trained: it is computed"
        return
    total, epochs, parts = 0.0, 0, [left(group, seeds, known or {}, begun) for group in groups]
    for group, part in zip(groups, parts, strict=True):
        each = group.job(group.cells[0]).train.epochs
        asked = part.runs * each
        took = estimate.seconds(group, part.methods, device) * (1 - part.begun / asked) if asked else 0.0
        total, epochs = total + took, epochs + asked
        long = f" × {counted(each, 'epoch')}"
        yield f"{_trained(group, seeds)}, {_counts(part, long, estimate.spoken(took))}"
    long, time = f", {counted(epochs, 'epoch')}", f"{estimate.spoken(total)} on {device}"
    yield f"in all {_counts(together(parts), long, time)}"


def write_all(
    table: Table,
    found: Sequence[Beside],
    recipe: Recipe,
    out: Path,
    chosen: Sequence[Choice] = (),
    *,
    facts: Sequence[tuple[str, str]] = (),
) -> list[Path]:
    """Markdown, CSV, LaTeX and HTML; what a search has chosen is in another CSV. `facts` tell how it was made."""
    title = titled(table, recipe, found)
    made = tables.lined([("", ""), *in_markdown(facts)]) + "\n" if facts else ""
    texts = {
        ".md": "\n".join(filter(None, (tables.markdown(title, found), choices.markdown(chosen), made))),
        ".csv": tables.table(str(table), recipe, found),
        ".tex": tables.latex(title, found, facts),
        ".html": _page(table, found, recipe, chosen, dict(facts)),
    }
    if chosen:
        texts["-chosen.csv"] = choices.table(str(table), recipe, chosen)
    stem = f"{table.paper.folder.name}-{table.name}-{recipe}"
    for end, text in texts.items():
        write(out / f"{stem}{end}", text)
    return [out / f"{stem}{end}" for end in texts]


def titled(table: Table, recipe: Recipe, found: Sequence[Beside]) -> str:
    """What a table is of, in one line."""
    return f"{table}, recipe {recipe} ({RECIPES[recipe]}); epoch of ours: {reported(found)}"


def reported(found: Iterable[Beside]) -> str:
    """Which epochs speak for the cells of a table."""
    return ", ".join(sorted({each.reported for each in found}))


def published_over(protocol: Mapping[str, Any]) -> str:
    """How many runs the published figures are of."""
    stated = "" if protocol.get("seeds_stated", True) else " (assumed, for it is not stated)"
    return f"over {protocol['seeds']} seeds{stated} where a spread is printed, else one"


def ours_over(found: Iterable[Beside]) -> str:
    """How many runs ours are of."""
    runs = sorted({each.reached.runs for each in found if each.reached})
    return f"over {' or '.join(map(str, runs))} seeds" if runs else "nothing yet"


def _trained(group: Group, seeds: int) -> str:
    same: dict[tuple[int, str], list[str]] = {}  # what is trained, before it under how many noises -> as what it counts
    for label in dict.fromkeys(cell.method for cell in group.cells):
        own = [(cell.noise, group.job(cell).methods) for cell in group.cells if cell.method == label]
        same.setdefault((len({noise for noise, _ in own}), repr(own)), []).append(_quoted(label))
    methods: dict[int, list[str]] = {}  # by the number of noises
    for (noises, _), labels in same.items():
        methods.setdefault(noises, []).append(" = ".join(labels))
    parts = [f"{', '.join(names)} × {counted(noises, 'noise')}" for noises, names in methods.items()]
    together = f"({'; '.join(parts)})" if parts[1:] else parts[0]
    net = group.job(group.cells[0]).net.name
    return f"{group.cells[0].data}, {net}: {together} × {counted(seeds, 'seed')}"


def _quoted(label: str) -> str:
    # where it would read as two
    return f'"{label}"' if "," in label else label


def _counts(part: Left, epochs: str, time: str) -> str:
    there = f"{counted(part.there, 'run')} {'is' if part.there == 1 else 'are'} there already" if part.there else ""
    search = f" ({part.tried} of a search)" if part.tried else ""
    done = f" of which {part.begun} are done," if part.begun else ""
    new = f"{counted(part.runs, 'run')}{search}{epochs},{done} about {time}" if part.runs else "0 runs"
    return "; ".join(filter(None, (new, there)))


def _page(
    table: Table, found: Sequence[Beside], recipe: Recipe, chosen: Sequence[Choice], made: Mapping[str, str]
) -> str:
    facts = table.paper.facts
    protocol = facts["protocol"]
    told = {
        "paper": facts["title"],
        "recipe": f"{recipe}: {RECIPES[recipe]}",
        "reported": reported(found),
        "ours": ours_over(found),
        "published": published_over(protocol),
        "chosen": protocol["chosen"],
        **made,
    }
    return fill(
        "reproduced.html",
        str(table),
        counts=tables.counts(found),
        facts=told,
        remarks=list(tables.unlike(found)),
        parts=list(parts(found)),
        chosen={"head": choices.HEAD, "rows": list(choices.rows(chosen))},
        deviations=facts["deviations"],
    )


def parts(found: Sequence[Beside]) -> Iterator[dict[str, Any]]:
    """Methods down, noises across, as papers have it: a table for each data set."""
    usual = Counter(each.reached.runs for each in found if each.reached).most_common(1)
    shown = {
        each.cell: _shown(each, *marks, usual=dict(usual))
        for each, marks in zip(found, tables.marks(found), strict=True)
    }
    for title in dict.fromkeys(tables.placed(cell) for cell in shown):
        cells = {(cell.method, cell.noise): text for cell, text in shown.items() if tables.placed(cell) == title}
        methods, noises = (list(dict.fromkeys(key[place] for key in cells)) for place in (0, 1))
        rows = [(method, [cells.get((method, noise)) for noise in noises]) for method in methods]
        yield {"title": title, "noises": noises, "rows": rows, "rates": [_rate(found, title, each) for each in noises]}


def _rate(found: Sequence[Beside], title: str, noise: str) -> float | None:
    # of wrong labels in a column
    here = [each for each in found if (tables.placed(each.cell), each.cell.noise) == (title, noise)]
    rates = [each.noise_rate for each in here if each.noise_rate is not None]
    return mean(rates) if rates else None


def _shown(each: Beside, best: bool, published_best: bool, *, usual: Collection[int]) -> dict[str, Any]:
    off = "" if each.within is not False else " !"
    return {
        "ours": "–" if each.reached is None else str(each.reached),
        "published": "–" if each.published is None else str(each.published),
        "difference": "" if each.difference is None else f"{each.difference:+.2f}{off}",
        "verdict": {True: "within", False: "off", None: ""}[each.within],
        "runs": _counted(each, usual),
        "best": best,
        "published_best": published_best,
    }


def _counted(each: Beside, usual: Collection[int]) -> str:
    # how many runs, where it is not as many as usual
    runs = each.reached.runs if each.reached else 0
    if each.failed:
        return f"{each.failed} of {runs + each.failed} runs failed"
    if each.missing and runs:
        return f"{runs} of {runs + each.missing} runs"
    return "" if runs in usual or not runs else counted(runs, "run")
