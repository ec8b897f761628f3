from statistics import mean, stdev

import pytest
import torch

from labelnoise import compare_methods
from labelnoise.errors import InputError
from labelnoise.report.summary import summarise
from labelnoise.reproduce.asked import Table
from labelnoise.reproduce.kept import OUTCOMES
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


def test_killed_and_typed_again_three_times_the_table_is_the_same(tiny, tmp_path):
    whole, _ = reproduced(tiny, tmp_path / "whole")
    out, ticks = tmp_path / "out", []

    class Killed(Counting):
        def tick(self, epoch, step, steps):
            ticks.append(1)
            if len(ticks) in (3, 9, 17):
                raise KeyboardInterrupt

    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            reproduced(tiny, out, display=Killed())
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
