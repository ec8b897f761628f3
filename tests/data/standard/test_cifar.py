import hashlib
import io
import os
import pickle
import tarfile
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image

from labelnoise.data.standard import cifar
from labelnoise.data.standard.cifar_classes import CIFAR10_CLASSES, CIFAR100_CLASSES, CIFAR100_SUPERCLASS
from labelnoise.data.standard.source import Source
from labelnoise.errors import InputError

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(256, size=(6, 3, 32, 32), dtype=np.uint8)
LABELS = {10: [6, 9, 9, 4, 1, 0], 100: [19, 29, 0, 11, 1, 99]}
NAMES = {10: "cifar10", 100: "cifar100"}


def in_python(x, y, classes, protocol=2, **changes):
    rows = {"data": x.reshape(len(x), 3072), "labels" if classes == 10 else "fine_labels": list(y), "batch_label": b"?"}
    return pickle.dumps(rows | changes, protocol)


def in_binary(x, y, classes):
    before = {10: lambda label: [label], 100: lambda label: [CIFAR100_SUPERCLASS[label], label]}[classes]
    return b"".join(bytes(before(label)) + pixels.tobytes() for pixels, label in zip(x, y, strict=True))


FORMS = {"python": (0, in_python, cifar.parse_pickled), "binary": (1, in_binary, cifar.parse_binary)}


@pytest.mark.parametrize("classes", [10, 100])
@pytest.mark.parametrize(("_", "write", "parse"), FORMS.values(), ids=FORMS)
def test_a_batch_is_read(_, write, parse, classes):
    x, y = parse(write(PIXELS, LABELS[classes], classes), "batch", classes=classes)
    np.testing.assert_array_equal(x, PIXELS, strict=True)
    np.testing.assert_array_equal(y, np.array(LABELS[classes]), strict=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": [1, 2]}, "batch: 'data' is no array of images with 3072 bytes each; download it again"),
        ({"data": np.zeros((6, 3072))}, "batch: 'data' is no array of images with 3072 bytes each; download it again"),
        ({"data": PIXELS}, "batch: 'data' is no array of images with 3072 bytes each; download it again"),
        (
            {"data": np.array(1, np.uint8)},
            "batch: 'data' is no array of images with 3072 bytes each; download it again",
        ),
        ({"labels": [1, 2]}, "batch: 'labels' has not a number for each image; download it again"),
        ({"labels": ["a"] * 6}, "batch: 'labels' has not a number for each image; download it again"),
        ({"labels": None}, "batch: 'labels' has not a number for each image; download it again"),
        ({"labels": [1, 2, 3, 10, 1, 1]}, "batch, image 3: label 10 is none of 0 to 9; download it again"),
        ({"labels": [1, 2, 3, 4, -1, 1]}, "batch, image 4: label -1 is none of 0 to 9; download it again"),
        (
            {"labels": [1, 2, 3, 4, 2**70, 1]},
            "batch: 'labels' has not a number for each image; download it again",
        ),
    ],
)
def test_a_python_batch_that_is_none_is_refused(changes, message):
    with pytest.raises(InputError) as error:
        cifar.parse_pickled(in_python(PIXELS, LABELS[10], 10, **changes), "batch", classes=10)
    assert str(error.value) == message


@pytest.mark.parametrize("held", [[], {}, {"data": 1}, {"labels": []}, {"data": 1, "fine_labels": []}])
def test_a_python_batch_without_images_or_labels_is_refused(held):
    with pytest.raises(InputError, match=r"^batch holds no dictionary with 'data' and 'labels'; download it again$"):
        cifar.parse_pickled(pickle.dumps(held), "batch", classes=10)


def test_a_hostile_python_batch_does_nothing(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "marker"),)

    with pytest.raises(InputError, match=r"^batch asks for 'posix\.mkdir'.*nothing of it was run"):
        cifar.parse_pickled(in_python(PIXELS, LABELS[10], 10, filenames=[Evil()]), "batch", classes=10)
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize("classes", [10, 100])
@pytest.mark.parametrize("length", [0, 1, 3072, 3075, 6000])
def test_a_binary_batch_of_another_length_is_refused(length, classes):
    size = {10: 3073, 100: 3074}[classes]
    with pytest.raises(InputError, match=rf"^batch does not hold records of {size} bytes; download it again$"):
        cifar.parse_binary(bytes(length), "batch", classes=classes)


def test_labels_of_a_binary_batch_are_checked():
    with pytest.raises(InputError, match=r"^batch, image 1: label 10 is none of 0 to 9; download it again$"):
        cifar.parse_binary(in_binary(PIXELS[:2], [9, 10], 10), "batch", classes=10)
    other = bytearray(in_binary(PIXELS[:2], [19, 29], 100))
    other[3074] += 1
    with pytest.raises(InputError, match=r"^batch, record 1: label and superclass do not match; download it again$"):
        cifar.parse_binary(bytes(other), "batch", classes=100)


def digest(values):
    return hashlib.sha256(values.tobytes()).hexdigest()


def tiny(classes, form):
    """The files of a data set with one training row of each class in a file and one test row of each class."""
    _, write, _ = FORMS[form]
    version = cifar.VERSIONS[NAMES[classes]][FORMS[form][0]]
    draw = np.random.default_rng(classes)
    parts = [
        (draw.integers(256, size=(classes, 3, 32, 32), dtype=np.uint8), draw.permutation(classes)) for _ in range(6)
    ]
    files = [*version.train, *version.test]
    used = parts[: len(files)]
    return {file: write(x, y.tolist(), classes) for file, (x, y) in zip(files, used, strict=True)}, used


@pytest.fixture
def official(monkeypatch):
    """Makes tiny files count as the official ones."""

    def declare(classes):
        name, versions = NAMES[classes], []
        for form, (place, _, _) in FORMS.items():
            old, (contents, used) = cifar.VERSIONS[name][place], tiny(classes, form)
            md5s = {file: f"md5:{hashlib.md5(content).hexdigest()}" for file, content in contents.items()}
            train, test = ({file: md5s[file] if old_md5 else "" for file, old_md5 in part.items()} for part in old[:2])
            versions.append(old._replace(train=train, test=test))
        x, y = (np.concatenate(arrays) for arrays in zip(*used[:-1], strict=True))
        arrays = {"x_train": x, "y_train": y, "x_test": used[-1][0], "y_test": used[-1][1]}
        checked = {key: digest(values) for key, values in arrays.items() if key in cifar.CONTENT[name]}
        monkeypatch.setattr(cifar, "VERSIONS", cifar.VERSIONS | {name: tuple(versions)})
        monkeypatch.setattr(cifar, "CONTENT", cifar.CONTENT | {name: checked})
        monkeypatch.setattr(cifar, "ROWS", {name: (len(versions[0].train), 1)})
        return arrays

    return declare


def save(folder, contents):
    folder.mkdir()
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("classes", [10, 100])
def test_both_versions_of_both_sets_are_read_from_folder_and_archive(classes, form, packed, official, tmp_path):
    arrays = official(classes)
    path = save(tmp_path / "cifar", tiny(classes, form)[0])
    if packed:
        with tarfile.open(tmp_path / "cifar.tar.gz", "w:gz") as archive:
            archive.add(path, "cifar")
        path = tmp_path / "cifar.tar.gz"
    parts = cifar.read(Source.open(path), NAMES[classes])
    for key, values in arrays.items():
        np.testing.assert_array_equal(getattr(parts, key), values)
    assert parts.classes == {10: CIFAR10_CLASSES, 100: CIFAR100_CLASSES}[classes]


@pytest.mark.parametrize("file", ["data_batch_3", "test_batch"])
def test_a_missing_batch_is_named(file, official, tmp_path):
    official(10)
    path = save(tmp_path / "cifar", tiny(10, "python")[0])
    (path / file).unlink()
    with pytest.raises(
        InputError, match=rf"holds no file '{file}'; name the folder or archive with all official files$"
    ):
        cifar.read(Source.open(path), "cifar10")


def test_exchanged_batches_are_called_by_their_names(official, tmp_path):
    official(10)
    contents, _ = tiny(10, "binary")
    exchanged = contents | {"data_batch_2.bin": contents["test_batch.bin"]}
    with pytest.raises(
        InputError, match=r"data_batch_2\.bin is really test_batch\.bin of CIFAR-10; put the right file"
    ):
        cifar.read(Source.open(save(tmp_path / "cifar", exchanged)), "cifar10")


@pytest.mark.parametrize(("form", "file"), [("python", "data_batch_1"), ("binary", "data_batch_5.bin")])
def test_a_batch_with_one_other_byte_or_one_less_is_refused(form, file, official, tmp_path):
    official(10)
    contents, _ = tiny(10, form)
    changed = bytearray(contents[file])
    changed[2000] ^= 1
    for number, content in enumerate((bytes(changed), contents[file][:-1])):
        path = save(tmp_path / str(number), contents | {file: content})
        with pytest.raises(
            InputError, match=rf"{file} has the md5 \w{{32}}, the official file has \w{{32}}; download it"
        ):
            cifar.read(Source.open(path), "cifar10")


def test_images_that_are_in_another_order_are_refused(official, tmp_path, monkeypatch):
    official(10)
    contents, _ = tiny(10, "python")
    monkeypatch.setattr(cifar, "CONTENT", {"cifar10": cifar.CONTENT["cifar10"] | {"x_test": "0" * 64}})
    with pytest.raises(
        InputError, match=r"the images of the test part are not those of CIFAR-10 in their order; download"
    ):
        cifar.read(Source.open(save(tmp_path / "cifar", contents)), "cifar10")


def test_labels_of_the_binary_cifar100_that_are_in_another_order_are_refused(official, tmp_path):
    official(100)
    contents, used = tiny(100, "binary")
    x, y = used[0]
    reordered = contents | {"train.bin": in_binary(x, y[::-1].tolist(), 100)}
    with pytest.raises(
        InputError, match=r"the labels of the train part are not those of CIFAR-100 in their order; down"
    ):
        cifar.read(Source.open(save(tmp_path / "a", reordered)), "cifar100")
    fewer = contents | {"test.bin": contents["test.bin"][3074:]}
    with pytest.raises(InputError, match=r"the test part has not 1 images of each class; download it again$"):
        cifar.read(Source.open(save(tmp_path / "b", fewer)), "cifar100")


def test_a_folder_without_the_set_is_refused(tmp_path):
    with pytest.raises(InputError) as error:
        cifar.read(Source.open(tmp_path), "cifar10")
    assert str(error.value) == (
        f"{tmp_path} holds neither data_batch_1 nor data_batch_1.bin; "
        "name the folder or archive of CIFAR-10 as downloaded"
    )


def strips(held):
    """Images that lie in lossless strips of 125, as (N, 3, 32, 32)."""
    content, ends = held["webp"], held["offsets"]
    images = [Image.open(io.BytesIO(content[a:b].tobytes())).convert("RGB") for a, b in pairwise(ends)]
    return np.concatenate([np.asarray(image).reshape(-1, 32, 32, 3) for image in images]).transpose(0, 3, 1, 2)


@pytest.mark.slow
def test_the_real_binary_version_is_read_and_the_python_version_holds_the_same(real, tmp_path, monkeypatch):
    held = [real(f"cifar10_{part}.npz") for part in ("train_a", "train_b", "test")]
    x, y = np.concatenate([strips(part) for part in held]), np.concatenate([part["labels"] for part in held])
    for form, (place, write, _) in FORMS.items():
        version = cifar.VERSIONS["cifar10"][place]
        contents = {
            file: write(x[first : first + 10_000], y[first : first + 10_000].tolist(), 10)
            for file, first in zip([*version.train, *version.test], range(0, 60_000, 10_000), strict=True)
        }
        if form == "python":  # not byte for byte the official files
            train, test = (dict.fromkeys(part, "") for part in (version.train, version.test))
            unchecked = version._replace(train=train, test=test)
            monkeypatch.setattr(cifar, "VERSIONS", {"cifar10": (unchecked, cifar.VERSIONS["cifar10"][1])})
        parts = cifar.read(Source.open(save(tmp_path / form, contents)), "cifar10")
        assert (parts.x_train == x[:50_000]).all()
        assert (parts.y_test == y[50_000:]).all()


def test_the_real_labels_of_cifar100_have_the_digest_of_their_order(real):
    assert digest(real("cifar100n.npz")["clean_label"].astype("<i8")) == cifar.CONTENT["cifar100"]["y_train"]
