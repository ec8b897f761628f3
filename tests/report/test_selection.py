import base64
import io
import re

import matplotlib.image
import numpy as np
import pytest
import torch

from labelnoise.engine import checkpoint
from labelnoise.report.page import page
from labelnoise.report.selection import instance_transitions, pictures, remade, selected, weights
from labelnoise.report.summary import summarise

NAMES = ("ant", "bee", "cat", "dog")
METHOD = {"name": "co_teaching", "settings": {}}
CAUSAL = {"name": "causal_nl", "settings": {}}  # whose generators noisy validation does not judge


def rows(store):
    return summarise(store).rows


def selecting(fabricate, *seeds, **settings):
    """A folder of one method whose measures of what is kept are these, by seed and epoch."""
    plain = {"validation/score": 0.5, "test/accuracy_given": 0.5}
    plain |= {} if settings.get("truth") == "unknown" else {"test/accuracy_true": 0.5}
    histories = {
        ("co_teaching", seed): [plain | {f"train/{name}": value for name, value in epoch.items()} for epoch in epochs]
        for seed, epochs in enumerate(seeds)
    }
    return fabricate([METHOD], seeds=len(seeds), classes=NAMES, histories=histories, **settings)


def measured(fabricate, method=METHOD, **details):
    """A folder of one method with two seeds, of three epochs chosen the second and the third, and these details."""
    scored = [{"validation/score": score, "test/accuracy_true": 0.5} for score in (0.5, 0.6, 0.4, 0.7)]
    first, second, third, best = scored
    histories = {(method["name"], 0): [first, second, third], (method["name"], 1): [first, second, best]}
    store = fabricate([method], seeds=2, histories=histories, classes=NAMES)
    path = next(store.folder.glob("*/details.safetensors"))
    tensors, facts = checkpoint.load(path)
    checkpoint.save(path, tensors | details, facts)
    return store


def heights(svg, index):
    """Of a curve, in per cent of the axis from 0 to 100."""
    path = re.search(rf'd="([^"]+)"[^>]*stroke: var\(--s{index}\)', svg)[1]
    bottom, top = 160 - 152 * 2 / 104, 160 - 152 * 102 / 104  # of a drawing of 200 pixels, with its margins
    return [100 * (bottom - float(y)) / (bottom - top) for y in re.findall(r"[ML] \S+ (\S+)", path)]


def test_curves_are_means_over_the_networks(fabricate):
    epochs = [
        {"kept_a": 0.9, "kept_b": 0.7, "kept_precision_a": 0.6, "kept_precision_b": 0.7}
        | {"kept_recall_a": 1.0, "kept_recall_b": 0.8},
        {"kept_a": 0.5, "kept_b": 0.5, "kept_precision_a": 0.9, "kept_precision_b": 0.7}
        | {"kept_recall_a": 0.7, "kept_recall_b": 0.6},
    ]
    (panel,) = selected(rows(selecting(fabricate, epochs)))["panels"]
    drawn = [heights(panel.svg, index) for index in range(4)]
    expected = [[80, 50], [65, 80], [90, 65], [60, 60]]  # the last: 40 % of the labels are wrong
    np.testing.assert_allclose(drawn, expected, atol=0.1)


def test_a_network_that_has_learnt_from_nothing_does_not_count(fabricate):
    nothing = {"kept_a": 0.0, "kept_precision_a": float("nan"), "kept_recall_a": 0.0}
    some = {"kept_b": 0.5, "kept_precision_b": 0.7, "kept_recall_b": 0.5}
    (panel,) = selected(rows(selecting(fabricate, [nothing | some, nothing | some])))["panels"]
    np.testing.assert_allclose(heights(panel.svg, 1), [70, 70], atol=0.1)


NOTHING = {"kept_net": 0.0, "kept_recall_net": 0.0}  # of which the engine measures no precision


def test_a_seed_that_has_learnt_from_nothing_does_not_count(fabricate):
    some = {"kept_net": 0.5, "kept_precision_net": 0.9, "kept_recall_net": 0.5}
    more = some | {"kept_precision_net": 0.7}
    (panel,) = selected(rows(selecting(fabricate, [some, NOTHING, NOTHING], [more, more, more])))["panels"]
    np.testing.assert_allclose(heights(panel.svg, 0), [50, 25, 25], atol=0.1)
    np.testing.assert_allclose(heights(panel.svg, 1), [80, 70, 70], atol=0.1)
    assert panel.caption == "co_teaching"


def test_epochs_in_which_no_seed_has_a_precision_are_told(fabricate):
    some = {"kept_net": 0.5, "kept_precision_net": 0.7, "kept_recall_net": 0.5}
    store = selecting(fabricate, [some, some, NOTHING, NOTHING, NOTHING], [some, NOTHING, some, NOTHING, NOTHING])
    (panel,) = selected(rows(store))["panels"]
    assert len(heights(panel.svg, 1)) == 3
    told = "in 2 of 5 epochs no seed learns from any row, so there is no precision"
    assert panel.caption == f"co_teaching; {told}"


def test_a_method_that_never_learns_from_a_row_has_a_recall_and_no_precision(fabricate):
    (panel,) = selected(rows(selecting(fabricate, [NOTHING, NOTHING])))["panels"]
    np.testing.assert_allclose(heights(panel.svg, 2), [0, 0], atol=0.1)
    assert "in 2 of 2 epochs" in panel.caption


def test_each_of_the_four_lines_is_dashed_in_its_own_way_and_so_is_its_key(fabricate):
    kept = {"kept_net": 0.5, "kept_precision_net": 0.7, "kept_recall_net": 0.5}
    found = selected(rows(selecting(fabricate, [kept, kept])))
    styles = [re.search(rf'style="([^"]*stroke: var\(--s{n}\)[^"]*)"', found["panels"][0].svg)[1] for n in range(4)]
    drawn = [re.search("stroke-dasharray: ([^;]+)", style) for style in styles]
    dashes = [[float(each) for each in found[1].split(",")] if found else [] for found in drawn]
    assert len({*map(tuple, dashes)}) == 4
    keys = [[1.6 * float(each) for each in key.dashes.split()] for key in found["legend"]]  # lines are 1.6 pixels wide
    assert all(one == pytest.approx(other) for one, other in zip(dashes, keys, strict=True))


def test_a_method_that_weighs_rows_says_that_none_is_left_out(fabricate):
    kept = {"kept_net": 0.5, "kept_precision_net": 0.7, "kept_recall_net": 0.5}
    captions = {}
    for name, weight in {"in part": 0.25, "all or nothing": 0.0}.items():
        store = selecting(fabricate, [kept], folder=name)
        path = next(store.folder.glob("*/details.safetensors"))
        tensors, facts = checkpoint.load(path)
        checkpoint.save(path, tensors | {"examined_weight": torch.tensor([[weight, 1.0]])}, facts)
        (captions[name],) = (panel.caption for panel in selected(rows(store))["panels"])
    told = "it weighs rows and leaves none out, so these are mean weights and shares of weight"
    assert captions == {"in part": f"co_teaching: {told}", "all or nothing": "co_teaching"}


def test_where_the_truth_is_unknown_only_the_share_is_drawn(fabricate):
    store = selecting(fabricate, [{"kept_net": 0.9}, {"kept_net": 0.5}], truth="unknown")
    found = selected(rows(store))
    assert [key.label for key in found["legend"]] == ["rows that are learnt from"]
    assert [f"var(--s{index})" in found["panels"][0].svg for index in range(2)] == [True, False]
    assert "precision" not in re.search('<section id="selected">.*?</section>', page(store), re.DOTALL)[0]


def test_a_stage_that_keeps_all_leaves_a_gap(fabricate):
    kept = {"kept_net": 0.5, "kept_precision_net": 0.7, "kept_recall_net": 0.5}
    (panel,) = selected(rows(selecting(fabricate, [{}, kept, kept])))["panels"]
    assert len(heights(panel.svg, 0)) == 2


def examined(right, wrong):
    """Weights of eight rows in two runs, the last two of them wrong."""
    weight = torch.tensor([[right] * 6 + [wrong] * 2] * 2)
    return {"examined_weight": weight, "examined_wrong": torch.tensor([[False] * 6 + [True] * 2] * 2)}


def test_weights_of_right_and_wrong_labels_are_apart(fabricate):
    found = weights(rows(measured(fabricate, **examined(1.0, 0.25))))
    (panel,) = found["panels"]
    assert panel.caption == "co_teaching: 1.00 on average for right labels, 0.25 for wrong ones"
    right, wrong = (_peak(panel.svg, index) for index in range(2))
    assert (wrong - 46) / (right - 46) == pytest.approx(0.25, abs=0.02)  # the axis begins 46 pixels from the left
    assert [key.label for key in found["legend"]] == ["rightly labelled rows", "wrongly labelled rows"]


def _peak(svg, index):
    path = re.search(rf'd="([^"]+)"[^>]*stroke: var\(--s{index}\)', svg)[1]
    points = np.array(re.findall(r"[ML] (\S+) (\S+)", path), dtype=float)
    return points[points[:, 1] == points[:, 1].min(), 0].mean()


@pytest.mark.parametrize(
    "changed",
    [
        {"examined_wrong": torch.zeros(2, 8, dtype=torch.bool)},
        {"examined_weight": torch.full((2, 8), torch.inf)},
    ],
    ids=["no wrong label", "no number"],
)
def test_weights_that_tell_nothing_are_left_out(fabricate, changed):
    store = measured(fabricate, **examined(1.0, 0.0) | changed)
    assert weights(rows(store))["panels"] == []
    assert 'id="weights"' not in page(store)


def image_in(svg):
    """The one picture of a drawing, as rows of colours."""
    (data,) = re.findall('href="data:image/png;base64,([^"]+)"', svg)
    return matplotlib.image.imread(io.BytesIO(base64.b64decode(data)))


def test_every_image_stands_above_its_counterpart():
    x = np.linspace(0, 1, 9)[:, None, None, None] * np.ones((9, 1, 12, 12))
    image = image_in(pictures("a", "title", x, x / 2))
    assert image.shape == (4 * 13, 8 * 13, 4)  # a gap of one pixel beside each
    for n in range(9):
        top, left = 2 * (n // 8) * 13, n % 8 * 13
        np.testing.assert_allclose(image[top : top + 12, left : left + 12, :3], n / 8, atol=0.01)
        np.testing.assert_allclose(image[top + 13 : top + 25, left : left + 12, :3], n / 16, atol=0.01)
    assert not image[12, :, 3].any()
    assert not image[26:, 13:, 3].any()  # there is no tenth image


def test_colours_keep_their_place_and_what_is_out_of_range_is_cut():
    x = np.zeros((1, 3, 4, 4))
    x[:, 0] = 2.0
    made = np.full((1, 3, 4, 4), 9.0)
    image = image_in(pictures("a", "title", x, made))
    np.testing.assert_allclose(image[0, 0], [1, 0, 0, 1])
    np.testing.assert_allclose(image[5, 0], [1, 1, 1, 1])


def test_large_images_are_made_small():
    image = image_in(pictures("a", "title", *np.random.default_rng(0).random((2, 8, 3, 224, 224))))
    assert image.shape[1] == 8 * (32 + 2)


def causal(x):
    """What a method knows of four inputs in two runs; two entries of T are four points apart between them."""
    T = torch.full((2, 4, 4, 4), 0.25)
    T[:, :2, :, 0], T[:, :2, :, 1] = 0.29, 0.21
    return {"shown_x": x, "shown_reconstruction": x / 2, "shown_T": T}


def test_images_and_their_transitions_are_in_the_page(fabricate):
    html = page(measured(fabricate, **causal(torch.rand(2, 4, 1, 8, 8))))
    section = re.search('<section id="instance">.*?</section>', html, re.DOTALL)[0]
    assert section.count("<figure>") == 2
    assert "co_teaching, seed 0, epoch 2: test images, and the same made anew" in section
    assert "Inputs that are made anew" in section
    ids = re.findall(r' id="([^"]+)"', html)
    assert len(ids) == len({*ids})


def test_where_no_prediction_reads_the_generators_they_are_those_of_the_last_epoch(fabricate):
    found = rows(measured(fabricate, CAUSAL, **causal(torch.rand(2, 4, 1, 8, 8))))
    (images,), (matrix,) = remade(found), instance_transitions(found, NAMES)
    assert images.caption.startswith("causal_nl, seed 0, epoch 3 (class by the classifier of epoch 2): test images")
    assert matrix.caption.startswith("T(x) of causal_nl, epoch 3: mean over")


@pytest.mark.parametrize("shape", [(2, 4, 2), (2, 4, 2, 8, 8)], ids=["points", "no colours"])
def test_inputs_that_are_no_images_are_not_drawn_but_their_transitions_are(fabricate, shape):
    store = measured(fabricate, **causal(torch.rand(shape)))
    assert remade(rows(store)) == []
    assert len(instance_transitions(rows(store), NAMES)) == 1
    assert "made anew" not in page(store)


def test_images_that_are_no_numbers_are_not_drawn(fabricate):
    store = measured(fabricate, **causal(torch.full((2, 4, 1, 8, 8), torch.nan)))
    assert remade(rows(store)) == []


def test_the_mean_transition_and_how_far_single_ones_are_from_it_are_told(fabricate):
    (panel,) = instance_transitions(rows(measured(fabricate, **causal(torch.rand(2, 4, 2)))), NAMES)
    cells = re.findall(r"<text[^>]*>([\d.]+)</text>", panel.svg)
    assert sorted(cells) == sorted(["27.0", "23.0", "25.0", "25.0"] * 4)
    told = "mean over 4 test inputs, from which the entries of a single one differ by 1.0 points on average"
    assert (
        panel.caption == f"T(x) of co_teaching, epochs 2 to 3 by seed: {told}"
    )  # half of the entries by two points, the others by none


def test_a_transition_that_is_the_same_everywhere_is_told_to_be(fabricate):
    same = causal(torch.rand(2, 4, 2)) | {"shown_T": torch.full((2, 4, 4, 4), 0.25)}
    (panel,) = instance_transitions(rows(measured(fabricate, **same)), NAMES)
    assert "less than 0.1 points" in panel.caption


def test_a_folder_where_nothing_is_selected_has_none_of_these_sections(fabricate):
    html = page(fabricate([METHOD], seeds=1, epochs=2, classes=NAMES))
    assert not re.search('id="(selected|weights|instance)"', html)
