"""A paper as data: how its authors trained, what they searched and chose, and what they published.

Each has a folder with `paper.yaml` (recipes, grids, figures, deviations), `chosen.csv` (hyper-parameters) and a file of
cells for every table. Data sets and noises have the names of this package, methods those of the paper.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from pathlib import Path
from typing import Any, NamedTuple

from labelnoise.config import Named, Value
from labelnoise.configure import merge, read_yaml
from labelnoise.errors import InputError
from labelnoise.registry import nearest

HERE = Path(__file__).parent
ACCURACY = "test/accuracy_true"


class Cell(NamedTuple):
    """One published figure: mean and std over runs, in per cent."""

    data: str
    noise: str
    method: str  # as the paper calls it
    mean: float  # NaN in a figure that prints none, and of a variant that the paper has no figure of
    std: float | None  # None of a single run
    best: bool  # printed in bold
    net: str = ""  # where a table has several
    measure: str = ACCURACY  # as records name it
    highest: float | None = None  # of all runs, where that is printed too

    @property
    def printed(self) -> bool:
        """Whether there is a figure to compare with."""
        return not isnan(self.mean)


@dataclass(frozen=True)
class Paper:
    """What a folder says."""

    folder: Path
    facts: Mapping[str, Any]

    @property
    def tables(self) -> list[str]:
        """Names of the tables there are figures of."""
        return sorted(path.stem for path in self.folder.glob("table*.csv"))

    def published(self, table: str) -> list[Cell]:
        """The cells of a table as it is printed."""
        return [cell for cell in self.cells(table) if cell.printed]

    def cells(self, table: str) -> list[Cell]:
        """Those and variants of which there is no figure, such as a method as printed beside that of the code."""
        if table not in self.tables:
            raise InputError(f"paper {self.folder.name!r} has no {table!r}; {nearest(table, self.tables)}")
        return [
            Cell(
                data=row["data"],
                noise=row["noise"],
                method=row["method"],
                mean=float(row["mean"]) if row["mean"] else nan,
                std=_number(row["std"]),
                best=row["best"] == "1",
                net=row.get("net", ""),
                measure=row.get("measure", ACCURACY),
                highest=_number(row.get("highest", "")),
            )
            for row in _rows(self.folder / f"{table}.csv")
        ]

    def recipe(self, data: str, label: str, net: str = "", *, fast: bool = False) -> dict[str, Any]:
        """How the paper trains a method on these data: network (or another that it tries), training, split, seeds.

        The fast one has fewer epochs, as many for each network: `twice` names methods that train two in turn.
        """
        self._named(label)
        found = self._of(data, self.facts["recipes"])
        shown = {key: value for key, value in found.items() if key not in ("for", "settings", "nets")}
        own = [each for each in self.facts.get("training", []) if label in each["methods"]]
        anywhere = [{"train": each["train"]} for each in own if "for" not in each]
        here = [{"train": each["train"]} for each in own if data in each.get("for", [])]
        named = net or found.get("nets", {}).get(label)
        short = self._short(data, label) if fast else {}
        whole = merge(*anywhere, shown, *here, {"net": named} if named else {}, short)
        return {"data": data, **whole, "seeds": self.facts["protocol"]["seeds"]}

    def method(self, label: str, data: str, noise: str, *, fast: bool = False) -> Named:
        """A method by the paper's name for it, with the hyper-parameters that its authors chose here.

        The fast recipe has one setting for all noises.
        """
        named = self._named(label)
        own = self._of(data, self.facts["recipes"]).get("settings", {}).get(label, {})
        if fast:
            known = self._of(data, self.facts["fast"]).get("settings", {})
            chosen = known.get(self.facts["methods"][label].get("chosen", label), {})
        else:
            chosen = self._chosen(label, data, noise)
        return Named(named.name, {**named.settings, **own, **chosen})

    def grid(self, label: str, data: str) -> dict[str, tuple[Value, ...]]:
        """The values that the authors tried of each hyper-parameter; nothing of a method without any."""
        self._named(label)
        for each in self.facts["grids"]:
            if label in each["methods"] and data in each.get("for", [data]):
                return {name: tuple(values) for name, values in each["settings"].items()}
        return {}

    def settings(
        self, data: str, noise: str, methods: Sequence[str], net: str = "", *, fast: bool = False
    ) -> dict[str, Any]:
        """A comparison by the paper's recipe, as a tree of settings."""
        chosen = [self.method(label, data, noise, fast=fast) for label in methods]
        recipe, *others = [self.recipe(data, label, net, fast=fast) for label in methods]
        if len({each.name for each in chosen}) < len(chosen) or any(other != recipe for other in others):
            raise InputError(f"{', '.join(methods)}: variants, or trained differently, need comparisons of their own")
        return {**recipe, "noise": noise, "methods": {each.name: dict(each.settings) for each in chosen}}

    def _named(self, label: str) -> Named:
        known = self.facts["methods"]
        if label not in known:
            raise InputError(f"paper {self.folder.name!r} has no method {label!r}; {nearest(label, known)}")
        return Named(known[label]["name"], known[label].get("settings", {}))

    def _short(self, data: str, label: str) -> dict[str, Any]:
        found = self._of(data, self.facts["fast"])
        times = 2 if label in found.get("twice", ()) else 1
        return {"train": {**found["train"], "epochs": times * found["train"]["epochs"]}}

    def _of(self, data: str, recipes: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
        by_data = {name: each for each in recipes for name in each["for"]}
        if data not in by_data:
            raise InputError(f"paper {self.folder.name!r} has no recipe for {data!r}; {nearest(data, by_data)}")
        return by_data[data]

    def _chosen(self, label: str, data: str, noise: str) -> dict[str, Value]:
        label = self.facts["methods"][label].get("chosen", label)
        path = self.folder / "chosen.csv"
        searched = _rows(path) if path.exists() else []
        rows = [row for row in searched if (row["method"], row["data"]) == (label, data)]
        by_noise = {row["noise"]: row["settings"].split() for row in rows}
        if by_noise and noise not in by_noise:
            raise InputError(f"nothing was chosen for {label} on {data} under {noise!r}; {nearest(noise, by_noise)}")
        return {key: _setting(value) for key, value in (pair.split("=") for pair in by_noise.get(noise, ()))}


def papers() -> list[str]:
    """Names of all papers."""
    return sorted(path.parent.name for path in HERE.glob("*/paper.yaml"))


def paper(name: str) -> Paper:
    """The paper of this name."""
    if name not in (known := papers()):
        raise InputError(f"there is no paper {name!r}; {nearest(name, known)}")
    return Paper(HERE / name, read_yaml(HERE / name / "paper.yaml"))


def _number(text: str) -> float | None:
    return float(text) if text else None


def _setting(text: str) -> Value:
    # a number, or else a word
    try:
        return float(text)
    except ValueError:
        return text


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
