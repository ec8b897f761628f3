import pytest
import torch

from labelnoise.reproduce import estimate
from labelnoise.reproduce.asked import Table
from labelnoise.reproduce.beside import Beside, Spread
from labelnoise.reproduce.groups import groups
from labelnoise.reproduce.writing import announced, write_all

CPU = torch.device("cpu")


@pytest.fixture
def found(tiny):
    return [Beside(cell, {"last": Spread(88.0, 1.0, 2)}, "last", 2) for cell in tiny.published("table1")]


def test_it_is_said_beforehand_how_much_there_is_to_train(tiny, monkeypatch):
    monkeypatch.setattr(estimate, "rate", lambda data, job, device: 1000.0)
    first, total = announced(groups(tiny, tiny.published("table1"), "paper"), 3, CPU)
    assert first == "digits, mlp: CE, GCE × 2 noises × 3 seeds, 12 runs × 2 epochs, about 30 seconds"
    assert total == "in all 12 runs, 24 epochs, about 30 seconds on cpu"


def test_four_files_hold_the_table(tiny, found, tmp_path):
    paths = write_all(Table(tiny, "table1"), found, "fast", tmp_path)
    assert [path.name for path in paths] == [f"tiny-table1-fast.{kind}" for kind in ("md", "csv", "tex", "html")]
    assert all("88.00" in path.read_text() and "fast" in path.read_text() for path in paths)


def test_the_page_says_which_recipe_and_what_differs(tiny, found, tmp_path):
    *_, page = write_all(Table(tiny, "table1"), found, "fast", tmp_path)
    text = page.read_text()
    assert "fast: fewer epochs" in text
    assert "The paper is made up." in text
    assert "4 of 4 cells measured" in text
