"""What a folder of runs says: a row per method and settings, which of them are best, and what accuracy means there."""

import json
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean
from typing import Any

from labelnoise.results.select import SELECTIONS, NoisyValidation, accuracy_on_test
from labelnoise.results.store import Run, Store

SIGNIFICANCE = 0.05
FEW = 200  # rows of noisy validation below which its choice is a weak one
REFERENCE = {
    "known": "true labels",
    "added": "the labels of the file, to which noise was added",
    "unknown": "given labels",
}
CAUTION = (
    "True labels are unknown: the given labels of the test part are partly wrong themselves, so these figures compare "
    "methods with each other and do not say how often a method is right."
)


@dataclass(frozen=True)
class Row:
    """The figures of one method with one choice of settings; failed runs are counted and left out."""

    label: str
    method: str
    settings: dict[str, Any]
    runs: int
    failed: int
    accuracies: dict[str, list[float]]  # selection rule -> one per run, ordered by seed
    scores: list[float]  # on noisy validation, of the selected epoch of each run
    not_worse: dict[str, bool]  # selection rule -> not significantly worse than the best of that column
    finished: tuple[Run, ...]  # the runs themselves, ordered by seed


@dataclass(frozen=True)
class Summary:
    """Everything a table says."""

    title: str
    reference: str  # what accuracies are measured against
    noise_rate: str  # a phrase
    rows: list[Row]  # in the order in which methods were finished
    winner: str | None  # label of the row with the highest mean score on noisy validation
    notes: list[str]  # what a reader must know beside the figures, a sentence each

    @property
    def best(self) -> Row | None:
        """The row that noisy validation would choose."""
        return next((row for row in self.rows if row.label == self.winner), None)


def summarise(store: Store, asked: Collection[str] = ()) -> Summary:
    """The rows of a folder: all runs but those that a search has tried and not chosen, unless they are `asked` for."""
    runs = store.runs()
    counted = [run for run in runs.values() if run.identity in asked or _is_row(run, store, runs)]
    groups: dict[str, list[Run]] = {}
    for run in counted:
        groups.setdefault(_key(run), []).append(run)
    told = _labels([group[0].config["method"] for group in groups.values()], searched(store, runs))
    rows = _marked([_row(label, group) for label, group in zip(told, groups.values(), strict=True)])
    facts = store.facts
    noise = facts["base"]["noise"]
    best = max((row for row in rows if row.runs), key=lambda row: mean(row.scores), default=None)
    return Summary(
        title=facts["data"]["name"] + ("" if noise == "none" else f", noise {noise}"),
        reference=REFERENCE[facts["data"]["truth"]],
        noise_rate=_noise(counted, facts["data"]["truth"]),
        rows=rows,
        winner=best.label if best else None,
        notes=([CAUTION] if facts["data"]["truth"] == "unknown" else []) + _notes(rows, best, facts["data"]["parts"]),
    )


def significant(first: Sequence[float], second: Sequence[float]) -> bool:
    """Whether two groups of at least two values differ, by the pooled two-sided t-test at 5 %."""
    from scipy.stats import ttest_ind

    if len({*first}) == len({*second}) == 1:  # no spread at all: the statistic would be 0 / 0
        return first[0] != second[0]
    with warnings.catch_warnings(action="ignore"):  # a group without spread
        return bool(ttest_ind(first, second, equal_var=True).pvalue < SIGNIFICANCE)


def searched(store: Store, runs: Mapping[str, Run]) -> dict[str, list[str]]:
    """By method, the settings that differ between the trials of its search."""
    found = {}
    for method, search in store.searches.items():
        trials = [runs[identity].config["method"]["settings"] for identity in search["trials"] if identity in runs]
        found[method] = _differing(trials)
    return found


def described(settings: Mapping[str, Any], names: Collection[str], digits: int = 4) -> str:
    """Some settings in short, such as `q=0.5, warm_up=3`."""
    chosen = {name: settings[name] for name in names if name in settings}
    return ", ".join(f"{n}={v:.{digits}g}" if isinstance(v, float) else f"{n}={v}" for n, v in chosen.items())


def _is_row(run: Run, store: Store, runs: Mapping[str, Run]) -> bool:
    search = store.searches.get(run.config["method"]["name"])
    if search is None or run.identity not in search["trials"]:
        return True
    return search["chosen"] in runs and _key(run) == _key(runs[search["chosen"]])


def _key(run: Run) -> str:
    return json.dumps(run.config["method"], sort_keys=True)


def _differing(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    names = dict.fromkeys(name for each in settings for name in each)
    return [name for name in names if len({json.dumps(each.get(name)) for each in settings}) > 1]


def _labels(methods: Sequence[Mapping[str, Any]], tried: Mapping[str, Sequence[str]]) -> list[str]:
    for digits in (4, 17):  # seventeen digits tell any two numbers apart
        labels = []
        for method in methods:
            name, settings = method["name"], method["settings"]
            own = _differing([other["settings"] for other in methods if other["name"] == name])
            shown = described(settings, dict.fromkeys([*own, *tried.get(name, ())]), digits)
            labels.append(f"{name} ({shown})" if shown else name)
        if len({*labels}) == len(labels):
            break
    return labels


def _row(label: str, runs: Sequence[Run]) -> Row:
    finished = tuple(sorted((run for run in runs if not run.failed), key=lambda run: run.config["seed"]))
    histories = [run.records for run in finished]
    method = runs[0].config["method"]
    return Row(
        label=label,
        method=method["name"],
        settings=method["settings"],
        runs=len(finished),
        failed=len(runs) - len(finished),
        accuracies={rule.name: [accuracy_on_test(rule.pick(each)) for each in histories] for rule in SELECTIONS},
        scores=[NoisyValidation().pick(each).measures["validation/score"] for each in histories],
        not_worse=dict.fromkeys((rule.name for rule in SELECTIONS), False),
        finished=finished,
    )


def _marked(rows: Sequence[Row]) -> list[Row]:
    marks: dict[str, dict[str, bool]] = {row.label: dict(row.not_worse) for row in rows}
    tested = _tested(rows)
    for rule in SELECTIONS if len(tested) > 1 else ():
        best = max((row.accuracies[rule.name] for row in tested), key=mean)
        for row in tested:
            marks[row.label][rule.name] = not significant(row.accuracies[rule.name], best)
    return [replace(row, not_worse=marks[row.label]) for row in rows]


def _tested(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.runs > 1]


def _noise(runs: Sequence[Run], truth: str) -> str:
    rates = [run.noise_rate for run in runs if run.noise_rate is not None]
    if not rates:
        return "noise rate unknown"
    share = f"{100 * mean(rates):.1f} % of the training labels"
    return f"noise has changed {share}" if truth == "added" else f"{share} are wrong"


def _notes(rows: Sequence[Row], best: Row | None, parts: Mapping[str, int]) -> list[str]:
    notes = []
    tested = _tested(rows)
    if len(tested) > 1:
        notes.append(
            "Marked: not significantly worse than the best of the column, by the pooled two-sided t-test at 5 %."
        )
    elif len(rows) > 1:
        notes.append("Nothing is marked: a test of significance needs at least two runs of at least two methods.")
    if len(tested) > 1 and (single := [row.label for row in rows if row.runs == 1]):
        notes.append(f"Not tested, for want of a second run: {', '.join(single)}.")
    if failed := sum(row.failed for row in rows):
        runs = "1 run has failed and is" if failed == 1 else f"{failed} runs have failed and are"
        notes.append(f"{runs} left out: the loss was no longer a number.")
    if best and len(rows) > 1:
        notes.append(
            f"Noisy validation would choose {best.label}: with the epochs chosen there it agrees with "
            f"{100 * mean(best.scores):.1f} % of the given labels of the validation part, and no other with more."
        )
    if best and len(rows) > 1 and parts["validation"] < FEW:
        points = 100 / parts["validation"] ** 0.5  # two standard errors of a share near one half
        notes.append(
            f"The validation part has only {parts['validation']} rows: in one run a difference of less than about "
            f"{points:.0f} points there may be chance."
        )
    return notes
