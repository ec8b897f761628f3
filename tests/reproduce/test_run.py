import os
import signal
from multiprocessing import get_context
from statistics import mean, stdev

import pytest
import torch

from labelnoise import compare_methods
from labelnoise.errors import InputError
from labelnoise.report.summary import summarise
from labelnoise.reproduce import choices, outcomes
from labelnoise.reproduce.asked import Table
from labelnoise.reproduce.kept import OUTCOMES, besides, made
from labelnoise.reproduce.run import WORK, Place, reproduce
from labelnoise.results.store import Store
from labelnoise.sweep.run import Display

CPU = torch.device("cpu")


class Counting(Display):
    def __init__(self):
        self.runs = 0

    def begin(self, name, runs, epochs, done):
        self.runs += runs


def reproduced(paper, out, table="table1", *, seeds=2, recipe="paper", display=None):
    display, cells = display or Counting(), paper.published(table)
    found = reproduce(Table(paper, table), cells, seeds=seeds, recipe=recipe, at=Place(out, CPU, display))
    return found, display.runs


def test_cells_have_the_figures_of_plain_comparisons(tiny, tmp_path):
    found, _ = reproduced(tiny, tmp_path / "out")
    for each in found:
        cell = each.cell
        done = compare_methods(
            "digits",
            settings=tiny.settings(cell.data, cell.noise, [cell.method]) | {"seeds": 2},
            out=tmp_path / f"{cell.method}-{cell.noise.replace(':', '-')}",
        )
        (row,) = done.summary.rows
        for rule, values in row.accuracies.items():
            assert each.ours[rule].mean == pytest.approx(100 * mean(values))
            assert each.ours[rule].std == pytest.approx(100 * stdev(values))


def test_what_was_trained_is_not_trained_again_also_without_its_records(tiny, tmp_path):
    out = tmp_path / "out"
    first, runs = reproduced(tiny, out)
    assert runs == 8
    (out / WORK).rename(tmp_path / "elsewhere")
    again, runs = reproduced(tiny, out)
    assert (again, runs) == (first, 0)


def test_more_seeds_add_to_what_is_there(tiny, tmp_path):
    out = tmp_path / "out"
    reproduced(tiny, out, seeds=1)
    found, runs = reproduced(tiny, out, seeds=2)
    assert runs == 4
    assert found == reproduced(tiny, tmp_path / "at_once")[0]


@pytest.mark.parametrize(("recipe", "kills"), [("paper", (3, 9, 17)), ("paper-search", (3, 17, 31))])
def test_killed_and_typed_again_three_times_the_table_is_the_same(tiny, tmp_path, recipe, kills):
    whole, _ = reproduced(tiny, tmp_path / "whole", recipe=recipe)
    out, ticks = tmp_path / "out", []

    class Killed(Counting):
        def tick(self, epoch, step, steps):
            ticks.append(1)
            if len(ticks) in kills:  # of a search within its points, after them, and within the last pack
                raise KeyboardInterrupt

    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            reproduced(tiny, out, recipe=recipe, display=Killed())
    assert reproduced(tiny, out, recipe=recipe)[0] == whole
    table, cells = Table(tiny, "table1"), tiny.published("table1")
    assert choices.read(table, cells, recipe, out) == choices.read(table, cells, recipe, tmp_path / "whole")


def test_what_is_finished_when_it_is_interrupted_is_kept_and_shown(tiny, tmp_path):
    whole, _ = reproduced(tiny, tmp_path / "whole")
    out, ticks = tmp_path / "out", []

    class Left(Counting):
        def tick(self, epoch, step, steps):
            ticks.append(1)
            if len(ticks) == 17:  # in the second pack
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduced(tiny, out, display=Left())
    (out / WORK).rename(tmp_path / "elsewhere")
    assert len(outcomes.read(out / OUTCOMES)) == 4
    assert besides(Table(tiny, "table1"), tiny.published("table1"), "paper", out)[:2] == whole[:2]
    found, runs = reproduced(tiny, out)
    assert (found, runs) == (whole, 4)


def test_a_process_that_dies_three_times_on_the_way_leaves_the_same_table(tiny, tmp_path):
    whole, _ = reproduced(tiny, tmp_path / "whole")
    out = tmp_path / "out"

    class Dying(Counting):
        def __init__(self, ticks):
            super().__init__()
            self.left = ticks

        def tick(self, epoch, step, steps):
            self.left -= 1
            if not self.left:
                os.kill(os.getpid(), signal.SIGKILL)  # nothing is saved or tidied up

    for ticks in (3, 9, 17):  # two in the first pack and one in the second
        child = get_context("fork").Process(target=reproduced, args=(tiny, out), kwargs={"display": Dying(ticks)})
        child.start()
        child.join()
        assert child.exitcode == -signal.SIGKILL
    assert reproduced(tiny, out)[0] == whole


def test_several_measures_come_from_the_same_runs(tiny, tmp_path):
    found, runs = reproduced(tiny, tmp_path / "out", "table2")
    assert runs == 2
    assert [each.cell.measure for each in found] == ["train/accuracy_true", "train/wrong_accuracy_given"]
    assert found[0].ours["last"].mean != found[1].ours["last"].mean


def test_recipes_are_kept_apart(tiny, tmp_path):
    out = tmp_path / "out"
    reproduced(tiny, out)
    _, runs = reproduced(tiny, out, recipe="fast")
    assert runs == 8
    assert len((out / OUTCOMES).read_text().splitlines()) == 16


def test_noises_are_not_mixed_by_a_report_of_the_folder(tiny, tmp_path):
    reproduced(tiny, tmp_path / "out", seeds=1)
    (folder,) = (tmp_path / "out" / WORK).iterdir()
    with pytest.raises(InputError, match="have several noises; `labelnoise reproduce` shows them"):
        summarise(Store.read(folder))


@pytest.fixture
def searched(tiny, tmp_path):
    return *reproduced(tiny, tmp_path / "searched", recipe="paper-search"), tmp_path / "searched"


def test_a_search_trains_each_point_once_and_the_best_with_the_other_seeds(searched):
    _, runs, out = searched
    assert runs == 2 * 2 + 2 * (3 + 1)  # cross-entropy with two seeds; three points, of which one goes on
    assert len(outcomes.read(out / OUTCOMES)) == runs


def test_a_cell_is_made_of_the_best_point_on_noisy_validation_after_the_last_epoch(tiny, searched):
    _, _, out = searched
    known, cells = outcomes.read(out / OUTCOMES), tiny.published("table1")
    for cell, whole in made(Table(tiny, "table1"), cells, "paper-search", out).items():
        points = [(known[run].measures["last"]["validation/accuracy_given"], run) for run in whole.tried]
        assert len(points) == {"CE": 0, "GCE": 3}[cell.method]
        winner = ()
        for point in points:
            if not winner or point[0] > winner[0]:
                winner = point
        assert whole.runs[0] in winner or not points
        first, second = (known[run].config for run in whole.runs)
        assert (first["method"], first["seed"], second["seed"]) == (second["method"], 0, 1)


def test_a_method_without_a_grid_is_trained_as_without_a_search(tiny, searched, tmp_path):
    found, _, _ = searched
    plain, _ = reproduced(tiny, tmp_path / "plain")
    assert [each for each in found if each.cell.method == "CE"] == [each for each in plain if each.cell.method == "CE"]


def test_a_search_goes_on_from_its_outcomes_alone(tiny, searched, tmp_path):
    found, _, out = searched
    (out / WORK).rename(tmp_path / "elsewhere")
    assert reproduced(tiny, out, recipe="paper-search") == (found, 0)


def test_in_a_searched_folder_the_authors_choice_is_a_table_of_its_own(tiny, searched):
    found, _, out = searched
    plain, _ = reproduced(tiny, out)
    cells, table = tiny.published("table1"), Table(tiny, "table1")
    assert besides(table, cells, "paper", out) == plain
    assert besides(table, cells, "paper-search", out) == found
    known, noted = outcomes.read(out / OUTCOMES), made(table, cells, "paper", out)
    assert [known[noted[cell].runs[0]].config["method"]["settings"]["q"] for cell in cells[2:]] == [0.4, 0.8]
