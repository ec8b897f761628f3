"""Committed records of trainings by the papers' recipes, against what the papers print."""

import json
from pathlib import Path

from labelnoise.reproduce.committed import committed
from labelnoise.speed.rows import ROWS
from labelnoise.speed.targets import targets

RESULTS = Path(__file__).parents[1] / "results"


def test_every_committed_run_says_by_which_code_it_was_made_where_and_when():
    runs = [run for table in committed(RESULTS) for cell in table.cells for run in cell.runs]
    assert [run.run for run in runs if not (run.commit and run.facts["device"] and run.facts["finished"])] == []


def test_committed_runs_are_of_code_that_is_committed_too():
    runs = [run for table in committed(RESULTS) for cell in table.cells for run in cell.runs]
    assert [run.run for run in runs if run.commit.endswith("-dirty")] == []


def test_what_differs_from_the_published_at_one_per_cent_has_a_reason():
    unexplained = []
    for table in committed(RESULTS):
        for cell in table.cells:
            chance = cell.beside.chance
            if chance is not None and chance < 0.01 and not cell.reason:
                sides = str(cell.beside.reached), str(cell.beside.published)
                unexplained.append((str(table.table), table.recipe, *cell.beside.cell[:3], *sides))
    assert unexplained == []


def test_every_row_of_speed_that_has_a_target_is_measured():
    reports = [json.loads(path.read_text()) for path in (RESULTS / "speed").glob("*.json")]
    rows = [(name, row) for report in reports for name, row in report["rows"].items()]
    measured = {name for name, row in rows if any(figure.get("targets") for figure in row["figures"])}
    keys = ("one", "many", "seconds", "rate", "host", "again")
    wanted = {row for row in ROWS if any(targets(row, key) for key in keys)}
    assert measured == wanted
