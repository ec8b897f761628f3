import pytest

from labelnoise.errors import InputError
from labelnoise.reproduce.gallery import gallery


def test_a_computed_figure_is_shown_with_its_command(tmp_path):
    folder = tmp_path / "results" / "logistic_normal" / "fig2-paper"
    folder.mkdir(parents=True)
    (folder / "a.svg").write_text("<svg/>")
    title, shows, picture, made = gallery(tmp_path / "results", "../results")
    assert title == "### logistic_normal/fig2"
    assert picture == f"![{shows}](../results/logistic_normal/fig2-paper/a.svg)"
    command = "`labelnoise reproduce logistic_normal/fig2`"
    assert made == f"{command}: computed, nothing is trained; a test draws it anew and compares."


def told(tmp_path):
    *_, made = gallery(tmp_path / "results", "..")
    return made


def test_a_trained_figure_says_of_which_runs_it_is_and_by_which_code(record_figure, tmp_path):
    record_figure("fig3", seeds=2)
    assert told(tmp_path) == (
        "`labelnoise reproduce sketch/fig3 --seeds 2 --out results/sketch/fig3-paper`: runs 8 of seeds 0, 1, finished "
        "2026-05-04, device cpu, execution packed, precision auto, software labelnoise 0.1, torch 2.11, commit c0ffee."
    )


def test_its_command_trains_no_more_than_was_trained(record_figure, tmp_path):
    record_figure("fig3", "fast", methods=["LS 0.2"])
    wishes = "--methods 'LS 0.2' --seeds 1 --recipe fast --out results/sketch/fig3-fast"
    assert told(tmp_path).startswith(f"`labelnoise reproduce sketch/fig3 {wishes}`: runs 2 of seeds 0, ")


def test_runs_that_no_cell_is_made_of_are_not_counted(record_figure, tmp_path):
    folder = record_figure("fig3")
    lines = (folder / "cells.jsonl").read_text().splitlines(keepends=True)
    (folder / "cells.jsonl").write_text("".join(line for line in lines if '"CE"' in line))
    assert "--methods CE --seeds 1" in told(tmp_path)
    assert ": runs 2 of seeds 0, " in told(tmp_path)


def test_a_picture_of_trainings_without_their_records_is_refused(record_figure, tmp_path):
    (record_figure("fig3") / "runs.jsonl").unlink()
    with pytest.raises(InputError, match="fig3-paper has a picture but no finished run of sketch/fig3"):
        told(tmp_path)


def test_without_pictures_there_is_nothing(tmp_path):
    assert list(gallery(tmp_path, "..")) == []
