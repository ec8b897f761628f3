from collections import Counter

import pytest

from labelnoise.papers import paper
from labelnoise.papers.paper import papers
from labelnoise.reproduce.asked import Table, table
from labelnoise.reproduce.committed import committed
from labelnoise.reproduce.standing import STANDINGS, standings


def test_measured_cells_have_their_verdict_and_others_are_left(tiny, record, tmp_path):
    record()
    found = standings(Table(tiny, "table1"), "paper", committed(tmp_path / "results"))
    assert [each.name for each in found] == ["within noise", "off, no reason known", "left", "left"]
    assert {each.name for each in standings(Table(tiny, "table1"), "fast", committed(tmp_path / "results"))} == {"left"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("causal_nl/table5", {"data on request": 8}),
        ("f_divergence/table5", {"data on request": 10}),
        ("label_smoothing/table2", {"data on request": 10}),
        ("logistic_normal/table2", {"left": 54, "data on request": 9}),
    ],
)
def test_cells_of_clothing1m_and_imagenet_need_data_on_request(name, expected):
    found = standings(table(name), "paper", [])
    assert Counter(each.name for each in found) == expected
    assert all(("request" in each.why or "registration" in each.why) == (each.name != "left") for each in found)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("name: gce", "name: sce", "unknown method 'sce'"),
        ("name: mlp", "name: kan", "unknown net 'kan'"),
        ("for: [digits]\n    net", "for: [usps]\n    net", "has no recipe for 'digits'"),
    ],
)
def test_what_the_package_has_not_got_cannot_be_run(tiny, old, new, why):
    path = tiny.folder / "paper.yaml"
    path.write_text(path.read_text().replace(old, new))
    found = standings(Table(paper("tiny"), "table1"), "paper", [])
    refused = [each for each in found if each.name == "not runnable"]
    assert refused
    assert all(why in each.why for each in refused)


@pytest.mark.parametrize("name", papers())
def test_every_cell_has_one_standing(name):
    source = paper(name)
    for each in source.tables:
        found = standings(Table(source, each), "paper", [])
        assert [one.cell for one in found] == source.published(each)
        assert {one.name for one in found} <= set(STANDINGS)
