import re
from statistics import mean, stdev

import numpy as np
import pytest
import torch

from labelnoise.config import digest
from labelnoise.engine import checkpoint
from labelnoise.metrics.separator import separator
from labelnoise.report.measured import (
    history,
    lines,
    margins,
    measured_once,
    number,
    percents,
    projections,
    residuals,
    sensitivities,
    told,
)
from labelnoise.report.page import page
from labelnoise.report.summary import Trial, summarise

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


def test_a_history_is_cut_to_what_all_runs_have(fabricate):
    epochs = [{"validation/score": 0.5, "test/accuracy_true": 0.5, "own": float(n)} for n in range(3)]
    store = fabricate([named("ce")], seeds=2, classes=NAMES, histories={("ce", 0): epochs, ("ce", 1): epochs[1:]})
    np.testing.assert_array_equal(history(rows(store)[0], "own"), [[0, 1], [1, 2]])
    assert np.isnan(history(rows(store)[0], "nothing")).all()


@pytest.mark.parametrize(
    ("T", "cells"),
    [
        (np.array([[0.905, 0.095], [np.nan, 1]]), [["90.5", "9.5"], ["", "100.0"]]),
        (np.eye(6), [["100" if i == j else "0" for j in range(6)] for i in range(6)]),
        (np.eye(13), None),
    ],
    ids=["small", "of whole numbers", "too large"],
)
def test_cells_say_what_has_room_in_them(T, cells):
    assert percents(T) == cells


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
    captions = [panel.caption for panel in projections(rows(store), ("ant, red", *NAMES[1:]))["panels"]]
    assert captions[1] == 'gce, seed 0: bee, cat, dog in place of "ant, red", bee, dog'


def test_where_no_label_is_known_to_be_wrong_the_key_has_no_sign_for_it(fabricate):
    assert len(projections(rows(folder(fabricate, features(wrong=False))), NAMES)["key"]) == 3


@pytest.mark.parametrize(
    ("truth", "wrong", "title", "said"),
    [
        ("known", True, "Where wrong labels lie among the features", "A wrongly labelled row"),
        ("known", False, "How classes lie among the features", ""),
        ("unknown", False, "How classes lie among the features", "Which labels are wrong is not known"),
    ],
)
def test_of_wrong_labels_among_features_only_what_is_known_is_said(fabricate, truth, wrong, title, said):
    html = page(folder(fabricate, features(wrong=wrong), truth=truth))
    section = re.search('<section id="projections">.*?</section>', html, re.DOTALL)[0]
    assert re.search("<h2>(.*)</h2>", section)[1] == title
    sentences = ("A wrongly labelled row", "Which labels are wrong is not known")
    assert [each for each in sentences if each in section] == [said] * bool(said)


def test_a_fourth_class_is_spoken_of_only_where_there_is_one(fabricate):
    pages = [page(folder(fabricate, features((0, 1, 2)), classes=NAMES[:n], folder=f"of {n}")) for n in (3, 4)]
    assert ["belong to a fourth class" in html for html in pages] == [False, True]


def test_points_that_are_no_numbers_are_not_drawn(fabricate):
    def add(runs):
        return features()(runs) | {"projection_points": torch.full((runs, 6, 2), torch.nan)}

    found = projections(rows(folder(fabricate, add)), NAMES)
    assert (found["panels"], found["key"]) == ([], [])


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
    peaks = [peak(svg, index) for index in range(3)]
    assert peaks == sorted(peaks, reverse=True)


def examined(right=-2.0, wrong=2.0, rows=40):
    """Adds residuals of rows, the last quarter of them wrong; the covariance brings wrong ones to 1."""

    def add(runs):
        is_wrong = torch.arange(rows) >= 3 * rows // 4
        spread = torch.linspace(-0.1, 0.1, rows)
        residual = torch.where(is_wrong, wrong, right) + spread
        weighted = torch.where(is_wrong, 0.0, right) + spread
        found = {"residual": residual, "weighted": weighted, "wrong": is_wrong}
        return {f"examined_{name}": value.expand(runs, -1).clone() for name, value in found.items()}

    return add


def peak(svg, index):
    """Where a density is highest, in pixels from the left."""
    path = re.search(rf'd="([^"]+)"[^>]*stroke: var\(--s{index}\)', svg)[1]
    points = np.array(re.findall(r"[ML] (\S+) (\S+)", path), dtype=float)
    return points[points[:, 1] == points[:, 1].min(), 0].mean()


def test_residuals_have_two_panels_for_every_method_that_has_them(fabricate):
    found = residuals(rows(folder(fabricate, examined())))
    assert [panel.caption for panel in found["panels"]] == [
        *("ce: ‖r‖², without the covariance", "ce: rᵀΣ⁻¹r, with it"),
        *("gce: ‖r‖², without the covariance", "gce: rᵀΣ⁻¹r, with it"),
    ]
    assert [key.label for key in found["legend"]] == ["rightly labelled rows", "wrongly labelled rows"]


def test_residuals_of_wrong_rows_lie_where_they_were_measured(fabricate):
    without, with_it = residuals(rows(folder(fabricate, examined())))["panels"][:2]
    right, wrong, attenuated = peak(without.svg, 0), peak(without.svg, 1), peak(with_it.svg, 1)
    assert peak(with_it.svg, 0) == pytest.approx(right, abs=1)  # both panels have one scale
    assert (attenuated - right) / (wrong - right) == pytest.approx(0.5, abs=0.05)  # of -2, 0 and 2


def test_residuals_of_nothing_are_counted_in_the_lowest_bin(fabricate):
    def add(runs):
        found = examined()(runs)
        found["examined_residual"][:, 0] = -torch.inf
        return found

    assert len(residuals(rows(folder(fabricate, add)))["panels"]) == 4


def test_where_no_label_is_wrong_residuals_are_left_out(fabricate):
    def add(runs):
        return examined()(runs) | {"examined_wrong": torch.zeros(runs, 40, dtype=torch.bool)}

    assert residuals(rows(folder(fabricate, add)))["panels"] == []


def test_residuals_are_in_the_page_where_the_truth_is_known(fabricate):
    assert 'id="residuals"' in page(folder(fabricate, examined()))
    unknown = folder(
        fabricate, lambda n: {k: v for k, v in examined()(n).items() if k != "examined_wrong"}, folder="unknown"
    )
    assert 'id="residuals"' not in page(unknown)


def tried(*settings, chosen=0, failed=()):
    """Trials with test accuracies 0.5, 0.6, … after the last epoch, and 0.1 more at the selected one."""
    return [
        Trial("", None if n in failed else 0.5, n == chosen, each, {} if n in failed else _accuracies(n))
        for n, each in enumerate(settings)
    ]


def _accuracies(n):
    return {"last": 0.5 + n / 10, "selected": 0.6 + n / 10, "oracle": 0.99}


def words(svg):
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_two_hyper_parameters_have_a_map_for_the_last_and_for_the_selected_epoch():
    found = sensitivities(
        {"logistic_normal": tried({"temperature": 0.1, "floor": 0.1}, {"temperature": 1.0, "floor": 1.0})}
    )
    last, selected = found["logistic_normal"]["panels"]
    assert last.caption == "Test accuracy after the last epoch: 50.0 (pale) to 60.0 %"
    assert {"50.0", "60.0", "temperature", "floor"} <= {*words(last.svg)}
    assert {"60.0", "70.0"} <= {*words(selected.svg)}


def test_one_hyper_parameter_has_a_curve_for_each():
    found = sensitivities({"gce": tried({"q": 0.1}, {"q": 0.5}, {"q": 0.9}, failed=[1])})["gce"]
    assert len(found["panels"]) == 1
    assert len(found["legend"]) == 2
    assert "q" in words(found["panels"][0].svg)


@pytest.mark.parametrize(
    "trials",
    [
        [],
        tried({}),
        tried({"a": 1.0, "b": 1.0, "c": 1.0}, {"a": 2.0, "b": 2.0, "c": 2.0}),
        tried({"kind": "x"}, {"kind": "y"}),
        tried({"q": 0.1}, {"q": 0.2}, failed=[0, 1]),
    ],
    ids=["nothing", "no difference", "three", "words", "all failed"],
)
def test_what_cannot_be_drawn_has_no_panel(trials):
    assert sensitivities({"own": trials})["own"] == {"panels": [], "legend": []}


def test_a_search_over_two_hyper_parameters_is_drawn_in_the_page(fabricate):
    methods = [named("logistic_normal", temperature=t, floor=f) for t in (0.1, 1.0) for f in (0.1, 1.0)]
    trials = [digest([method, 0]) for method in methods]
    searches = {"logistic_normal": {"trials": trials, "chosen": trials[2]}}
    html = page(fabricate(methods, seeds=1, epochs=3, classes=NAMES, searches=searches, compared=trials[2:3]))
    section = re.search('<section id="search">.*?</section>', html, re.DOTALL)[0]
    assert section.count("<figure>") == 2
    assert section.count('<span class="chosen">') == 1
