from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from labelnoise.report.tables import compare, show, spread, table
from labelnoise.results.record import Record

ACCURACIES = {  # method -> seed -> test accuracy per epoch
    "gce": [[0.5, 0.875, 0.75], [0.25, 0.5, 0.625]],
    "ce": [[0.375, 0.25, 0.125], [0.5, 0.75, 0.25]],
}
SCORES = [0.2, 0.4, 0.3]  # on noisy validation, so that the second epoch is selected
RECORDS = [
    Record(f"{method}{seed}", method, seed, "train", epoch, {"test/accuracy_true": value, "validation/score": score})
    for method, runs in ACCURACIES.items()
    for seed, run in enumerate(runs)
    for epoch, (value, score) in enumerate(zip(run, SCORES, strict=True))
]


def printed(records, rates=(0.4,), width=100, what="digits, noise symmetric:0.4"):
    text = StringIO()
    show(records, what, rates, Console(file=text, width=width))
    return text.getvalue()


def test_rows_come_in_the_order_of_the_records_with_all_three_figures():
    rows = compare(RECORDS)
    assert [(row.method, row.runs) for row in rows] == [("gce", 2), ("ce", 2)]
    for row in rows:
        runs = np.array(ACCURACIES[row.method])
        expected = {"last": runs[:, -1], "selected": runs[:, 1], "oracle": runs.max(1)}
        assert row.accuracies == {rule: values.tolist() for rule, values in expected.items()}


@pytest.mark.parametrize("values", [(0.5, 0.25), (0.871, 0.913, 0.925), (1.0, 1.0, 1.0, 1.0)])
def test_spread_is_mean_and_sample_standard_deviation_in_per_cent(values):
    hundred = 100 * np.array(values)
    assert spread(values) == f"{hundred.mean():.1f} ± {hundred.std(ddof=1):.1f}"


def test_a_single_value_has_no_spread():
    assert spread([0.8734]) == "87.3"


def test_the_table_shows_every_method_with_its_figures():
    text = printed(RECORDS)
    line = next(line for line in text.splitlines() if "│ gce" in line)
    cells = [cell.strip() for cell in line.strip("│").split("│")]
    runs = 100 * np.array(ACCURACIES["gce"])
    figures = [runs[:, -1], runs[:, 1], runs.max(1)]
    assert cells == ["gce", "2", *(f"{each.mean():.1f} ± {each.std(ddof=1):.1f}" for each in figures)]


def test_the_columns_are_named_and_explained():
    header = table(compare(RECORDS)).columns
    assert [column.header for column in header] == ["method", "runs", "last", "selected", "oracle"]
    text = printed(RECORDS)
    assert all(f"\n{name}: " in text for name in ("last", "selected", "oracle"))


def test_the_realised_noise_rate_is_printed():
    assert "digits, noise symmetric:0.4: 39.5 % of the training labels are wrong" in printed(RECORDS, (0.385, 0.405))


def test_an_unknown_noise_rate_is_said_to_be_unknown():
    assert "noise rate unknown" in printed(RECORDS, ())


@pytest.mark.parametrize(("measure", "labels"), [("test/accuracy_true", "true"), ("test/accuracy_given", "given")])
def test_it_says_which_labels_accuracies_are_against(measure, labels):
    measures = {measure: 0.5, "validation/score": 0.5}
    assert f"against {labels} labels" in printed([Record("r", "ce", 0, "train", 0, measures)])


def test_names_in_square_brackets_and_long_ones_are_printed_as_they_are():
    what = f"data, noise matrix:/{'long/' * 30}[bold]T.csv"
    assert f"{what}: 40.0 %" in printed(RECORDS, what=what, width=40)


def test_without_records_the_table_is_empty():
    assert compare([]) == []
    assert "method" in printed([])


def test_failed_runs_are_counted_and_left_out():
    records = [
        Record("good", "ce", 0, "train", 0, {"validation/score": 0.5, "test/accuracy_true": 0.9}),
        Record("bad", "ce", 1, "train", 0, {"validation/score": 0.5, "test/accuracy_true": 0.1}),
    ]
    rows = compare(records, {"bad": "ce", "worse": "gce"})
    assert [(row.method, row.runs, row.failed, row.accuracies["last"]) for row in rows] == [
        ("ce", 1, 1, [0.9]),
        ("gce", 0, 1, []),
    ]


def test_a_row_with_failed_runs_says_how_many_of_how_many():
    cells = list(table(compare([], {"bad": "ce"})).columns[1].cells)
    assert cells == ["0 of 1"]
