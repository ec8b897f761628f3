"""What a folder of runs says: a row per method and settings, which of them are best, and what accuracy means there."""

import json
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import mean
from typing import Any, NamedTuple

import torch
from torch import Tensor

from labelnoise.config import Named
from labelnoise.data.rows import counted
from labelnoise.errors import InputError
from labelnoise.losses import divergence
from labelnoise.methods import METHODS
from labelnoise.metrics import balanced_accuracy, divergence_values
from labelnoise.metrics.fitness import fitness
from labelnoise.report.uneven import confusions, is_uneven, never_predicted, one_class_alone
from labelnoise.results.select import SELECTIONS, NoisyValidation, accuracy_on_test
from labelnoise.results.store import VARIOUS, Contents, Run, Store
from labelnoise.results.unlike import unlike
from labelnoise.sweep.plan import told_by_rate

SIGNIFICANCE = 0.05
CODE = 4  # digits of the digest of one's own code that are shown
FEW = 200  # rows of noisy validation below which its choice is a weak one
REFERENCE = {
    "known": "true labels",
    "added": "the file's own labels, before noise was added",
    "verified": "verified labels of the test part",
    "unknown": "given labels",
}
DIVERGENCES = {"total variation": "total_variation", "Jensen-Shannon": "jensen_shannon", "KL": "kl"}
BALANCED = "balanced"  # a column where classes differ much in size
COUNTED = {"test_confusion", "validation_counts"}
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
    accuracies: dict[str, list[float]]  # column -> one per run, ordered by seed; a column for each selection rule
    scores: list[float]  # on noisy validation, of the selected epoch of each run
    not_worse: dict[str, bool]  # column -> not significantly worse than the best of that column
    finished: tuple[Run, ...]  # the runs themselves, ordered by seed


@dataclass(frozen=True)
class Summary:
    """Everything a table says."""

    title: str
    reference: str  # what accuracies are measured against
    noise_rate: str  # a phrase
    rows: list[Row]  # in the order in which methods were finished
    best: Row | None  # which noisy validation would choose, by the highest mean score
    notes: list[str]  # what a reader must know beside the figures, a sentence each

    @property
    def columns(self) -> tuple[str, ...]:
        """What the figures of a row are called."""
        return tuple(self.rows[0].accuracies if self.rows else (rule.name for rule in SELECTIONS))

    @property
    def winner(self) -> str | None:
        """The label of the best row; another row may look the same."""
        return self.best.label if self.best else None


class Trial(NamedTuple):
    """Settings that a search has tried."""

    settings: str  # those that differ between its trials
    score: float | None  # on noisy validation; None of a run that has failed
    chosen: bool
    values: Mapping[str, Any]  # the same settings by name
    accuracies: Mapping[str, float]  # on the test part, by selection rule; nothing of a run that has failed


def summarise(store: Store) -> Summary:
    """The rows of a folder as it is now."""
    return summary_of(store.contents())


def summary_of(held: Contents) -> Summary:
    """The rows of what a folder holds: its runs but for those that a search has only tried."""
    if held.facts["base"]["noise"] == VARIOUS:
        raise InputError("runs of a published table have several noises; `labelnoise reproduce` shows them apart")
    counted = [run for run in held.runs.values() if run.identity in held.compared]
    groups: dict[str, list[Run]] = {}
    for run in counted:
        groups.setdefault(_key(run.config), []).append(run)
    labels = labelled([_described(group[0].config) for group in groups.values()], _searched(held))
    found = [_row(label, group) for label, group in zip(labels, groups.values(), strict=True)]
    uneven = _is_uneven(found)
    rows = _marked(list(map(_balanced, found)) if uneven else found)
    facts, noise = held.facts, held.facts["base"]["noise"]
    choice = _choose(rows, {search["chosen"] for search in held.searches.values()})
    return Summary(
        title=facts["data"]["name"] + ("" if noise == "none" else f", noise {noise}"),
        reference=REFERENCE[facts["data"]["truth"]],
        noise_rate=_noise(counted, facts["data"]["truth"]),
        rows=rows,
        best=choice.best if choice else None,
        notes=[
            *([one_class_alone(_counts(rows), facts["data"]["classes"])] if uneven else []),
            *cautions(held, rows),
            *_notes(rows),
            *_absent(held),
            *_choice_notes(rows, choice, facts["data"]["parts"]),
        ],
    )


def significant(first: Sequence[float], second: Sequence[float]) -> bool:
    """Whether two groups of at least two values differ, by the pooled two-sided t-test at 5 %."""
    from scipy.stats import ttest_ind

    if len({*first}) == len({*second}) == 1:  # no spread at all: the statistic would be 0 / 0
        return first[0] != second[0]
    with warnings.catch_warnings(action="ignore"):  # a group without spread
        return bool(ttest_ind(first, second, equal_var=True).pvalue < SIGNIFICANCE)


def trials_of(held: Contents) -> dict[str, list[Trial]]:
    """By method, what its search has tried, the best first."""
    found, differ = {}, _searched(held)
    for method, search in held.searches.items():
        runs = [held.runs[identity] for identity in search["trials"] if identity in held.runs]
        trials = [
            Trial(
                settings=described(run.config["method"]["settings"], differ[method]) or "as they are",
                score=None if run.failed else _score(run),
                chosen=run.identity == search["chosen"],
                values={name: run.config["method"]["settings"].get(name) for name in differ[method]},
                accuracies={} if run.failed else {r.name: accuracy_on_test(r.pick(run.records)) for r in SELECTIONS},
            )
            for run in runs
        ]
        found[method] = sorted(trials, key=lambda each: -1.0 if each.score is None else each.score, reverse=True)
    return found


def informed(row: Row) -> dict[str, Tensor]:
    """How much predictions tell of labels: values (runs, 2) by name, on the test part and on noisy validation.

    FIT is the mean of the diagonal, over classes that are predicted. Runs that lack counts are left out.
    """
    found = [run.details for run in row.finished if run.details.keys() >= COUNTED]
    if not found:
        return {}
    each = [torch.stack([one["test_confusion"].T, one["validation_counts"]]) for one in found]
    counts = torch.stack(each)  # (runs, 2, K, K), predicted class by label
    values = {name: divergence_values(counts, partial(divergence, name=kind)) for name, kind in DIVERGENCES.items()}
    return {"FIT": fitness(counts).diagonal(dim1=-2, dim2=-1).nanmean(-1), **values}


def described(settings: Mapping[str, Any], names: Collection[str], digits: int = 4) -> str:
    """Some settings in short, such as `q=0.5, warm_up=3`."""
    chosen = {name: settings[name] for name in names if name in settings}
    return ", ".join(f"{n}={v:.{digits}g}" if isinstance(v, float) else f"{n}={v}" for n, v in chosen.items())


def _searched(held: Contents) -> dict[str, list[str]]:
    # By method, the settings that differ between the trials of its search.
    runs = held.runs
    return {
        method: _differing([runs[each].config["method"]["settings"] for each in search["trials"] if each in runs])
        for method, search in held.searches.items()
    }


def _score(run: Run) -> float:
    return NoisyValidation().pick(run.records).measures["validation/score"]


def _key(config: Mapping[str, Any]) -> str:
    return json.dumps([config["method"], config.get("code")], sort_keys=True)


def _described(config: Mapping[str, Any]) -> dict[str, Any]:
    # The method, with the code of one's own as if it were a setting: it tells rows apart.
    method, code = config["method"], config.get("code")
    return {**method, "settings": {**method["settings"], **({"code": code[:CODE]} if code else {})}}


def _differing(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    names = dict.fromkeys(name for each in settings for name in each)
    return [name for name in names if len({json.dumps(each.get(name)) for each in settings}) > 1]


def labelled(methods: Sequence[Mapping[str, Any]], tried: Mapping[str, Sequence[str]]) -> list[str]:
    """A name for each of some methods with settings: with those that differ between them, or were tried."""
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
        scores=[_score(run) for run in finished],
        not_worse=dict.fromkeys((rule.name for rule in SELECTIONS), False),
        finished=finished,
    )


def _counts(rows: Sequence[Row]) -> list[Tensor]:
    return [each for row in rows for each in confusions(row.finished)]


def _is_uneven(rows: Sequence[Row]) -> bool:
    counts = _counts(rows)
    return 0 < len(counts) == sum(row.runs for row in rows) and is_uneven(counts)


def _balanced(row: Row) -> Row:
    # with the mean recall over classes of the selected epochs
    values = [balanced_accuracy(each).item() for each in confusions(row.finished)]
    return replace(row, accuracies={**row.accuracies, BALANCED: values}, not_worse={**row.not_worse, BALANCED: False})


def _marked(rows: Sequence[Row]) -> list[Row]:
    tested = _tested(rows)
    if len(tested) < 2:
        return list(rows)
    best = {name: max((row.accuracies[name] for row in tested), key=mean) for name in rows[0].accuracies}
    return [
        replace(row, not_worse={name: not significant(row.accuracies[name], values) for name, values in best.items()})
        if row.runs > 1
        else row
        for row in rows
    ]


def _tested(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.runs > 1]


class _Choice(NamedTuple):
    best: Row
    score: float  # its mean over the runs that decide
    left_out: bool  # whether some runs do not decide


def _choose(rows: Sequence[Row], chosen: Collection[str]) -> _Choice | None:
    # The run by which a search chose its settings is the luckiest of many: it decides only where it is alone.
    found = []
    for row in rows:
        fresh = [score for run, score in zip(row.finished, row.scores, strict=True) if run.identity not in chosen]
        if row.runs:
            found.append(_Choice(row, mean(fresh or row.scores), 0 < len(fresh) < row.runs))
    best = max(found, key=lambda choice: choice.score, default=None)
    return best and best._replace(left_out=any(choice.left_out for choice in found))


def _noise(runs: Sequence[Run], truth: str) -> str:
    rates = [run.noise_rate for run in runs if run.noise_rate is not None]
    if not rates:
        return "noise rate unknown"
    share = f"{100 * mean(rates):.1f} % of the training labels"
    return f"noise has changed {share}" if truth == "added" else f"{share} are wrong"


def cautions(held: Contents, rows: Sequence[Row]) -> list[str]:
    """What else than the method may make its figures, such as what it was told; and classes that it never predicts."""
    names = held.facts["data"]["classes"]
    found = [CAUTION] if held.facts["data"]["truth"] == "unknown" else []
    for row in rows:
        if by_rate := told_settings(held, row):
            found.append(f"{row.label} was told the noise rate ({described(by_rate, by_rate)}).")
        found += never_predicted(row.label, row.finished, names)
    differ = {row.label: unlike([run.pack.facts for run in row.finished]) for row in rows}
    return found + [f"{label}: its runs were not made alike: {what}." for label, what in differ.items() if what]


def told_settings(held: Contents, row: Row) -> dict[str, Any]:
    """The settings of a row that are what the noise rate makes them; of a method that is not known here, as noted."""
    rate = held.facts["data"]["told_rate"]
    if rate is None:
        return {}
    if row.method in METHODS:
        return told_by_rate(Named(row.method, row.settings), rate)
    noted = [held.asked.get(run.identity, {}).get("told", ()) for run in row.finished]
    return {name: row.settings[name] for name in (noted[0] if noted else ())}


def _notes(rows: Sequence[Row]) -> list[str]:
    notes = []
    tested = _tested(rows)
    if len(tested) > 1:
        notes.append(
            "Marked: not significantly worse than the best of the column, by the pooled two-sided t-test at 5 %; "
            "a wide spread can earn the mark too."
        )
    elif len(rows) > 1:
        notes.append("Nothing is marked: a test of significance needs at least two runs of at least two methods.")
    if len(tested) > 1 and (single := [row.label for row in rows if row.runs == 1]):
        notes.append(f"Not tested, for want of a second run: {', '.join(single)}.")
    if failed := sum(row.failed for row in rows):
        runs = "1 run has failed and is" if failed == 1 else f"{failed} runs have failed and are"
        notes.append(f"{runs} left out: the loss was no longer a number.")
    return notes


def _absent(held: Contents) -> list[str]:
    absent = held.compared - held.runs.keys()
    asked = {"": absent & held.latest, " by an earlier command": absent - held.latest}
    return [
        f"{counted(len(runs), 'run')} asked for{by} {'is' if len(runs) == 1 else 'are'} missing, not finished or too "
        f"large for the memory{_named(held, runs)}."
        for by, runs in asked.items()
        if runs
    ]


def _named(held: Contents, absent: Collection[str]) -> str:
    # such as ": gce with seeds 1, 2; mixup with seed 0", with settings where methods alone do not tell runs apart
    methods = {_key(config): _described(config) for config in held.asked.values()}
    labels = dict(zip(methods, labelled([*methods.values()], {}), strict=True))
    seeds: dict[str, list[str]] = {}
    for identity, config in held.asked.items():
        if identity in absent:
            seeds.setdefault(labels[_key(config)], []).append(str(config["seed"]))
    told = [f"{label} with seed{'s' * (len(each) > 1)} {', '.join(each)}" for label, each in seeds.items()]
    return f": {'; '.join(told)}" if told else ""


def _choice_notes(rows: Sequence[Row], choice: _Choice | None, parts: Mapping[str, int]) -> list[str]:
    if choice is None or len(rows) < 2:
        return []
    notes = [
        f"Noisy validation would choose {choice.best.label}: with the epochs chosen there it agrees with "
        f"{100 * choice.score:.1f} % of the given labels of the validation part, and no other with more."
    ]
    if choice.left_out:
        notes.append("Scores of the search's own seed are left out of this choice, for they won among many.")
    if parts["validation"] < FEW:
        points = 100 / parts["validation"] ** 0.5  # two standard errors of a share near one half
        notes.append(
            f"The validation part has only {parts['validation']} rows: in one run a difference of less than about "
            f"{points:.0f} points there may be chance."
        )
    return notes
