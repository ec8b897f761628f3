import pytest

from labelnoise.errors import InputError
from labelnoise.reproduce.committed import committed

OFF = "{noise: symmetric:0.4, method: CE, reason: It learns wrong labels by heart.}"


def read(tmp_path):
    return committed(tmp_path / "results")


def test_every_folder_is_a_table_by_a_recipe_with_its_measured_cells(record, tmp_path):
    record()
    record({("GCE", "none"): (0.89,)}, "fast")
    fast, literal = read(tmp_path)
    assert (str(fast), str(literal)) == ("tiny/table1, recipe fast", "tiny/table1, recipe paper")
    assert [(each.cell.method, each.cell.noise, len(each.runs)) for each in literal.cells] == [
        ("CE", "none", 2),
        ("CE", "symmetric:0.4", 2),
    ]
    assert [each.cell.method for each in fast.cells] == ["GCE"]


def test_other_files_are_no_results(tmp_path):
    (tmp_path / "results" / "tiny" / "table1").mkdir(parents=True)
    assert read(tmp_path) == []


def test_a_table_of_which_no_run_is_finished_is_none_yet(record, tmp_path):
    (record() / "runs.jsonl").unlink()
    assert read(tmp_path) == []


def test_verdicts_are_counted(record, explain, tmp_path):
    record({("CE", "none"): (0.90, 0.91), ("CE", "symmetric:0.4"): (0.5, 0.52), ("GCE", "symmetric:0.4"): (0.2, 0.21)})
    explain(OFF)
    (found,) = read(tmp_path)
    assert {name: count for name, count in found.verdicts.items() if count} == {
        "within noise": 1,
        "off, reason suspected": 1,
        "off, no reason known": 1,
    }


def test_what_is_within_noise_by_a_far_wider_spread_is_counted_apart(tiny, record, tmp_path):
    path = tiny.folder / "table1.csv"
    path.write_text(path.read_text().replace("none,CE,90.0,1.0,1", "none,CE,90.0,0.1,1"))
    record({("CE", "none"): (0.70, 0.99)})
    (found,) = read(tmp_path)
    assert [each.verdict for each in found.cells] == ["within, wide spread"]


def test_what_is_within_noise_of_a_single_figure_is_counted_apart(tiny, record, tmp_path):
    path = tiny.folder / "table1.csv"
    path.write_text(path.read_text().replace("none,CE,90.0,1.0,1", "none,CE,90.0,,1"))
    record({("CE", "none"): (0.90, 0.91)})
    (found,) = read(tmp_path)
    assert [each.verdict for each in found.cells] == ["within, single figure"]


def test_what_is_near_while_a_run_has_failed_is_not_judged(record, tmp_path):
    record({("CE", "none"): (0.90, 0.91, None)})
    (found,) = read(tmp_path)
    assert [each.verdict for each in found.cells] == ["not judged"]


def test_a_cell_of_which_no_run_came_to_its_end_is_off(record, tmp_path):
    record({("CE", "none"): (None, None)})
    (found,) = read(tmp_path)
    assert [(each.off, each.beside.within) for each in found.cells] == [(True, None)]


def test_a_cell_whose_measure_was_not_taken_is_not_judged(tiny, record, tmp_path):
    path = tiny.folder / "table1.csv"
    path.write_text(path.read_text().replace("best\n", "best,measure\n").replace(",1\n", ",1,test/ece_100\n"))
    record({("CE", "none"): (0.90, 0.91)})
    (found,) = read(tmp_path)
    assert [(each.off, each.verdict) for each in found.cells] == [(False, "not judged")]


def test_a_reason_belongs_to_the_cells_it_is_for(record, explain, tmp_path):
    record()
    explain(OFF)
    (found,) = read(tmp_path)
    assert [each.reason for each in found.cells] == ["", "It learns wrong labels by heart."]


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        (["{method: CE, reason: So.}"], "CE on digits, none, in table1-paper is not off, yet has the reason 'So.'"),
        (["{method: GCE, reason: So.}"], "no measured cell is meant by 'So.'"),
        ([OFF, "{noise: symm*, reason: So.}"], "symmetric:0.4, in table1-paper has several reasons"),
    ],
)
def test_reasons_that_explain_nothing_are_refused(record, explain, tmp_path, entries, sentence):
    record()
    explain(*entries)
    with pytest.raises(InputError, match=sentence):
        read(tmp_path)


def test_cells_by_an_older_recipe_are_refused(tiny, record, tmp_path):
    record()
    path = tiny.folder / "paper.yaml"
    path.write_text(path.read_text().replace("epochs: 2", "epochs: 3"))
    with pytest.raises(InputError, match="by another recipe than paper is today"):
        read(tmp_path)


def test_a_folder_without_a_recipe_in_its_name_is_refused(record, tmp_path):
    folder = record()
    folder.rename(folder.with_name("table1"))
    with pytest.raises(InputError, match="is not called TABLE-RECIPE, as in table1-paper"):
        read(tmp_path)


def test_cells_of_another_recipe_in_the_folder_are_refused(record, tmp_path):
    folder = record(recipe="fast")
    folder.rename(folder.with_name("table1-paper"))
    sentence = r"table1-paper is for cells of tiny/table1, recipe paper, but 2 of 2 .* of tiny, recipe fast; move them"
    with pytest.raises(InputError, match=sentence):
        read(tmp_path)


def test_cells_that_the_table_does_not_have_are_refused(tiny, record, tmp_path):
    record()
    path = tiny.folder / "table1.csv"
    path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if ",none,CE," not in line))
    with pytest.raises(InputError, match=r"1 of 2 in its cells\.jsonl are others, such as CE on digits, none, of tiny"):
        read(tmp_path)


def test_a_figure_is_no_table(record_figure, tmp_path):
    record_figure("fig3")
    assert read(tmp_path) == []


def test_figures_by_an_older_recipe_are_refused(sketch, record_figure, tmp_path):
    record_figure("fig3")
    path = sketch.folder / "paper.yaml"
    path.write_text(path.read_text().replace("epochs: 3", "epochs: 4"))
    with pytest.raises(InputError, match=r"fig3-paper has CE on .* by another recipe than paper is today .*: train\)"):
        read(tmp_path)


def test_cells_of_another_figure_are_refused(record_figure, tmp_path):
    folder = record_figure("fig3")
    folder.rename(folder.with_name("fig5-paper"))
    with pytest.raises(InputError, match="fig5-paper is for cells of sketch/fig5, recipe paper, but 8 of 8"):
        read(tmp_path)
