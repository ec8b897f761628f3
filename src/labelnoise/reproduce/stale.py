"""Whether runs that are kept were trained as the paper's recipe is written today: recipes are mended, records stay."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from labelnoise.config import Job, Named, digest
from labelnoise.configure import build, plain
from labelnoise.data.dataset import DATASETS
from labelnoise.data.standard.catalogue import CARDS
from labelnoise.errors import InputError
from labelnoise.nets.base import resolved
from labelnoise.noise import parse
from labelnoise.papers.paper import Cell, Paper
from labelnoise.reproduce.asked import Table
from labelnoise.reproduce.groups import Group, Recipe
from labelnoise.reproduce.kept import finished
from labelnoise.sweep.plan import set_by_rate, told

SECTIONS = ("data", "noise", "net", "train", "split")


def expected(paper: Paper, cell: Cell, recipe: Recipe) -> dict[str, Any]:
    """What the config of a cell's runs holds, without a look at the data; raises where the package lacks something.

    Not in it are the seed, and settings that go by the realised rate of wrong labels or are searched.
    """
    group = Group(paper, recipe, (cell,))
    job = group.job(cell)
    (method,) = job.methods
    settings, open_ones = told(method, None).settings, {*set_by_rate(method), *group.grid(cell)}
    own = {"name": method.name, "settings": {key: settings[key] for key in settings if key not in open_ones}}
    return _sections(plain(job)) | _noise(cell.noise, cell.data) | {"method": own}


def changed(today: Mapping[str, Any], config: Mapping[str, Any]) -> list[str]:
    """The sections in which a run's config is not what is expected today; what it does not know has its default."""
    method = told(Named(config["method"]["name"], config["method"]["settings"]), None)
    own = {key: value for key, value in method.settings.items() if key in today["method"]["settings"]}
    theirs = {**config, **_sections(config), "method": {"name": method.name, "settings": own}}
    return [key for key, value in today.items() if digest(value) != digest(theirs[key])]


def check(table: Table, cells: Sequence[Cell], recipe: Recipe, folder: Path) -> None:
    """Refuse a folder in which one of these cells is by an older form of the recipe."""
    for cell, runs in finished(table, cells, recipe, folder).items():
        today = expected(table.paper, cell, recipe) if runs else {}
        if keys := sorted({key for run in runs for key in changed(today, run.config)}):
            raise InputError(
                f"{folder} has {cell.method} on {cell.data}, {cell.noise}, by another recipe than {recipe} is today "
                f"(not the same: {', '.join(keys)}); train it too, delete its line in cells.jsonl, or choose another "
                "--out"
            )


def _sections(config: Mapping[str, Any]) -> dict[str, Any]:
    # what does not go by the method, with every setting written out
    job = build(Job, {key: config[key] for key in SECTIONS})
    tree, net = plain(job), {"name": job.net.name, "settings": resolved(job.net.name, job.net.settings)}
    return {key: tree[key] for key in SECTIONS} | {"net": net}


@cache  # a matrix of a hundred classes takes its time
def _noise(notation: str, data: str) -> dict[str, str]:
    card = CARDS.get(data.partition(":")[0])
    noise = parse(notation, card.classes if card else len(DATASETS.get(data)(0).classes), data)
    if card and card.on_request:  # some have a part of it, with fewer classes
        return {"noise": noise.definition}
    return {"noise": noise.definition, "transition": "" if noise.T is None else digest(noise.T.probs.tolist())}
