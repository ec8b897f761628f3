import pytest

from labelnoise.errors import InputError
from labelnoise.papers import Cell
from labelnoise.reproduce.reasons import read

CELL = Cell("mnist", "random:0.4:exact", "LN, full", 70.67, 1.30, best=False)


@pytest.mark.parametrize(
    ("patterns", "fits"),
    [
        ("data: mnist", True),
        ("noise: random:*", True),
        ("noise: [none, random:0.4*], method: LN*", True),
        ("noise: random:0.4, data: mnist", False),
        ("table: table1, recipe: paper", True),
        ("table: table2", False),
        ("recipe: fast", False),
    ],
)
def test_a_reason_is_for_cells_that_have_one_pattern_of_each_key(patterns, fits, explain):
    (reason,) = read(explain(f"{{{patterns}, reason: Why not.}}"))
    assert (reason.sentence, reason.fits("table1", "paper", CELL)) == ("Why not.", fits)


def test_without_a_file_there_is_no_reason(tmp_path):
    assert read(tmp_path / "reasons.yaml") == []


def test_a_list_without_entries_has_no_reason(explain):
    assert read(explain()) == []


@pytest.mark.parametrize("entry", ["{data: mnist}", "{seed: 3, reason: Why not.}", "Why not."])
def test_what_is_no_reason_is_refused(entry, explain):
    with pytest.raises(InputError, match=r"reasons.yaml: an entry has a `reason` and some of table, recipe, data"):
        read(explain(entry))
