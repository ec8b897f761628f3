import csv
from dataclasses import replace
from io import StringIO
from math import nan

import pytest

from labelnoise.papers import Cell
from labelnoise.reproduce.beside import Beside, Spread
from labelnoise.reproduce.tables import HEAD, counts, latex, markdown, rows, table

CE = Cell("mnist", "random:0.4:exact", "CE", 70.67, 1.30, best=False)
LN = Cell("mnist", "random:0.4:exact", "LN_τ", 97.20, 0.10, best=True, net="lenet5")
CLEAN = Cell("mnist", "none", "CE", 99.00, None, best=False)
FOUND = [
    Beside(CE, {"last": Spread(71.0, 1.0, 3), "selected": Spread(90.0, 1.0, 3)}, "last", 5, failed=1),
    Beside(LN, {"last": Spread(95.0, 0.1, 3)}, "last", 5),
    Beside(CLEAN, {}, "last", 5),
]


def by_name(found):
    return [dict(zip(HEAD, row, strict=True)) for row in rows(found)]


def test_a_row_says_where_what_and_how_far_off():
    first, second, third = by_name(FOUND)
    assert (first["runs"], first["last"], first["selected"], first["oracle"]) == (
        "3 of 4",
        "71.00 ± 1.00",
        "90.00 ± 1.00",
        "–",
    )
    assert (first["difference"], first[""]) == ("+0.33", "–")  # near, but a run failed
    assert (second["data"], second["difference"], second[""]) == ("mnist, lenet5", "-2.20", "off")
    assert (third["runs"], third["ours"], third["difference"], third[""]) == ("0", "–", "–", "–")


def test_what_is_not_printed_has_our_figure_alone():
    (found,) = by_name([Beside(CE._replace(mean=nan, std=None), {"last": Spread(71.0, 1.0, 3)}, "last", 5)])
    assert (found["ours"], found["published"], found["difference"], found[""]) == ("71.00 ± 1.00 *", "–", "–", "–")


def test_published_stars_are_the_papers_and_ours_are_tested():
    first, second, _ = by_name(FOUND)
    assert (first["published"], second["published"]) == ("70.67 ± 1.30", "97.20 ± 0.10 *")
    assert (first["ours"], second["ours"]) == ("71.00 ± 1.00 *", "95.00 ± 0.10 *")  # each is alone in its column


def test_in_a_column_what_is_significantly_worse_has_no_star():
    together = [FOUND[0], Beside(LN._replace(net=""), FOUND[1].ours, "last", 5)]
    assert [row["ours"][-1] for row in by_name(together)] == ["0", "*"]


def test_a_spread_far_beyond_the_published_is_told():
    (found,) = by_name([Beside(CE, {"last": Spread(60.0, 20.0, 3)}, "last", 5)])
    assert found[""] == "within noise, wide spread"


def test_of_some_cells_the_stars_are_those_of_all():
    together = [FOUND[0], Beside(LN._replace(net=""), FOUND[1].ours, "last", 5)]
    assert [row[HEAD.index("ours")] for row in rows(together[:1], together)] == ["71.00 ± 1.00"]


def test_a_variant_of_ours_takes_no_star_from_methods_of_the_paper_and_has_none():
    best = Beside(CE._replace(mean=nan, std=None, method="mine"), {"last": Spread(99.0, 0.1, 3)}, "last", 5)
    assert [row["ours"] for row in by_name([FOUND[0], best])] == ["71.00 ± 1.00 *", "99.00 ± 0.10"]


def test_what_lacks_runs_says_how_many_it_should_have():
    (found,) = by_name([Beside(CE, {"last": Spread(71.0, 1.0, 3)}, "last", 5, missing=2)])
    assert found["runs"] == "3 of 5"


def test_beside_a_single_figure_within_noise_says_so():
    (found,) = by_name([Beside(CE._replace(std=None), {"last": Spread(71.0, 1.0, 3)}, "last", 5)])
    assert found[""] == "within noise, single figure"


def test_cells_whose_runs_were_not_made_alike_are_told_below():
    text = markdown("tiny/table1", [replace(FOUND[0], unlike="torch 2.11 (1 run), 2.12 (2 runs)")])
    told = "mnist, random:0.4:exact, CE: its runs were not made alike: torch 2.11 (1 run), 2.12 (2 runs)"
    assert text.splitlines()[-1] == told


def test_latex_says_in_comments_how_it_was_made():
    text = latex("tiny/table1", FOUND, [("command", "first\nsecond"), ("device", "cpu")])
    assert text.splitlines()[-3:] == ["% command: first", "% command: second", "% device: cpu"]


def test_markdown_has_a_line_for_each_cell():
    title, empty, *lines, _, legend = markdown("tiny/table1, recipe fast", FOUND).splitlines()
    assert (title, empty) == ("tiny/table1, recipe fast", "")
    assert len(lines) == 2 + len(FOUND)
    assert legend.startswith("*: not significantly worse than the best")
    assert {line.count("|") for line in lines} == {len(HEAD) + 1}


def test_latex_escapes_what_latex_would_read():
    text = latex("tiny/table1, recipe fast", FOUND)
    assert text.startswith("% tiny/table1, recipe fast\n")
    assert r"LN\_$\tau$" in text
    assert text.count(r"\\") == 1 + len(FOUND)


def test_numbers_are_there_for_programs():
    first, _, third = csv.DictReader(StringIO(table("tiny/table1", "fast", FOUND)))
    assert (first["table"], first["recipe"], first["method"], first["measure"]) == (
        "tiny/table1",
        "fast",
        "CE",
        "test/accuracy_true",
    )
    assert float(first["ours_mean"]) == 71.0
    assert float(first["difference"]) == pytest.approx(0.33)
    assert (first["within"], first["failed"], first["published_runs"]) == ("", "1", "5")
    assert (first["missing"], first["unlike"]) == ("0", "")
    assert (third["ours_mean"], third["within"], third["published_std"]) == ("", "", "")


def test_cells_are_counted():
    assert counts(FOUND) == "2 of 3 cells measured: 1 off, 1 not judged"
    assert counts([replace(FOUND[0], failed=0)]) == "1 of 1 cells measured: 1 within noise"
    alone = Beside(CLEAN, {"last": Spread(98.0, None, 1)}, "last", 5)
    assert counts([alone]) == "1 of 1 cells measured: 1 not judged"
    assert counts(FOUND[2:]) == "0 of 1 cells measured"


def test_the_share_of_labels_that_came_out_wrong_is_told():
    (found,) = by_name([Beside(CE, FOUND[0].ours, "last", 5, noise_rate=0.3604)])
    assert found["wrong labels"] == "36.0 %"
    (numbers,) = csv.DictReader(StringIO(table("tiny/table1", "fast", [Beside(CE, {}, "last", 5, noise_rate=0.3604)])))
    assert (numbers["noise_rate"], numbers["ours_best"], numbers["published_best"]) == ("0.3604", "0", "0")


@pytest.mark.parametrize("measure", ["test/ece_100", "train/wrong_accuracy_given"])
def test_of_errors_and_of_wrong_labels_learnt_the_least_is_the_best(measure):
    cells = [LN._replace(measure=measure, method=name) for name in ("LS", "FC")]
    found = [
        Beside(cell, {"selected": Spread(mean, 0.1, 3)}, "selected", 5)
        for cell, mean in zip(cells, (11, 15), strict=True)
    ]
    assert [row["ours"][-1] for row in by_name(found)] == ["*", "0"]
