import pytest

from labelnoise.reproduce.committed import committed
from labelnoise.reproduce.status_page import page


@pytest.fixture
def shown(tiny, tmp_path):
    return lambda: page(committed(tmp_path / "results"), tmp_path / "results")


def rows(text, title):
    """The numbers of a row in each census that has it."""
    lines = (line.split("|")[2:-1] for line in text.splitlines() if line.startswith(f"| {title} |"))
    return [[int(number) for number in line] for line in lines if len(line) == 11]


def test_cells_of_each_table_are_counted_and_summed(record, shown):
    record()
    text = shown()
    # cells, runnable, measured; within, by a wide spread, of a single figure; off with and without a reason;
    # not judged; left, on request
    assert rows(text, "tiny/table1") == [[4, 4, 2, 1, 0, 0, 0, 1, 0, 2, 0]]
    assert rows(text, "tiny/table2") == [[2, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0]]
    assert rows(text, "**tiny**") == rows(text, "**all**") == [[6, 6, 2, 1, 0, 0, 0, 1, 0, 4, 0]]


def test_the_fast_recipe_is_counted_apart(record, shown):
    assert "Nothing is measured by it yet." in shown()
    record({("CE", "none"): (0.90, 0.91)}, "fast")
    literal, fast = rows(shown(), "tiny/table1")
    assert (literal, fast) == ([4, 4, 0, 0, 0, 0, 0, 0, 0, 4, 0], [4, 4, 1, 1, 0, 0, 0, 0, 0, 3, 0])


def test_what_cannot_be_run_is_counted_by_reason(tiny, shown):
    assert "There is no such cell." in shown()
    path = tiny.folder / "paper.yaml"
    path.write_text(path.read_text().replace("name: gce", "name: sce"))
    assert rows(shown(), "tiny/table1") == [[4, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0]]
    assert "| tiny/table1 | 2 | unknown method 'sce'" in shown()


def test_cells_that_need_data_on_request_are_not_runnable_here(tiny, shown):
    with (tiny.folder / "table1.csv").open("a") as file:
        file.write("clothing1m,none,CE,70.0,,0\n")
    path = tiny.folder / "paper.yaml"
    path.write_text(path.read_text().replace("[digits]", "[digits, clothing1m]"))
    assert rows(shown(), "tiny/table1") == [[5, 4, 0, 0, 0, 0, 0, 0, 0, 4, 1]]
    assert "| tiny/table1 | 1 | Clothing1M" in shown()


def test_figures_are_listed(tiny, shown, tmp_path):
    with (tiny.folder / "paper.yaml").open("a") as file:
        file.write("figures: [{name: fig1, shows: A line.}]\n")
    assert "| tiny/fig1 | A line. | no |" in shown()
    folder = tmp_path / "results" / "tiny" / "fig1-paper"
    folder.mkdir(parents=True)  # training has begun
    assert "| tiny/fig1 | A line. | no |" in shown()
    (folder / "tiny-fig1-paper.svg").touch()
    assert "| tiny/fig1 | A line. | yes |" in shown()
