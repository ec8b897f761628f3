import subprocess
import sys

import numpy as np
import pytest
import torch
from PIL import Image

from labelnoise.config import Split
from labelnoise.data import DATASETS, load, read_inputs, split
from labelnoise.data.standard.cache import save
from labelnoise.data.standard.catalogue import CARDS
from labelnoise.errors import InputError

CLASSES = ("airplane", "automobile", "bird")
CLEAN = np.array([0, 1, 2, 0, 1, 2])
HUMAN = {
    "aggre_label": np.array([0, 1, 2, 0, 1, 0]),
    "random_label1": np.array([1, 1, 2, 0, 1, 2]),
    "random_label2": np.array([0, 2, 2, 0, 1, 0]),
    "random_label3": np.array([0, 1, 0, 0, 1, 0]),
    "worse_label": np.array([1, 2, 0, 0, 1, 0]),
}


@pytest.fixture(autouse=True)
def pixels(tmp_path, monkeypatch):
    """A data root with six training and four test images of CIFAR-10, and what people say of the former."""
    monkeypatch.setenv("LABELNOISE_DATA", str(tmp_path))
    x = np.random.default_rng(0).integers(0, 256, (10, 3, 32, 32), dtype=np.uint8)
    labels = (CLEAN, np.array([2, 1, 0, 1]))
    save(CARDS["cifar10"], {"x": (x[:6], x[6:]), "y": labels}, {"train": 6, "classes": CLASSES})
    save(CARDS["cifar10n"], {key: (array,) for key, array in ({"clean_label": CLEAN} | HUMAN).items()}, {})
    return x


def test_rows_are_the_training_part_and_then_the_test_part(pixels):
    data = load("cifar10", 0)
    assert np.array_equal(data.x.numpy(), pixels)
    assert data.x.dtype == torch.uint8
    assert data.y_given.tolist() == [0, 1, 2, 0, 1, 2, 2, 1, 0, 1]
    assert data.ids[5:7] == ("train/5", "test/0")
    assert data.test.tolist() == [6, 7, 8, 9]
    assert data.classes == CLASSES


def test_official_labels_count_as_true():
    assert load("cifar10", 0).noise_rate == 0


def test_the_official_test_part_is_the_test_part_of_every_run():
    data = load("cifar10", 0)
    assert split(data, Split(), seed=3).test.tolist() == [6, 7, 8, 9]


@pytest.mark.parametrize(
    ("variant", "key"),
    [
        ("aggregate", "aggre_label"),
        ("random1", "random_label1"),
        ("random2", "random_label2"),
        ("random3", "random_label3"),
        ("worst", "worse_label"),
    ],
)
def test_people_label_the_training_part_only(variant, key):
    data = load(f"cifar10n:{variant}", 0)
    assert data.name == f"cifar10n:{variant}"
    assert data.y_given.tolist() == [*HUMAN[key], 2, 1, 0, 1]
    assert data.y_true.tolist() == [*CLEAN, 2, 1, 0, 1]


def test_all_seeds_and_all_labels_share_one_copy_of_the_images():
    assert load("cifar10", 0).x is load("cifar10", 1).x is load("cifar10n:worst", 2).x is load("cifar10n:random1", 0).x


def test_labels_of_other_images_are_refused():
    save(CARDS["cifar10n"], {"clean_label": (CLEAN[::-1],), "worse_label": (CLEAN,)}, {})
    with pytest.raises(
        InputError, match="the labels of cifar10n in the data root belong to other images than those of"
    ):
        load("cifar10n:worst", 0)


def test_labels_without_images_tell_how_to_get_the_images(tmp_path):
    (tmp_path / "cifar10.npz").unlink()
    with pytest.raises(InputError, match=r"^cifar10 is not in the data root"):
        load("cifar10n:worst", 0)


def test_arrays_and_image_files_become_inputs_of_a_model_that_learnt_from_the_set(tmp_path, pixels):
    encoding = load("cifar10", 0).encoding
    np.savez(tmp_path / "new.npz", x=pixels[:2].transpose(0, 2, 3, 1))
    (tmp_path / "photos").mkdir()
    for row in range(2):
        Image.fromarray(pixels[row].transpose(1, 2, 0)).save(tmp_path / "photos" / f"{row}.png")
    for source in ("new.npz", "photos"):
        assert np.array_equal(read_inputs(tmp_path / source, encoding).x.numpy(), pixels[:2])


def test_a_name_without_its_labels_is_answered_with_all_there_are():
    with pytest.raises(InputError, match=r"^unknown data set 'cifar10n'.*; choose cifar10n:aggregate or "):
        load("cifar10n", 0)


@pytest.mark.parametrize("name", [name for card in CARDS.values() for name in card.names])
def test_the_sentence_of_a_set_names_the_command_that_tells_more(name):
    sentence = dict(DATASETS.sentences())[name]
    assert sentence.endswith(f"; see `labelnoise data info {name.split(':')[0]}`.")


def test_importing_the_data_imports_neither_scipy_nor_torchvision():
    code = "import sys, labelnoise.data; sys.exit(bool({'scipy', 'torchvision', 'PIL'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
