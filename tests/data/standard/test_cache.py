import hashlib
import json
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from labelnoise import __version__
from labelnoise.data.standard.cache import data_root, lacking, load, path_of, save
from labelnoise.data.standard.catalogue import CARDS
from labelnoise.errors import InputError

MNIST, CIFAR10N = CARDS["mnist"], CARDS["cifar10n"]
OLDER = f"has the format of labelnoise 0.0.9, not of {__version__}"
PIECES = (np.arange(60, dtype=np.uint8).reshape(5, 3, 4), np.arange(24, dtype=np.uint8).reshape(2, 3, 4))


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    """A data root of one's own."""
    monkeypatch.setenv("LABELNOISE_DATA", str(tmp_path / "root"))
    return tmp_path / "root"


@pytest.fixture
def path():
    return save(MNIST, {"x": PIECES, "y": (np.arange(7),)}, {"train": 5, "classes": ["é", "b"]})


def zipped(path, **members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)


def about(**changes):
    facts = {"format": 1, "name": "mnist", "labelnoise": "0.1.0", "sha256": {}, "facts": {}}
    return json.dumps(facts | changes)


def test_the_data_root_is_what_the_environment_says(monkeypatch):
    monkeypatch.setenv("LABELNOISE_DATA", "~/sets")
    assert data_root() == Path.home() / "sets"


@pytest.mark.parametrize(("cache", "place"), [("/somewhere", "/somewhere/labelnoise"), ("", "~/.cache/labelnoise")])
def test_by_default_the_data_root_is_in_the_users_cache(monkeypatch, cache, place):
    monkeypatch.delenv("LABELNOISE_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    assert data_root() == Path(place).expanduser()


def test_a_set_lies_in_the_data_root_under_its_name(root, path):
    assert path == root / "mnist.npz" == path_of(MNIST)
    assert [each.name for each in root.iterdir()] == ["mnist.npz"]


def test_numpy_reads_the_pieces_as_one_array(path):
    with np.load(path, allow_pickle=False) as held:
        assert np.array_equal(held["x"], np.concatenate(PIECES))
        assert held["x"].dtype == np.uint8
        assert held["y"].tolist() == [0, 1, 2, 3, 4, 5, 6]


def test_what_was_saved_is_loaded(path):
    facts, arrays = load(MNIST, "x", "y")
    assert facts == {"train": 5, "classes": ["é", "b"]}
    assert np.array_equal(arrays["x"], np.concatenate(PIECES))
    assert arrays["y"].dtype == np.int64


def test_only_the_arrays_that_are_asked_for_are_read(path):
    content = bytearray(path.read_bytes())
    content[content.index(PIECES[0].tobytes())] ^= 1
    path.write_bytes(content)
    assert set(load(MNIST, "y").arrays) == {"y"}


def test_texts_and_transposed_arrays_are_kept(path):
    words, turned = np.array(["é/1.jpg", "b"]), np.arange(6).reshape(2, 3).T
    save(MNIST, {"words": (words[:1], words[1:]), "turned": (turned,)}, {})
    arrays = load(MNIST, "words", "turned").arrays
    assert arrays["words"].tolist() == ["é/1.jpg", "b"]
    assert arrays["turned"].tolist() == turned.tolist()


def test_the_file_tells_in_plain_text_what_it_is(path):
    with zipfile.ZipFile(path) as archive:
        told = json.loads(archive.read("about.json"))
    assert (told["format"], told["name"], told["labelnoise"]) == (1, "mnist", __version__)
    assert told["sha256"]["x"] == hashlib.sha256(b"".join(piece.tobytes() for piece in PIECES)).hexdigest()


def test_the_same_content_makes_the_same_file(path):
    before = path.read_bytes()
    save(MNIST, {"x": (np.concatenate(PIECES),), "y": (np.arange(7),)}, {"train": 5, "classes": ["é", "b"]})
    assert path.read_bytes() == before


@pytest.mark.parametrize("place", [0.01, 0.3, 0.6, 0.9, 0.999])
def test_a_file_that_was_cut_short_is_to_be_made_again(path, place):
    content = path.read_bytes()
    path.write_bytes(content[: int(place * len(content))])
    with pytest.raises(InputError, match=r"mnist\.npz is damaged; make it again with `labelnoise data convert mnist"):
        load(MNIST, "x", "y")


def test_a_single_wrong_byte_anywhere_in_the_arrays_is_seen(path):
    content = path.read_bytes()
    for array in (PIECES[0], np.arange(7)):
        start = content.index(array.tobytes())
        for place in range(start, start + array.nbytes, 7):
            path.write_bytes(content[:place] + bytes([content[place] ^ 16]) + content[place + 1 :])
            with pytest.raises(InputError, match="is damaged; make it again"):
                load(MNIST, "x", "y")


def test_a_wrong_array_with_a_right_zip_is_seen_by_its_digest(path):
    with zipfile.ZipFile(path) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    held["x.npy"] = held["x.npy"].replace(PIECES[0].tobytes(), PIECES[0].tobytes()[::-1])
    zipped(path, **held)
    with pytest.raises(InputError, match="is damaged; make it again"):
        load(MNIST, "x")


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        ({"x__npy": b""}, "was not written by labelnoise"),
        ({"about__json": about(name="svhn")}, "holds svhn"),
        (
            {"about__json": about(format=0, labelnoise="0.0.9")},
            OLDER,
        ),
        ({"about__json": "{"}, "is damaged"),
        ({"about__json": "[]"}, "is damaged"),
        ({"about__json": "{}"}, "is damaged"),
        ({"about__json": about(), "x__npy": b""}, "is damaged"),
        ({"about__json": about(sha256={"x": ""})}, "is damaged"),
        ({"about__json": about(sha256={"x": ""}), "x__npy": b"no array"}, "is damaged"),
    ],
)
def test_a_file_that_is_something_else_is_to_be_made_again(root, members, sentence):
    root.mkdir()
    zipped(root / "mnist.npz", **members)
    with pytest.raises(InputError) as problem:
        load(MNIST, "x")
    expected = f"{root}/mnist.npz {sentence}; make it again with `labelnoise data convert mnist PATH --force`"
    assert str(problem.value) == expected


@pytest.mark.parametrize("content", [b"", b"garbage", b"PK\x03\x04"])
def test_a_file_that_is_no_archive_is_to_be_made_again(root, content):
    root.mkdir()
    (root / "mnist.npz").write_bytes(content)
    with pytest.raises(InputError, match="is damaged; make it again"):
        load(MNIST, "x")


def test_python_objects_are_refused(root):
    root.mkdir()
    header = b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n"
    array = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + b"cos\nsystem\n(S'false'\ntR."
    zipped(root / "mnist.npz", about__json=about(sha256={"x": ""}), x__npy=array)
    with pytest.raises(InputError, match="holds Python objects"):
        load(MNIST, "x")


def test_a_set_that_is_not_there_tells_how_to_get_it(root):
    with pytest.raises(InputError, match=r"^mnist is not in the data root .*root; type `labelnoise data fetch mnist`"):
        load(MNIST, "x")


def test_a_set_of_labels_is_ready_only_with_its_images():
    assert lacking(CIFAR10N) is CIFAR10N
    save(CIFAR10N, {"clean_label": (np.arange(3),)}, {})
    assert lacking(CIFAR10N) is CARDS["cifar10"]
    save(CARDS["cifar10"], {"y": (np.arange(3),)}, {})
    assert lacking(CIFAR10N) is None


def test_a_data_root_that_cannot_be_made_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LABELNOISE_DATA", str(tmp_path / "file" / "root"))
    with pytest.raises(InputError, match=r"^cannot write .*mnist\.npz"):
        save(MNIST, {"x": PIECES}, {})
