"""Committed records of trainings by the papers' recipes, against what the papers print."""

import json
from pathlib import Path
from statistics import mean, stdev

import pytest
from scipy.stats import ttest_ind_from_stats

from labelnoise import configure
from labelnoise.config import Job
from labelnoise.papers import paper
from labelnoise.report.summary import summarise
from labelnoise.reproduce.committed import committed
from labelnoise.results.store import Store
from labelnoise.speed.rows import ROWS
from labelnoise.speed.targets import targets

RESULTS = Path(__file__).parents[1] / "results"
COLUMNS = sorted(path.parent for path in RESULTS.glob("*/table*/*/config.json"))


def column(folder):
    """The paper, the published cells of this column, and accuracies in % after the last epoch by method."""
    source, store = paper(folder.parents[1].name), Store.read(folder)
    base = store.facts["base"]
    cells = {
        source.method(cell.method, cell.data, cell.noise).name: cell
        for cell in source.published(folder.parent.name)
        if folder.name == f"{cell.data}-{cell.noise.replace(':', '-')}"
    }
    reached = {row.method: [100 * each for each in row.accuracies["last"]] for row in summarise(store).rows}
    return source, cells, reached, base


def test_the_columns_hold_what_the_readme_says():
    found = {
        (folder.parent.name, folder.name): sorted(
            (run.config["method"]["name"], run.config["seed"]) for run in Store.read(folder).runs().values()
        )
        for folder in COLUMNS
    }
    runs = [(method, seed) for method in ("ce", "gce", "logistic_normal") for seed in range(3)]
    assert found == {("table1", f"mnist-{noise}-0.4-exact"): runs for noise in ("asymmetric", "random")}


def test_every_committed_run_says_by_which_code_it_was_made_where_and_when():
    runs = [run for table in committed(RESULTS) for cell in table.cells for run in cell.runs]
    assert [run.run for run in runs if not (run.commit and run.facts["device"] and run.facts["finished"])] == []


@pytest.mark.parametrize("folder", COLUMNS, ids=lambda folder: folder.name)
def test_no_measured_cell_differs_from_the_published_one_at_one_per_cent(folder):
    source, cells, reached, _ = column(folder)
    for method, values in reached.items():
        cell = cells[method]
        theirs = (cell.mean, cell.std, source.facts["protocol"]["seeds"])
        p = ttest_ind_from_stats(mean(values), stdev(values), len(values), *theirs).pvalue
        assert p >= 0.01, f"{cell.method}: {mean(values):.2f} against {cell.mean}"


@pytest.mark.parametrize("folder", COLUMNS, ids=lambda folder: folder.name)
def test_records_were_made_by_the_papers_recipe(folder):
    source, cells, _, base = column(folder)
    cell = next(iter(cells.values()))
    job = configure.build(Job, source.settings(cell.data, cell.noise, ["CE"]))
    assert base["noise"].replace(":patrini", "") == job.noise
    assert base["net"]["name"] == job.net.name
    for key in ("train", "split"):
        assert configure.build(Job, {key: base[key]}) == configure.build(Job, {key: configure.plain(job)[key]})
    for run in Store.read(folder).runs().values():
        own = cells[run.config["method"]["name"]]
        chosen = source.method(own.method, own.data, own.noise).settings
        assert {key: run.config["method"]["settings"][key] for key in chosen} == dict(chosen)


def test_every_row_of_speed_that_has_a_target_is_measured():
    reports = [json.loads(path.read_text()) for path in (RESULTS / "speed").glob("*.json")]
    rows = [(name, row) for report in reports for name, row in report["rows"].items()]
    measured = {name for name, row in rows if any(figure.get("targets") for figure in row["figures"])}
    keys = ("one", "many", "seconds", "rate", "host", "again")
    wanted = {row for row in ROWS if any(targets(row, key) for key in keys)}
    assert measured == wanted
