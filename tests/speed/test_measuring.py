import json
import math

import pytest
import torch

from labelnoise.errors import InputError
from labelnoise.speed.cases import Bench
from labelnoise.speed.figure import Figure
from labelnoise.speed.measuring import machine, measure, selected
from labelnoise.speed.rows import ROWS, Row

CPU = torch.device("cpu")
BENCH = Bench(CPU, 0.0)


def row(*figures):
    return Row("a row", lambda bench: iter(figures))


def broken(bench):
    raise RuntimeError("broken")


def test_without_a_name_all_rows_are_selected():
    assert selected(()) == dict(ROWS)


def test_some_rows_come_in_the_order_of_the_list():
    assert list(selected(("noise", "lenet5-ce"))) == ["lenet5-ce", "noise"]


def test_an_unknown_row_is_refused_with_a_sentence():
    with pytest.raises(InputError, match=r"there is no row 'noyse'; did you mean 'noise'\? .*--list"):
        selected(("noise", "noyse"))


def test_figures_are_said_as_they_come_and_written_as_json(tmp_path):
    said, path = [], tmp_path / "speed.json"
    measure(
        {"start": row(Figure("first", 1.5, "s", {"other": 2.0}), Figure("none", None, "s"))}, BENCH, said.append, path
    )
    assert said[1:] == ["start: a row", "  first                                1.50 s         2.00 × other", said[-1]]
    found = json.loads(path.read_text())
    assert [figure["value"] for figure in found["rows"]["start"]["figures"]] == [1.5, None]
    assert found["rows"]["start"]["figures"][0]["ratios"] == {"other": 2.0}


def test_the_file_says_what_the_figures_depend_on():
    found = machine(CPU)
    assert {"device", "cores", "threads", "versions", "commit", "command", "date"} <= set(found)
    assert found["versions"]["torch"] == torch.__version__


def test_finished_rows_are_kept_where_a_later_one_breaks(tmp_path):
    path = tmp_path / "speed.json"
    with pytest.raises(RuntimeError):
        measure({"a": row(Figure("x", 1.0, "s")), "b": Row("b", broken)}, BENCH, lambda _: None, path)
    assert list(json.loads(path.read_text())["rows"]) == ["a"]


def test_a_file_that_cannot_be_written_is_told_before_anything_is_measured(tmp_path):
    with pytest.raises(InputError):
        measure({"b": Row("b", broken)}, BENCH, lambda _: None, tmp_path / "missing" / "speed.json")


@pytest.mark.parametrize(("kind", "count"), [("cuda", 1), ("cpu", 0)])
def test_targets_are_told_on_a_gpu_alone(kind, count, monkeypatch):
    monkeypatch.setattr("labelnoise.speed.measuring.machine", lambda _: machine(CPU))
    said = []
    bench = Bench(torch.device(kind), 0.0)
    found = measure({"start": row(Figure("again", 10.0, "s", key="again"))}, bench, said.append)
    assert sum("wanted of an H200, at most 20: reached, 50 % of what is allowed" in line for line in said) == count
    assert len(found["rows"]["start"]["figures"][0].get("targets", [])) == count


def test_a_row_whose_data_are_absent_says_how_to_get_them_and_the_others_go_on(monkeypatch, tmp_path):
    monkeypatch.setenv("LABELNOISE_DATA", str(tmp_path))
    said = []
    rows = {"mnist": Row("needs data", broken, "mnist"), "b": row(Figure("x", 1.0, "s"))}
    found = measure(rows, BENCH, said.append)["rows"]
    assert "labelnoise data fetch mnist" in found["mnist"]["left out"]
    assert any(line.startswith("  left out: mnist is not in the data root") for line in said)
    assert found["b"]["figures"][0]["value"] == 1.0


def test_a_row_for_which_memory_is_short_keeps_its_figures_and_the_others_go_on():
    def short(bench):
        yield Figure("x", 1.0, "s")
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    said = []
    found = measure({"a": Row("a", short), "b": row(Figure("y", 2.0, "s"))}, BENCH, said.append)["rows"]
    assert [[figure["name"] for figure in each["figures"]] for each in found.values()] == [["x"], ["y"]]
    assert found["a"]["left out"] == "there is too little memory"
    assert "  left out: there is too little memory" in said


def test_a_real_row_gives_positive_finite_figures(monkeypatch):
    monkeypatch.setattr("labelnoise.speed.kernels.PASSES", 1)
    figures = measure(selected(("losses",)), Bench(CPU, 0.0), lambda _: None)["rows"]["losses"]["figures"]
    assert all(0 < figure["value"] < math.inf for figure in figures)
