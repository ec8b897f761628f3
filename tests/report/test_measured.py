import re
from statistics import mean, stdev

import numpy as np
import pytest
import torch

from labelnoise.engine import checkpoint
from labelnoise.metrics.separator import separator
from labelnoise.report.measured import lines, margins, measured_once, number, projections, told
from labelnoise.report.page import page
from labelnoise.report.summary import summarise

NAMES = ("ant", "bee", "cat", "dog")


def named(method, **settings):
    return {"name": method, "settings": settings}


def folder(fabricate, add, **settings):
    """Runs of two methods, to whose details `add(runs)` is added."""
    store = fabricate(**{"methods": [named("ce"), named("gce")], "epochs": 3, "classes": NAMES} | settings)
    for path in store.folder.glob("*/details.safetensors"):
        tensors, facts = checkpoint.load(path)
        checkpoint.save(path, tensors | add(len(tensors["test_confusion"])), facts)
    return store


def features(classes=(0, 1, 3), *, wrong=True):
    """Adds six points of three classes to each run, the first of them wrong."""

    def add(runs):
        points = torch.tensor([[0.0, 0], [0, 0.1], [1, 0], [1, 0.1], [0.5, 1], [0.5, 0.9]])
        return {
            "projection_points": points.repeat(runs, 1, 1),
            "projection_given": torch.tensor(classes).repeat_interleave(2).repeat(runs, 1),
            "projection_wrong": torch.tensor([[wrong] + [False] * 5]).repeat(runs, 1),
            "projection_classes": torch.tensor([classes] * runs),
        }

    return add


def gaussian(*found):
    """Adds points of two classes and lines to each run, the line of each being one of those that are given."""

    def add(runs):
        return {
            "line": torch.tensor([found[run % len(found)] for run in range(runs)]),
            "plane_points": torch.tensor([[[-1.0, -1], [1, 1]]] * runs),
            "plane_given": torch.tensor([[0, 1]] * runs),
            "plane_wrong": torch.zeros(runs, 2, dtype=torch.bool),
        }

    return add


def rows(store):
    return summarise(store).rows


def test_a_detail_is_that_of_every_run_that_has_it(fabricate):
    first, _ = rows(folder(fabricate, lambda runs: {"new": torch.arange(runs)}))
    assert [float(each) for each in measured_once(first, "new")] == [0, 1, 2]
    assert measured_once(first, "nothing") == []


@pytest.mark.parametrize(
    ("values", "text"), [([0.5], "0.50"), ([1, 2], "1.50 ± 0.71"), ([-0.2, -0.2], "\N{MINUS SIGN}0.20 ± 0.00")]
)
def test_numbers_have_mean_and_spread(values, text):
    assert number(values) == text


def test_margins_and_what_is_told_have_an_entry_for_every_method(fabricate):
    found = rows(folder(fabricate, lambda _: {}))
    assert [panel.caption for panel in margins(found, 4)["panels"]] == ["ce", "gce"]
    assert [label for label, _ in told(found)] == ["ce", "gce"]


def test_features_have_a_panel_for_the_first_seed_of_every_method(fabricate):
    found = projections(rows(folder(fabricate, features(), failed=[("gce", 0)])), NAMES)
    assert [panel.caption for panel in found["panels"]] == ["ce, seed 0", "gce, seed 1"]
    assert [label for _, label in found["key"]] == [
        *("labelled ant", "labelled bee", "labelled dog", "labelled wrongly, in the shape of the given label")
    ]


def test_points_have_the_colour_of_their_class_in_the_key(fabricate):
    svg = projections(rows(folder(fabricate, features())), NAMES)["panels"][0].svg
    assert [len(re.findall(rf"<use[^>]*fill: var\(--s{index}\)", svg)) for index in range(4)] == [1, 2, 2, 0]


def test_classes_that_are_not_those_of_the_key_are_named(fabricate):
    store = folder(fabricate, features())
    path = next(store.folder.glob("gce-*/details.safetensors"))
    tensors, facts = checkpoint.load(path)
    checkpoint.save(path, tensors | features((1, 2, 3))(3), facts)
    captions = [panel.caption for panel in projections(rows(store), NAMES)["panels"]]
    assert captions == ["ce, seed 0", "gce, seed 0: bee, cat, dog in place of ant, bee, dog"]


def test_where_no_label_is_known_to_be_wrong_the_key_has_no_sign_for_it(fabricate):
    assert len(projections(rows(folder(fabricate, features(wrong=False))), NAMES)["key"]) == 3


def test_points_that_are_no_numbers_are_not_drawn(fabricate):
    def add(runs):
        return features()(runs) | {"projection_points": torch.full((runs, 6, 2), torch.nan)}

    assert projections(rows(folder(fabricate, add)), NAMES) == {"panels": [], "key": []}


def test_a_folder_without_features_or_lines_has_neither_section(fabricate):
    html = page(folder(fabricate, lambda _: {}))
    assert not re.search('id="(projections|lines)"', html)


def test_the_features_are_in_the_page(fabricate):
    html = page(folder(fabricate, features()))
    assert html.count("on the plane of three classes</title>") == 2
    ids = re.findall(r' id="([^"]+)"', html)
    assert len(ids) == len({*ids})


def test_crossings_are_those_of_the_lines(fabricate):
    alphas = (0.05, 0.1, 0.2)
    found = lines(rows(folder(fabricate, gaussian(*(separator(alpha).plane for alpha in alphas)), classes=NAMES[:2])))
    crossings = [-0.249921, -0.186005, -0.134036]  # of the whole population, to six digits
    text = f"t = {mean(crossings):.2f} ± {stdev(crossings):.2f}".replace("-", "\N{MINUS SIGN}")
    assert [key.label for key in found["legend"]] == [f"ce: {text}", f"gce: {text}"]


def test_one_panel_has_the_lines_of_all_methods(fabricate):
    panel = lines(rows(folder(fabricate, gaussian((1.0, 1.0, 0.5)), classes=NAMES[:2])))["panel"]
    assert panel.caption.startswith("Seed 0")
    assert [f"stroke: var(--s{index})" in panel.svg for index in range(3)] == [True, True, False]


def test_lines_are_shown_for_the_two_gaussians_only(fabricate):
    store = folder(fabricate, gaussian((1.0, 1.0, 0.5)), classes=NAMES[:2])
    assert 'id="lines"' not in page(store)
    config = store.folder / "config.json"
    config.write_text(config.read_text().replace('"source": "digits"', '"source": "gaussians"'))
    assert 'id="lines"' in page(store)


def test_rows_without_a_line_are_left_out():
    assert lines([])["panel"] is None


def test_densities_are_of_the_rows_that_are_meant(fabricate):
    def add(runs):
        counts = torch.zeros(runs, 3, 3, 60)
        counts[:, 1, 1, 50] = counts[:, 2, 1, 30] = counts[:, 2, 0, 10] = 7  # right; wrong: given, true
        return {"margin_counts": counts}

    svg = margins(rows(folder(fabricate, add)), 4)["panels"][0].svg
    peaks = []
    for index in range(3):
        path = re.search(rf'd="([^"]+)"[^>]*stroke: var\(--s{index}\)', svg)[1]
        points = np.array(re.findall(r"[ML] (\S+) (\S+)", path), dtype=float)
        peaks.append(points[points[:, 1] == points[:, 1].min(), 0].mean())
    assert peaks == sorted(peaks, reverse=True)
