"""Every kind of published table is really trained by its command: on few made-up images, by a small network."""

import csv
import json
from functools import partial

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from labelnoise.cli import main
from labelnoise.data import stream
from labelnoise.data.standard import clothing1m
from labelnoise.data.standard.cache import save
from labelnoise.data.standard.catalogue import CARDS, find
from labelnoise.data.standard.registered import STREAMED
from labelnoise.papers import paper
from labelnoise.reproduce.asked import table
from labelnoise.reproduce.stale import check

SMALL = {"net": {"name": "mlp", "settings": {"widths": "4"}}, "nets": {}, "split": {"validation": 0.2, "test": 0.2}}
SHORT = {"epochs": 3, "batch": 64}


@pytest.fixture(autouse=True)
def shrunk(monkeypatch, tmp_path):
    """Recipes have a small network and few epochs; all else is as it is."""
    read = paper.__globals__["read_yaml"]

    def smaller(path):
        facts = read(path)
        for each in facts["recipes"]:
            balanced = {"balanced": 1} if "balanced" in each["train"] else {}
            each.update(SMALL | {"train": {**each["train"], **SHORT, **balanced}})
        for each in facts.get("training", []):
            each["train"] |= SHORT
        for each in facts["fast"]:
            each["train"]["epochs"] = 2
        return facts

    monkeypatch.setitem(paper.__globals__, "read_yaml", smaller)
    monkeypatch.setenv("LABELNOISE_DATA", str(tmp_path / "root"))
    monkeypatch.setattr(stream, "usual_workers", lambda: 0)
    monkeypatch.setitem(STREAMED, "clothing1m:balanced", partial(clothing1m.balanced, each=2))


def images(name):
    """Five training images and a test image of each class, in the data root."""
    card = CARDS[name]
    y = np.arange(6 * card.classes) % card.classes
    x = np.random.default_rng(0).integers(0, 256, (len(y), *card.shape), np.uint8)
    names = [f"class {number}" for number in range(card.classes)]
    save(card, {"x": (x,), "y": (y,)}, {"train": 5 * card.classes, "classes": names})


def people():
    """Labels of people for these images of CIFAR-10, a tenth of them wrong."""
    clean = np.arange(50) % 10
    given = np.where(np.arange(50) < 5, (clean + 1) % 10, clean)
    save(CARDS["cifar10n"], {"clean_label": (clean,), "worse_label": (given,)}, {})


def picture(path, row):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (230, 240), (row, 3 * row, 200)).save(path)


def clothing(folder):
    """Two noisy training images and a verified test image of each class, as they are handed out."""
    labels = {"noisy": 2 * list(range(14)), "clean": list(range(14))}
    for kind, part in (("noisy", "noisy_train"), ("clean", "clean_test")):
        keys = [f"images/{row % 10}/{row:02}/{kind}{row},1.jpg" for row in range(len(labels[kind]))]
        pairs = zip(keys, labels[kind], strict=True)
        (folder / f"{part}_key_list.txt").write_text("\n".join(keys))
        (folder / f"{kind}_label_kv.txt").write_text("\n".join(f"{key} {label}" for key, label in pairs))
        for row, key in enumerate(keys):
            picture(folder / key, row)


def imagenet(folder):
    """Three classes with eight training images and two validation images each, as they are handed out."""
    for place, wnid in enumerate(("n01440764", "n02012849", "n03126707")):
        for part, count in (("train", 8), ("val", 2)):
            for image in range(count):
                picture(folder / part / wnid / f"{wnid}_{image}.JPEG", 10 * place + image)


def reproduce(name, out, recipe="paper", **only):
    words = [word for key, value in only.items() for word in ("--only", f"{key}={value}")]
    words += ["--recipe", recipe, "--seeds", "1", "--quiet", "--device", "cpu", "--out", str(out)]
    return CliRunner().invoke(main, ["reproduce", name, *words])


def measured(name, out, recipe="paper"):
    """The rows of cells with runs, as numbers; none is by another recipe than the table says."""
    asked = table(name)
    check(asked, asked.paper.published(asked.name), recipe, out)
    with (out / f"{name.replace('/', '-')}-{recipe}.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["ours_runs"]]
    assert all(0 <= float(row["ours_mean"]) <= 100 for row in rows)
    return rows


@pytest.mark.parametrize(
    ("name", "only", "reported"),
    [
        ("logistic_normal/table1", {"data": "mnist", "noise": "random:0.2:exact", "method": "Forward"}, "last"),
        ("logistic_normal/table2", {"data": "cifar10n:worst", "method": "GCE"}, "last"),
        ("logistic_normal/table3", {"data": "cifar10n:worst", "method": "LN, diagonal"}, "last"),
        ("f_divergence/table3", {"data": "mnist", "noise": "sparse:low", "method": "PL"}, "selected"),
        ("f_divergence/table4", {"noise": "sparse:low", "method": "J-S, corrected"}, "selected"),
        ("causal_nl/table1", {"noise": "instance:0.2", "method": "Mixup"}, "last_ten"),
        ("label_smoothing/table5", {"data": "cifar10", "net": "resnet32", "method": "LS on teacher"}, "last"),
    ],
)
def test_a_cell_is_trained_and_reported_at_the_epoch_of_its_paper(name, only, reported, tmp_path):
    for each in ("mnist", "fashion_mnist", "cifar10"):
        images(each)
    people()
    done = reproduce(name, tmp_path / "out", **only)
    assert done.exit_code == 0, done.output
    (row,) = measured(name, tmp_path / "out")
    assert (row["method"], row["reported"], row["ours_runs"]) == (only["method"], reported, "1")


@pytest.mark.parametrize(
    ("name", "only", "epochs"),
    [
        ("logistic_normal/table2", {"data": "cifar10n:worst", "method": "GCE"}, 2),
        ("logistic_normal/table2", {"data": "cifar10n:worst", "method": "Forward"}, 4),
        ("label_smoothing/table5", {"data": "cifar10", "net": "resnet32", "method": "LS on teacher"}, 4),
    ],
)
def test_a_cell_is_trained_by_the_fast_recipe(name, only, epochs, tmp_path):
    images("cifar10")
    people()
    done = reproduce(name, tmp_path / "out", "fast", **only)
    assert done.exit_code == 0, done.output
    (row,) = measured(name, tmp_path / "out", "fast")
    assert (row["method"], row["ours_runs"]) == (only["method"], "1")
    (line,) = (tmp_path / "out" / "runs.jsonl").read_text().splitlines()
    assert json.loads(line)["config"]["train"]["epochs"] == epochs


@pytest.mark.parametrize(
    ("name", "reported", "measures"),
    [
        (
            "label_smoothing/table3",
            "last",
            ["train/accuracy_true", "train/clean_accuracy", "train/wrong_accuracy_given", "train/wrong_accuracy_true"],
        ),
        ("label_smoothing/table4", "last", ["test/ece_100"]),
    ],
)
def test_other_measures_than_accuracy_come_from_the_same_run(name, reported, measures, tmp_path):
    images("cifar100")
    done = reproduce(name, tmp_path / "out", method="LS 0.1")
    assert done.exit_code == 0, done.output
    rows = measured(name, tmp_path / "out")
    assert sorted(row["measure"] for row in rows) == measures
    assert {row["reported"] for row in rows} == {reported}
    assert len((tmp_path / "out" / "runs.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "data", "method"),
    [
        ("logistic_normal/table2", "clothing1m", "LN"),
        ("causal_nl/table5", "clothing1m", "Co-teaching"),
        ("f_divergence/table5", "clothing1m:balanced", "TV"),
        ("label_smoothing/table2", "imagenet", "LS 0.1"),
    ],
)
def test_cells_on_data_that_must_be_asked_for_are_trained_once_these_are_there(name, data, method, tmp_path):
    lacking = reproduce(name, tmp_path / "out", data=data, method=method)
    assert (lacking.exit_code, lacking.output.count("\n")) == (2, 1)
    assert f"`labelnoise data info {find(data).name}`" in lacking.output
    told = CliRunner().invoke(main, ["data", "info", find(data).name])
    assert f"labelnoise data convert {find(data).name} PATH" in told.output

    official = tmp_path / "official"
    official.mkdir()
    {"clothing1m": clothing, "imagenet": imagenet}[find(data).name](official)
    assert CliRunner().invoke(main, ["data", "convert", find(data).name, str(official)]).exit_code == 0
    done = reproduce(name, tmp_path / "out", data=data, method=method)
    assert done.exit_code == 0, done.output
    assert [(row["data"], row["method"]) for row in measured(name, tmp_path / "out")] == [(data, method)]
