"""What remains of a run once it is trained: a line with the epochs that may speak for it, small enough to be kept.

Whoever has these lines need not train the runs again: they are found by identity, which is the hash of all settings.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

from labelnoise.errors import InputError
from labelnoise.files import write
from labelnoise.losses import divergence
from labelnoise.metrics import binned_ece, divergence_values
from labelnoise.papers.paper import ACCURACY
from labelnoise.results.record import Record
from labelnoise.results.select import SELECTIONS, TEST
from labelnoise.results.store import Run

AVERAGED = 10  # last epochs
BINS = 100  # of the calibration error
FACTS = ("device", "executor", "execution", "versions", "finished")  # of the pack that a run was trained in


@dataclass(frozen=True)
class Outcome:
    """One finished run."""

    run: str  # identity
    config: dict[str, Any]
    noise_rate: float | None  # realised, of its training labels
    failed: tuple[int, int] | None  # epoch and step at which its loss was no longer a number
    measures: dict[str, dict[str, float]]  # by rule: last, last_ten, selected, oracle; nothing of a run that failed
    epochs: dict[str, int]  # by rule, which epoch it was
    facts: dict[str, Any]  # where, by which software and when
    commit: str  # of the code

    def measured(self, rule: str, measure: str) -> float | None:
        """As a share; None where it is not known."""
        found = self.measures.get(rule, {})
        names = TEST if measure == ACCURACY else (measure,)
        value = next((found[name] for name in names if name in found), None)
        return None if value is None or math.isnan(value) else value


def outcome(run: Run) -> Outcome:
    """That of a run."""
    picked = {} if run.failed else {rule.name: rule.pick(run.records) for rule in SELECTIONS}
    measures = {rule: record.measures for rule, record in picked.items()}
    if picked:
        measures["last_ten"] = _averaged(run.records)
        for rule, prefix in (("last", "last_"), ("selected", "")):  # of these alone predictions are kept
            measures[rule] = measures[rule] | _calibration(run, prefix) | _divergence(run, prefix)
    return Outcome(
        run=run.identity,
        config=run.config,
        noise_rate=run.noise_rate,
        failed=run.failed,
        measures=measures,
        epochs={rule: record.epoch for rule, record in picked.items()},
        facts={name: run.pack.facts[name] for name in FACTS if name in run.pack.facts},
        commit=run.pack.facts.get("commit", ""),
    )


def read(path: Path) -> dict[str, Outcome]:
    """All outcomes of a file by identity; nothing where there is none."""
    if not path.exists():
        return {}
    try:
        found = [_outcome(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError, TypeError, AttributeError, KeyError) as problem:
        raise InputError(
            f"{path} is not a file of outcomes ({problem}); restore it, or delete it and type again"
        ) from None
    return {each.run: each for each in found}


def keep(path: Path, outcomes: Iterable[Outcome]) -> None:
    """Replace the file in one move, ordered by what was run."""
    ordered = sorted(outcomes, key=_place)
    write(path, "".join(f"{json.dumps(_plain(asdict(each)), sort_keys=True)}\n" for each in ordered))


def _place(each: Outcome) -> tuple[Any, ...]:
    config = each.config
    settings = json.dumps(config["method"]["settings"], sort_keys=True)
    return config["data"]["source"], config["noise"], config["method"]["name"], settings, config["seed"], each.run


def _averaged(history: Iterable[Record]) -> dict[str, float]:
    latest = sorted(history, key=lambda record: record.epoch)[-AVERAGED:]
    names = set.intersection(*(set(record.measures) for record in latest))
    return {name: mean(record.measures[name] for record in latest) for name in sorted(names)}


def _calibration(run: Run, prefix: str) -> dict[str, float]:
    bins = run.details.get(f"{prefix}test_bins")
    return {} if bins is None else {"test/ece_100": float(binned_ece(bins.double(), BINS))}


def _divergence(run: Run, prefix: str) -> dict[str, float]:
    # of predicted and true classes of the test part, by the divergence that the method maximises
    kind, counts = run.config["method"]["settings"].get("divergence"), run.details.get(f"{prefix}test_confusion")
    if kind is None or counts is None:
        return {}
    return {"test/divergence": float(divergence_values(counts, partial(divergence, name=kind)))}


def _plain(tree: Any) -> Any:
    # JSON has no NaN
    if isinstance(tree, Mapping):
        return {key: _plain(value) for key, value in tree.items()}
    return None if isinstance(tree, float) and not math.isfinite(tree) else tree


def _outcome(fields: dict[str, Any]) -> Outcome:
    measures = {
        rule: {name: math.nan if value is None else value for name, value in found.items()}
        for rule, found in fields["measures"].items()
    }
    failed = tuple(fields["failed"]) if fields["failed"] else None
    return Outcome(**fields | {"measures": measures, "failed": failed})
