import re
from xml.etree import ElementTree

import numpy as np
import pytest

from labelnoise.papers.figures import Figure
from labelnoise.reproduce.curves import by_epoch, by_noise, by_setting, margins, residuals, unlike
from labelnoise.reproduce.series import Series

FIGURE = Figure("fig", "by setting", "Shows.", (), (), "alpha", 1)


def made(method, measure, columns, *, data="digits", noise="none", seed=0):
    found = {name: np.array(values, dtype=float) for name, values in columns.items()}
    return Series(data, noise, method, "", measure, f"{method}{seed}{noise}{measure}", seed, "", found)


def of_value(method, value, *, rate=0.0, measure="test/accuracy_true", **where):
    return made(method, measure, {"value": [value], "noise_rate": [rate]}, **where)


def lines(svg):
    """The lines of a figure in the colours of curves, as points in pixels."""
    drawn = [each for each in ElementTree.fromstring(svg).iter("path") if "fill: none" in each.get("style", "")]
    coloured = [each for each in drawn if "var(--s" in each.get("style") and each.get("d")]
    return [np.array(re.findall(r"[ML] (\S+) (\S+)", each.get("d")), dtype=float) for each in coloured]


def test_by_noise_there_is_a_panel_for_each_measure_and_a_curve_for_each_method():
    found = [
        of_value(method, 0.9 - rate, rate=rate, measure=measure, noise=f"random:{rate}", seed=seed)
        for method in ("TV", "KL", "JS")
        for rate in (0.4, 0.0, 0.2)
        for measure in ("test/accuracy_true", "test/divergence")
        for seed in (0, 1)
    ]
    drawing = by_noise(FIGURE, found)
    assert [panel.caption for panel in drawing.panels] == ["test accuracy, %", "divergence on the test part"]
    assert [key.label for key in drawing.legend] == ["TV", "KL", "JS"]
    for panel in drawing.panels:
        assert [len(line) for line in lines(panel.svg)] == [3, 3, 3]
        assert all((np.diff(line[:, 0]) > 0).all() for line in lines(panel.svg))  # from less noise to more


def test_by_setting_methods_are_placed_by_the_number_at_the_end_of_their_names():
    found = [of_value(f"{name} {alpha}", 0.5 + alpha / 4) for name in ("LS", "FC") for alpha in (0.6, 0.0, 0.2)]
    drawing = by_setting(FIGURE, [*found, of_value("LN λ=0.5 τ=0.1", 0.7), of_value("LN λ=0.5 τ=0.5", 0.6)])
    assert [key.label for key in drawing.legend] == ["LS", "FC", "LN λ=0.5"]
    first, *_ = lines(drawing.panels[0].svg)
    steps = np.diff(first[:, 0])
    assert steps[1] / steps[0] == pytest.approx(2, rel=1e-3)


def test_by_setting_there_is_a_panel_for_each_data_set():
    found = [of_value(f"LS {alpha}", 0.5, data=data) for data in ("cifar10", "cifar100") for alpha in (0.0, 0.1)]
    assert [panel.caption for panel in by_setting(FIGURE, found).panels] == [
        "cifar10: test accuracy, %",
        "cifar100: test accuracy, %",
    ]


def test_what_is_printed_is_a_diamond():
    plain = [of_value("LS 0.0", 0.5), of_value("LS 0.1", 0.6)]
    columns = {"value": [0.5], "noise_rate": [0.2], "published": [0.55]}
    printed = [made("LS 0.0", "test/accuracy_true", columns), plain[1]]
    count = [by_setting(FIGURE, found).panels[0].svg.count("<use") for found in (plain, printed)]
    assert count[1] == count[0] + 1


def test_by_epoch_there_is_a_panel_for_each_measure_and_method_and_a_curve_for_each_noise():
    found = [
        made(method, measure, {"epoch": [1, 2, 3], "value": [0.1, 0.2, 0.3]}, noise=noise)
        for method in ("Het", "LN")
        for measure in ("validation/accuracy_true", "train/clean_accuracy")
        for noise in ("random:0.2", "random:0.4", "random:0.6")
    ]
    drawing = by_epoch(FIGURE, found)
    assert [panel.caption.partition(":")[0] for panel in drawing.panels] == ["Het", "LN", "Het", "LN"]
    assert drawing.columns == 2
    assert [len(line) for panel in drawing.panels for line in lines(panel.svg)] == [3] * 12


def test_what_is_not_there_yet_leaves_its_place_empty():
    values = {"epoch": [1, 2], "value": [0.1, 0.2]}
    found = [
        made("Het", "m", values, noise="a"),
        made("LN", "m", values, noise="a"),
        made("LN", "m", values, noise="b"),
    ]
    drawing = by_epoch(FIGURE, found)
    assert [sum(len(line) == 2 for line in lines(panel.svg)) for panel in drawing.panels] == [1, 2]
    assert [key.label for key in drawing.legend] == ["a", "b"]


def test_margins_have_a_panel_for_each_label_and_a_curve_for_each_method():
    edges = {"low": [-0.5, 0.0], "high": [0.0, 0.5]}
    found = [
        made(method, measure, edges | {"rows": [3, 1]})
        for method in ("CE", "LS 0.2")
        for measure in ("margin/wrong/true", "margin/all/predicted")
    ]
    drawing = margins(FIGURE, found)
    assert [panel.caption for panel in drawing.panels] == [
        "wrongly labelled rows: their true class",
        "all rows: their predicted class",
    ]
    assert [len(lines(panel.svg)) for panel in drawing.panels] == [2, 2]


def test_residuals_are_densities_of_right_and_wrong_labels():
    values = {"value": [0.2, 0.3, 1.7, 1.8], "wrong": [0, 0, 1, 1]}
    found = [made("LN, identity", "residual", values), made("LN", "residual", values), made("LN", "weighted", values)]
    drawing = residuals(FIGURE, found)
    assert [panel.caption for panel in drawing.panels] == [
        "LN, identity: ‖r‖², without the covariance",
        "LN: ‖r‖², without the covariance",
        "LN: rᵀΣ⁻¹r, with it",
    ]
    right, wrong = (line[line[:, 1].argmin(), 0] for line in lines(drawing.panels[0].svg))  # where it is highest
    assert right < wrong


def test_fields_are_listed_once_in_their_order():
    found = [of_value("b", 1.0), of_value("a", 1.0), of_value("b", 1.0, seed=1)]
    assert unlike(found, "method") == ["b", "a"]


def test_noises_that_make_equally_many_labels_wrong_stand_at_one_place():
    found = [of_value("TV", value, rate=0.0, noise=noise) for noise, value in (("none", 0.9), ("random:0.0", 0.8))]
    ((first, second),) = (line[:, 0] for line in lines(by_noise(FIGURE, found).panels[0].svg))
    assert first == second
