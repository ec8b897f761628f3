from dataclasses import replace
from io import StringIO
from statistics import mean, stdev

import pytest
from rich.console import Console

from labelnoise.report.summary import Row, Summary
from labelnoise.report.tables import markdown, show, spread, table

ACCURACIES = {"ce": [0.25, 0.5, 0.75], "gce [q=0.5]": [0.875, 0.75, 0.8125]}


def row(label, values, *, best=False, failed=0):
    rules = ("last", "selected", "oracle")
    figures = {rule: [value / (place + 1) for value in values] for place, rule in enumerate(rules)}
    return Row(label, label, {}, len(values), failed, figures, values, dict.fromkeys(rules, best), ())


def summary(rows, **changes):
    facts = {"title": "digits, noise symmetric:0.4", "reference": "true labels", "noise_rate": "40.4 % are wrong"}
    return Summary(**facts | changes, rows=rows, best=rows[0], notes=["Marked: the best.", "A note."])


def printed(shown, width=100):
    text = StringIO()
    show(shown, Console(file=text, width=width))
    return text.getvalue()


ROWS = [row(label, values, best=label != "ce") for label, values in ACCURACIES.items()]


@pytest.mark.parametrize("values", [(0.5, 0.25), (0.871, 0.913, 0.925), (1.0, 1.0, 1.0, 1.0)])
def test_spread_is_mean_and_sample_standard_deviation_in_per_cent(values):
    hundred = [100 * value for value in values]
    assert spread(values) == f"{mean(hundred):.1f} ± {stdev(hundred):.1f}"


def test_a_single_value_has_no_spread():
    assert spread([0.8734]) == "87.3"


def test_the_table_shows_every_method_with_its_figures_and_marks():
    text = printed(summary(ROWS))
    for label, values in ACCURACIES.items():
        line = next(line for line in text.splitlines() if f"│ {label} " in line)
        cells = [cell.strip() for cell in line.strip("│").split("│")]
        figures = [[100 * value / place for value in values] for place in (1, 2, 3)]
        mark = "" if label == "ce" else "* "
        assert cells == [label, "3", *(f"{mark}{mean(each):.1f} ± {stdev(each):.1f}" for each in figures)]


def test_the_columns_are_named_and_explained():
    assert [column.header for column in table(summary(ROWS)).columns] == [
        "method",
        "runs",
        "last",
        "selected",
        "oracle",
    ]
    text = printed(summary(ROWS))
    assert all(f"\n{name}: " in text for name in ("last", "selected", "oracle"))


def test_the_head_says_what_it_is_of_and_notes_come_below():
    head, labels, *_, mark, note = printed(summary(ROWS)).strip().splitlines()
    assert head == "digits, noise symmetric:0.4: 40.4 % are wrong"
    assert labels == "test accuracy in % against true labels, mean ± std over seeds"
    assert (mark, note) == ("*: the best.", "A note.")


def test_names_in_square_brackets_and_long_ones_are_printed_as_they_are():
    title = f"data, noise matrix:/{'long/' * 30}[bold]T.csv"
    assert f"{title}: 40.4 %" in printed(summary(ROWS, title=title), width=40)


def test_a_row_with_failed_runs_says_how_many_of_how_many():
    text = printed(summary([row("ce", [], failed=2), row("gce", [0.5], failed=1)]))
    assert "0 of 2 │    – │" in text
    assert "1 of 2 │ 50.0 │" in text


BALANCED = {"balanced": [0.5, 0.625, 0.75]}


def balanced(label, values, **settings):
    usual = row(label, values, **settings)
    return replace(
        usual, accuracies=usual.accuracies | BALANCED, not_worse=usual.not_worse | dict.fromkeys(BALANCED, True)
    )


def test_a_fourth_column_is_shown_and_explained_where_rows_have_it():
    shown = summary([balanced("ce", ACCURACIES["ce"])])
    assert [column.header for column in table(shown).columns][2:] == ["last", "selected", "oracle", "balanced"]
    text = printed(shown)
    assert "* 62.5 ± 12.5" in text
    assert "\nbalanced: mean over classes" in text
    assert "\nbalanced: " not in printed(summary(ROWS))
    assert markdown(shown).rstrip().endswith("| **62.5 ± 12.5** |")


def test_four_columns_fit_into_eighty_characters():
    text = printed(summary([balanced("logistic_normal", [0.91, 0.92, 0.93], best=True)]), width=80)
    (line,) = (line for line in text.splitlines() if "logistic_normal" in line)
    assert line.count("* 92.0 ± 1.0") == 1


def test_markdown_has_marked_figures_in_bold_and_no_stray_columns():
    *_, header, rule, plain, marked = markdown(summary([ROWS[0], row("a|b", [0.5, 0.5], best=True)])).splitlines()
    assert header == "| method | runs | last | selected | oracle |"
    assert rule.count("|") == header.count("|") == plain.count("|") == marked.replace(r"\|", "").count("|")
    assert marked == r"| a\|b | 2 | **50.0 ± 0.0** | **25.0 ± 0.0** | **16.7 ± 0.0** |"
