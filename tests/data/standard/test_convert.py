import gzip
import hashlib
import json
import struct
import zipfile

import numpy as np
import pytest
from PIL import Image

from labelnoise.data import load
from labelnoise.data.standard import cifar_n, convert, idx
from labelnoise.data.standard.cache import save
from labelnoise.data.standard.catalogue import CARDS
from labelnoise.data.standard.parts import Parts
from labelnoise.errors import InputError


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    """A data root that is not there yet."""
    monkeypatch.setenv("LABELNOISE_DATA", str(tmp_path / "root"))
    return tmp_path / "root"


@pytest.fixture
def tiny(monkeypatch):
    """In place of SVHN, whatever two bytes the file `pixels` holds."""

    def read(source, name):
        assert name == "svhn"
        pixels = np.frombuffer(source.read(source.find("pixels"), most=2), np.uint8).reshape(2, 1, 1, 1)
        return Parts(pixels, np.array([0, 1]), pixels + 1, np.array([1, 0]), ("a", "b"))

    monkeypatch.setitem(convert.READERS, "svhn", convert.images(read))


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "downloads"
    folder.mkdir()
    (folder / "pixels").write_bytes(b"\x05\x06")
    return folder


def facts(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("about.json"))["facts"]


def test_every_card_has_a_reader():
    assert set(convert.READERS) == set(CARDS)


def test_official_files_become_a_data_set(root, folder, tiny):
    said = []
    assert convert.convert("svhn", folder, say=said.append) == root / "svhn.npz"
    data = load("svhn", 0)
    assert (data.x.flatten().tolist(), data.y_given.tolist()) == ([5, 6, 6, 7], [0, 1, 1, 0])
    assert (data.ids, data.classes) == (("train/0", "train/1", "test/0", "test/1"), ("a", "b"))
    assert said == [f"reading {folder}", "checked: MD5 of each file"]


def test_a_file_of_the_data_root_is_replaced_only_if_forced(root, folder, tiny):
    path = convert.convert("svhn", folder)
    before = path.read_bytes()
    (folder / "pixels").write_bytes(b"\x08\x09")
    with pytest.raises(InputError, match=r"svhn\.npz exists; use --force to replace it$"):
        convert.convert("svhn", folder)
    assert path.read_bytes() == before
    convert.convert("svhn", folder, force=True)
    assert path.read_bytes() != before


def test_the_digest_of_an_archive_is_kept(tmp_path, folder, tiny):
    archive = tmp_path / "svhn.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.write(folder / "pixels", "pixels")
    source = facts(convert.convert("svhn", archive))["source"]
    assert source == {"name": "svhn.zip", "sha256": hashlib.sha256(archive.read_bytes()).hexdigest()}


def test_files_that_fail_their_check_leave_the_data_root_as_it_was(root, folder):
    (folder / "train_32x32.mat").write_bytes(b"short")
    with pytest.raises(InputError, match="download it again"):
        convert.convert("svhn", folder)
    assert not root.exists()


@pytest.fixture
def human(monkeypatch, tmp_path):
    """Labels that people gave to three images, in place of a file of 50,000."""
    labels = {"clean_label": np.array([2, 0, 1]), "worse_label": np.array([2, 1, 1])}
    monkeypatch.setattr(cifar_n, "read", lambda _: labels)
    path = tmp_path / "CIFAR-10_human.pt"
    path.write_bytes(b"labels")
    return path


def images(*labels):
    pixels = np.zeros((len(labels), 3, 32, 32), np.uint8)
    save(CARDS["cifar10"], {"x": (pixels,), "y": (np.array(labels),)}, {"train": 3, "classes": ["a", "b", "c"]})


def test_labels_by_people_need_their_images_first(human):
    with pytest.raises(
        InputError, match=r"^cifar10n has labels only, and the images of cifar10; convert cifar10 first$"
    ):
        convert.convert("cifar10n", human)


def test_labels_by_people_are_kept_without_the_images(human):
    images(2, 0, 1, 0, 0)
    path = convert.convert("cifar10n:worst", human)
    with np.load(path) as held:
        assert {key for key in held if key != "about.json"} == {"clean_label", "worse_label"}
    assert load("cifar10n:worst", 0).y_given.tolist() == [2, 1, 1, 0, 0]


def test_labels_in_another_order_than_the_images_are_refused(human, root):
    images(2, 1, 0, 0, 0)
    with pytest.raises(InputError, match=r"^the labels in .*_human\.pt are not in the order of cifar10; get CIFAR-10_"):
        convert.convert("cifar10n", human)
    assert [path.name for path in root.iterdir()] == ["cifar10.npz"]


def test_images_that_stay_on_disk_are_listed(tmp_path):
    for part, wnid in ((part, wnid) for part in ("train", "val") for wnid in ("n01440764", "n01443537")):
        (tmp_path / part / wnid).mkdir(parents=True)
        Image.new("RGB", (300, 260)).save(tmp_path / part / wnid / "1.JPEG")
    convert.convert("imagenet", tmp_path)
    data = load("imagenet", 0)
    assert data.ids == (
        "train/n01440764/1.JPEG",
        "train/n01443537/1.JPEG",
        "val/n01440764/1.JPEG",
        "val/n01443537/1.JPEG",
    )
    assert data.test.tolist() == [2, 3]
    assert data.noise_rate == 0


def test_clothes_are_listed_under_their_noisy_labels(tmp_path):
    keys = [f"images/0/00/{number}.jpg" for number in range(4)]
    for key in keys:
        (tmp_path / key).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (300, 260)).save(tmp_path / key)
    (tmp_path / "noisy_train_key_list.txt").write_text("\n".join(keys[:3]))
    (tmp_path / "clean_test_key_list.txt").write_text(keys[3])
    (tmp_path / "noisy_label_kv.txt").write_text("".join(f"{key} {number}\n" for number, key in enumerate(keys)))
    (tmp_path / "clean_label_kv.txt").write_text(f"{keys[3]} 13\n")
    convert.convert("clothing1m", tmp_path)
    data = load("clothing1m", 0)
    assert (data.y_given.tolist(), data.y_true) == ([0, 1, 2, 13], None)
    with pytest.raises(InputError, match="clothing1m:balanced needs 18976 training images of every class"):
        load("clothing1m:balanced", 0)


def test_the_real_mnist_comes_out_as_it_went_in(folder, real):
    official = dict(real("mnist.npz"))
    for file, key in zip(idx.FILES, ("x_train", "y_train", "x_test", "y_test"), strict=True):
        axes = official[key].shape
        content = struct.pack(f">I{len(axes)}I", 0x0800 + len(axes), *axes) + official[key].tobytes()
        (folder / f"{file}.gz").write_bytes(gzip.compress(content, 1))
    convert.convert("mnist", folder)
    data = load("mnist", 0)
    assert np.array_equal(data.x[:60_000, 0].numpy(), official["x_train"])
    assert np.array_equal(data.x[60_000:, 0].numpy(), official["x_test"])
    assert np.array_equal(data.y_given.numpy(), np.concatenate([official["y_train"], official["y_test"]]))
