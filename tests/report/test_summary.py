import json
from math import sqrt

import numpy as np
import pytest
import torch
from scipy.stats import ttest_ind

from labelnoise.config import digest
from labelnoise.engine import checkpoint
from labelnoise.report.summary import informed, significant, summarise, trials_of
from labelnoise.results.store import Store

ACCURACIES = {  # method -> seed -> test accuracy per epoch
    "gce": [[0.5, 0.875, 0.75], [0.25, 0.5, 0.625]],
    "ce": [[0.375, 0.25, 0.125], [0.5, 0.75, 0.25]],
}
SCORES = {"gce": [0.2, 0.4, 0.3], "ce": [0.3, 0.5, 0.4]}  # on noisy validation, so that the second epoch is selected
HISTORIES = {
    (method, seed): [
        {"test/accuracy_true": value, "validation/score": score}
        for value, score in zip(run, SCORES[method], strict=True)
    ]
    for method, runs in ACCURACIES.items()
    for seed, run in enumerate(runs)
}


def named(method, **settings):
    return {"name": method, "settings": settings}


def one_epoch(**values):
    """Histories of one epoch: method -> test accuracy per seed; the score is the same."""
    return {
        (method, seed): [{"test/accuracy_true": value, "validation/score": value}]
        for method, runs in values.items()
        for seed, value in enumerate(runs)
    }


def marks(fabricate, rule="selected", **values):
    seeds = len(next(iter(values.values())))
    store = fabricate([named(method) for method in values], seeds=seeds, histories=one_epoch(**values))
    return {row.label: row.not_worse[rule] for row in summarise(store).rows}


def test_rows_have_all_three_figures_ordered_by_seed(fabricate):
    rows = summarise(fabricate([named("gce"), named("ce")], seeds=2, histories=HISTORIES)).rows
    assert [(row.label, row.runs, row.failed) for row in rows] == [("gce", 2, 0), ("ce", 2, 0)]
    for row in rows:
        runs = np.array(ACCURACIES[row.method])
        expected = {"last": runs[:, -1], "selected": runs[:, 1], "oracle": runs.max(1)}
        assert row.accuracies == {rule: values.tolist() for rule, values in expected.items()}
        assert row.scores == [max(SCORES[row.method])] * 2


def test_the_winner_has_the_highest_score_on_noisy_validation_and_not_on_test(fabricate):
    summary = summarise(fabricate([named("gce"), named("ce")], seeds=2, histories=HISTORIES))
    assert summary.winner == "ce"
    assert summary.best is summary.rows[1]
    assert any("would choose ce" in note and "50.0 %" in note for note in summary.notes)


def test_failed_runs_are_counted_and_left_out(fabricate):
    failed = [("gce", 0), ("ce", 0), ("ce", 1)]
    summary = summarise(fabricate([named("gce"), named("ce")], seeds=2, histories=HISTORIES, failed=failed))
    assert [(row.runs, row.failed) for row in summary.rows] == [(1, 1), (0, 2)]
    assert summary.rows[0].accuracies["last"] == [0.625]
    assert summary.rows[1].accuracies["last"] == []
    assert any(note.startswith("3 runs have failed") for note in summary.notes)


def test_without_a_finished_run_nobody_wins(fabricate):
    assert summarise(fabricate([])).winner is None
    assert summarise(fabricate([named("ce")], seeds=1, failed=[("ce", 0)], folder="failed")).winner is None


def test_settings_of_one_method_are_told_apart_by_what_differs(fabricate):
    methods = [named("gce", q=0.5, k=0.0), named("gce", q=0.7, k=0.0), named("ce")]
    assert [row.label for row in summarise(fabricate(methods)).rows] == ["gce (q=0.5)", "gce (q=0.7)", "ce"]


def test_settings_that_look_alike_in_short_are_written_in_full(fabricate):
    near = [0.1234561, 0.1234562]
    labels = [row.label for row in summarise(fabricate([named("gce", q=q) for q in near])).rows]
    assert [float(label.removeprefix("gce (q=").removesuffix(")")) for label in labels] == near


def test_a_search_leaves_one_row_with_the_values_it_chose(fabricate):
    methods = [named("gce", q=0.25, k=1.0), named("gce", q=0.5, k=1.0), named("ce")]
    trials = [digest([method, 0]) for method in methods[:2]]
    searches, compared = {"gce": {"trials": trials, "chosen": trials[1]}}, [trials[1], digest([methods[2], 0])]
    store = fabricate(methods, seeds=1, searches=searches, compared=compared)
    assert [row.label for row in summarise(store).rows] == ["gce (q=0.5)", "ce"]


def test_trials_have_their_values_and_what_they_gave_on_the_test_part(fabricate):
    methods = [named("gce", q=0.25, k=1.0), named("ce", q=0.5, k=1.0)]
    trials = [digest([method, 0]) for method in methods]
    searches = {"gce": {"trials": trials, "chosen": trials[1]}}
    best, other = trials_of(fabricate(methods, seeds=1, histories=HISTORIES, searches=searches).contents())["gce"]
    assert (best.values, best.score, best.chosen) == ({"q": 0.5}, max(SCORES["ce"]), True)
    assert best.accuracies == {"last": 0.125, "selected": 0.25, "oracle": 0.375}
    assert other.accuracies == {"last": 0.75, "selected": 0.875, "oracle": 0.875}


def test_a_trial_that_failed_has_no_accuracy(fabricate):
    method = named("gce", q=0.25)
    searches = {"gce": {"trials": [digest([method, 0])], "chosen": ""}}
    (trial,) = trials_of(fabricate([method], seeds=1, failed=[("gce", 0)], searches=searches).contents())["gce"]
    assert (trial.score, trial.accuracies) == (None, {})


@pytest.mark.parametrize(
    ("absent", "note"),
    [
        ([], None),
        (["0"], "1 run asked for is missing, not finished or too large for the memory."),
        (["0", "1"], "2 runs asked for are missing, not finished or too large for the memory."),
    ],
)
def test_runs_that_were_asked_for_and_are_not_there_are_counted(fabricate, absent, note):
    method = named("gce")
    store = fabricate([method], seeds=1, compared=[digest([method, 0]), *absent])
    assert [each for each in summarise(store).notes if "missing" in each] == ([note] if note else [])


def asked(*runs):
    """Runs as a command notes them, each a method and a seed."""
    return {digest([method, seed]): {"method": method, "seed": seed} for method, seed in runs}


def test_runs_that_are_not_there_are_named_and_told_from_those_of_an_earlier_command(fabricate):
    ce, low, high = named("ce"), named("gce", q=0.5), named("gce", q=0.7)
    store = fabricate([ce], seeds=1)
    store.note_compared(asked((ce, 0), (low, 0), (low, 1), (high, 1)))
    store.note_compared(asked((ce, 0), (ce, 1)))
    assert [note for note in summarise(store).notes if "missing" in note] == [
        "1 run asked for is missing, not finished or too large for the memory: ce with seed 1.",
        "3 runs asked for by an earlier command are missing, not finished or too large for the memory: "
        "gce (q=0.5) with seeds 0, 1; gce (q=0.7) with seed 1.",
    ]


def test_a_run_that_was_compared_before_it_was_tried_in_a_search_still_counts(fabricate):
    methods = [named("gce", q=0.25), named("gce", q=0.5)]
    runs = [[digest([method, seed]) for seed in (0, 1)] for method in methods]
    searches = {"gce": {"trials": [runs[0][0], runs[1][0]], "chosen": runs[1][0]}}
    store = fabricate(methods, seeds=2, searches=searches, compared=[*runs[0], *runs[1]])
    assert [(row.label, row.runs) for row in summarise(store).rows] == [("gce (q=0.25)", 2), ("gce (q=0.5)", 2)]


def test_a_method_that_was_told_the_noise_rate_is_named(fabricate):
    methods = [named("co_teaching", forget=0.4, ramp=10), named("ce")]
    assert "co_teaching was told the noise rate (forget=0.4)." in summarise(fabricate(methods)).notes
    by_hand = [named("co_teaching", forget=0.1, ramp=10)]
    assert not any("told" in note for note in summarise(fabricate(by_hand, folder="by_hand")).notes)


def test_what_a_method_was_told_is_known_from_its_runs_where_its_file_is_not(fabricate):
    store = fabricate([named("mine", forget=0.4, width=3)])
    assert not any("told" in note for note in summarise(store).notes)
    wanted = {
        name: {"method": run.config["method"], "seed": 0, "told": ["forget"]} for name, run in store.runs().items()
    }
    store.note_compared(wanted)
    assert "mine was told the noise rate (forget=0.4)." in summarise(store).notes


def test_rows_whose_runs_were_not_made_alike_are_named(fabricate):
    store = fabricate([named("gce", q=0.5), named("gce", q=0.7)], seeds=2)
    assert not any("alike" in note for note in summarise(store).notes)
    path = store.folder / "gce-1" / "finished.json"
    facts = json.loads(path.read_text())
    for run in facts["runs"]:  # two more seeds of the first
        run["config"] |= {"method": named("gce", q=0.5), "seed": run["config"]["seed"] + 2}
    path.write_text(json.dumps(facts | {"versions": facts["versions"] | {"torch": "2.14.0"}}))
    (note,) = (note for note in summarise(Store.read(store.folder)).notes if "alike" in note)
    assert note == "gce: its runs were not made alike: torch 2.13.0 (2 runs), 2.14.0 (2 runs)."


def test_a_method_inside_another_that_was_told_the_noise_rate_is_named(fabricate):
    method = named("distillation", teacher="co_teaching(forget=0.4, ramp=3)")
    sentence = "distillation was told the noise rate (teacher=co_teaching(forget=0.4, ramp=3))."
    assert sentence in summarise(fabricate([method])).notes
    others = [named("distillation", teacher="co_teaching(forget=0.1)"), named("distillation", teacher="ce")]
    for place, other in enumerate(others):
        assert not any("told" in note for note in summarise(fabricate([other], folder=f"other{place}")).notes)


def searched(fabricate, gce, ce, **settings):
    """A store in which the first run of gce has won a search; values are scores by seed."""
    methods = [named("gce", q=0.5), named("ce")]
    won = digest([methods[0], 0])
    searches = {"gce": {"trials": [won, "another"], "chosen": won}}
    return fabricate(methods, seeds=len(ce), histories=one_epoch(gce=gce, ce=ce), searches=searches, **settings)


OWN_SEED = "Scores of the search's own seed are left out of this choice, for they won among many."


def test_the_run_that_won_a_search_does_not_decide_between_methods(fabricate):
    summary = summarise(
        searched(fabricate, gce=[0.9, 0.5, 0.6], ce=[0.6, 0.6, 0.6])
    )  # 0.67 with its luck, 0.55 without
    assert summary.winner == "ce"
    assert OWN_SEED in summary.notes
    assert summary.rows[0].scores == [0.9, 0.5, 0.6]


def test_the_note_on_the_choice_has_the_mean_that_decided(fabricate):
    notes = summarise(searched(fabricate, gce=[0.9, 0.7, 0.8], ce=[0.6, 0.6, 0.6])).notes
    assert any("would choose gce" in note and "agrees with 75.0 %" in note for note in notes)


def test_where_the_run_that_won_a_search_is_alone_it_decides(fabricate):
    summary = summarise(searched(fabricate, gce=[0.9], ce=[0.6]))
    assert summary.best is summary.rows[0]
    assert OWN_SEED not in summary.notes


def test_without_a_search_all_runs_decide(fabricate):
    histories = one_epoch(gce=[0.9, 0.5, 0.6], ce=[0.6, 0.6, 0.6])
    summary = summarise(fabricate([named("gce", q=0.5), named("ce")], histories=histories))
    assert (summary.best.label, OWN_SEED in summary.notes) == ("gce", False)


def test_rows_that_look_the_same_have_marks_of_their_own(fabricate):
    methods = [named("mixup", alpha=10), named("ce"), named("mixup", alpha=10.0)]
    store = fabricate(methods, seeds=2, histories=one_epoch(mixup=[0.6, 0.62], ce=[0.3, 0.32]))
    (failing,) = store.folder.glob("mixup-2/finished.json")
    failing.write_text(failing.read_text().replace('"failed": null', '"failed": [0, 1]', 1))
    rows = summarise(store).rows
    assert rows[0].label == rows[2].label
    assert [row.not_worse["last"] for row in rows] == [True, False, False]


@pytest.mark.parametrize(("gap", "differ"), [(0.060, False), (0.0608, False), (0.0609, True), (0.2, True)])
def test_two_runs_each_differ_where_the_closed_form_of_two_degrees_of_freedom_says_so(gap, differ):
    first, second = [0.5, 0.52], [0.5 + gap, 0.52 + gap]
    t = gap / (0.01 * sqrt(2))  # pooled variance 0.01² · 2, two runs each
    assert (1 - t / sqrt(2 + t * t) < 0.05) == differ
    assert significant(first, second) == differ


@pytest.mark.parametrize(("first", "second", "differ"), [([0.9] * 3, [0.9] * 3, False), ([0.9] * 3, [0.8] * 3, True)])
def test_groups_without_spread_differ_where_their_values_do(first, second, differ):
    assert significant(first, second) == differ


def test_marked_are_those_not_significantly_worse_than_the_best(fabricate):
    values = {"ce": [0.80, 0.82, 0.81], "gce": [0.90, 0.93, 0.91], "mixup": [0.88, 0.92, 0.90]}
    p = {name: ttest_ind(values[name], values["gce"], equal_var=True).pvalue for name in ("ce", "mixup")}
    assert p["ce"] < 0.05 < p["mixup"]
    assert marks(fabricate, **values) == {"ce": False, "gce": True, "mixup": True}


def test_the_test_pools_the_variances(fabricate):
    values = {"ce": [0.70, 0.90, 0.71, 0.72], "gce": [0.90, 0.90, 0.91, 0.90]}
    pooled = ttest_ind(values["ce"], values["gce"], equal_var=True).pvalue
    welch = ttest_ind(values["ce"], values["gce"], equal_var=False).pvalue
    assert pooled < 0.05 < welch
    assert marks(fabricate, **values) == {"ce": False, "gce": True}


def test_with_one_run_each_nothing_is_marked_and_it_is_said(fabricate):
    summary = summarise(fabricate([named("ce"), named("gce")], seeds=1))
    assert not any(mark for row in summary.rows for mark in row.not_worse.values())
    assert any(note.startswith("Nothing is marked") for note in summary.notes)


def test_a_method_with_one_run_left_is_not_tested_and_that_is_said(fabricate):
    values = {"ce": [0.5, 0.52], "gce": [0.6, 0.62], "mixup": [0.99, 0.99]}
    histories = one_epoch(**values)
    store = fabricate([named(name) for name in values], seeds=2, histories=histories, failed=[("mixup", 1)])
    summary = summarise(store)
    assert [row.not_worse["last"] for row in summary.rows] == [False, True, False]
    assert "Not tested, for want of a second run: mixup." in summary.notes


@pytest.mark.parametrize(
    ("truth", "reference"),
    [
        ("known", "true labels"),
        ("unknown", "given labels"),
        ("added", "the file's own labels, before noise was added"),
    ],
)
def test_it_says_which_labels_accuracies_are_against(fabricate, truth, reference):
    summary = summarise(fabricate(truth=truth, epochs=2))
    assert summary.reference == reference
    assert any("partly wrong themselves" in note for note in summary.notes) == (truth == "unknown")


def test_the_realised_noise_rate_is_the_mean_over_runs(fabricate):
    assert summarise(fabricate(epochs=2)).noise_rate == "40.5 % of the training labels are wrong"


def test_an_unknown_noise_rate_is_said_to_be_unknown(fabricate):
    summary = summarise(fabricate(truth="unknown", name="wine.csv", epochs=2))
    assert (summary.title, summary.noise_rate) == ("wine.csv", "noise rate unknown")


def test_a_small_validation_part_is_said_to_be_a_weak_judge(fabricate):
    notes = summarise(fabricate()).notes
    weak = "has only 180 rows: in one run a difference of less than about 7 points there may be chance."
    assert f"The validation part {weak}" in notes  # 100 / sqrt(180) = 7.45


def test_noise_that_was_added_is_not_called_all_that_is_wrong(fabricate):
    assert summarise(fabricate(truth="added")).noise_rate == "noise has changed 40.5 % of the training labels"


def test_a_large_validation_part_is_not_remarked_on(fabricate):
    store = fabricate()
    facts = store.folder / "config.json"
    facts.write_text(facts.read_text().replace('"validation": 180', '"validation": 500'))
    assert not any("validation part has only" in note for note in summarise(store).notes)


def test_runs_of_one_method_with_other_code_are_rows_of_their_own(fabricate):
    store = fabricate([named("mine")], seeds=2)
    (closing,) = store.folder.glob("*/finished.json")
    held = json.loads(closing.read_text())
    for run, code in zip(held["runs"], ("aaaa1111", "bbbb2222"), strict=True):
        run["config"]["code"] = code
    closing.write_text(json.dumps(held))
    assert [row.label for row in summarise(store).rows] == ["mine (code=aaaa)", "mine (code=bbbb)"]


def counted(fabricate, **counts):
    """The only row of a folder in which these counts were measured."""
    store = fabricate([named("ce")], seeds=1, epochs=2, classes=("no", "yes"))
    path = next(store.folder.glob("*/details.safetensors"))
    checkpoint.save(path, {name: torch.tensor([each]) for name, each in counts.items()}, {})
    return summarise(store).rows[0]


def test_what_predictions_tell_of_labels_is_judged_on_both_parts(fabricate):
    # 4, 1, 2, 3 of ten: joint .4 .1 / .2 .3 and product .3 .2 / .3 .2; then independent
    row = counted(fabricate, test_confusion=[[4, 2], [1, 3]], validation_counts=[[6, 21], [10, 35]])
    found = {name: value.tolist() for name, value in informed(row).items()}
    joint, product = np.array([0.4, 0.1, 0.2, 0.3]), np.array([0.3, 0.2, 0.3, 0.2])
    middle = (joint + product) / 2
    kl = (joint * np.log(joint / product)).sum()
    twice_js = (joint * np.log(joint / middle) + product * np.log(product / middle)).sum()
    assert found["FIT"] == [pytest.approx([(4 / 3 + 3 / 2) / 2, 1])]
    assert found["total variation"] == [pytest.approx([0.2, 0])]
    assert found["KL"] == [pytest.approx([kl, 0])]
    assert found["Jensen-Shannon"] == [pytest.approx([twice_js, 0])]


def test_a_class_that_is_never_predicted_is_left_out_of_fit(fabricate):
    row = counted(fabricate, test_confusion=[[5, 0], [5, 0]], validation_counts=[[5, 0], [0, 5]])
    assert informed(row)["FIT"].tolist() == [[1, 2]]


def test_without_counts_of_both_parts_nothing_is_told(fabricate):
    assert informed(counted(fabricate, test_confusion=[[5, 0], [5, 0]])) == {}


UNEVEN = {  # method -> label by prediction of three seeds
    "ce": [[[86, 4], [4, 6]], [[88, 2], [5, 5]], [[84, 6], [4, 6]]],
    "gce": [[[90, 0], [10, 0]], [[90, 0], [10, 0]], [[89, 1], [10, 0]]],
}


def uneven(fabricate, recount, counts=UNEVEN, **settings):
    methods = [named(method) for method in counts]
    return recount(fabricate(methods, classes=("no", "yes"), **settings), counts)


def test_where_classes_differ_much_in_size_balanced_accuracy_is_a_column_with_marks(fabricate, recount):
    summary = summarise(uneven(fabricate, recount))
    assert summary.columns == ("last", "selected", "oracle", "balanced")
    for row in summary.rows:
        expected = [(a / (a + b) + d / (c + d)) / 2 for (a, b), (c, d) in UNEVEN[row.method]]
        assert row.accuracies["balanced"] == pytest.approx(expected)
    assert [row.not_worse["balanced"] for row in summary.rows] == [True, False]


def test_where_classes_differ_much_in_size_it_says_what_the_largest_alone_would_give(fabricate, recount):
    expected = "Classes differ much in size: to predict nothing but class no would give 90.0 %, and 50.0 % balanced."
    assert expected in summarise(uneven(fabricate, recount)).notes


def test_classes_of_like_size_have_the_usual_columns(fabricate, recount):
    even = {"ce": [[[30, 20], [20, 30]]] * 3, "gce": [[[40, 10], [10, 40]]] * 3}
    summary = summarise(uneven(fabricate, recount, even))
    assert summary.columns == ("last", "selected", "oracle")
    assert not any("Classes differ" in note for note in summary.notes)


def test_there_is_no_balanced_column_where_some_runs_were_not_counted(fabricate, recount):
    store = uneven(fabricate, recount)
    next(store.folder.glob("ce-*/details.safetensors")).unlink()
    assert "balanced" not in summarise(Store.read(store.folder)).columns


def test_a_failed_run_is_in_no_balanced_figure(fabricate, recount):
    row = summarise(uneven(fabricate, recount, failed=[("ce", 1)])).rows[0]
    assert len(row.accuracies["balanced"]) == row.runs == 2


def test_a_method_that_never_predicts_a_class_is_named(fabricate, recount):
    assert [note for note in summarise(uneven(fabricate, recount)).notes if "never" in note] == [
        "On the test part gce never predicts class yes (in 2 of 3 runs)."
    ]
