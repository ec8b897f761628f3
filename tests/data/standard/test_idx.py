import gzip
import hashlib
import struct
from itertools import combinations

import numpy as np
import pytest

from labelnoise.data.standard import idx
from labelnoise.data.standard.source import Source
from labelnoise.errors import InputError

RNG = np.random.default_rng(0)
TINY = {
    "train-images-idx3-ubyte": RNG.integers(256, size=(5, 28, 28), dtype=np.uint8),
    "train-labels-idx1-ubyte": np.array([3, 1, 4, 1, 5], np.uint8),
    "t10k-images-idx3-ubyte": RNG.integers(256, size=(2, 28, 28), dtype=np.uint8),
    "t10k-labels-idx1-ubyte": np.array([9, 2], np.uint8),
}


def written(values):
    """As the format's definition says it."""
    return bytes([0, 0, 8, values.ndim]) + b"".join(struct.pack(">I", size) for size in values.shape) + values.tobytes()


def save(folder, arrays, spell="{}.gz"):
    folder.mkdir(exist_ok=True)
    for name, values in arrays.items():
        content = written(values)
        (folder / spell.format(name)).write_bytes(gzip.compress(content, 1) if spell.endswith(".gz") else content)
    return folder


@pytest.fixture
def tiny(monkeypatch):
    """The tiny files are the official ones."""
    digests = tuple(f"md5:{hashlib.md5(written(values)).hexdigest()}" for values in TINY.values())
    monkeypatch.setattr(idx, "DIGESTS", idx.DIGESTS | {"mnist": digests})


@pytest.mark.parametrize("values", [np.arange(6, dtype=np.uint8), np.arange(24, dtype=np.uint8).reshape(2, 3, 4)])
def test_an_array_is_read(values):
    np.testing.assert_array_equal(idx.read_idx(written(values), "file"), values, strict=True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "file is no idx file; download it again"),
        (b"PK\3\4" * 10, "file is no idx file; download it again"),
        (b"\0\0\x0d\1\0\0\0\1" + bytes(4), "file holds numbers of type 0x0d, not unsigned bytes; download it again"),
        (b"\0\0\x08\3\0\0\0\1", "file is cut short; download it again"),
        (b"\0\0\x08\1\0\0\0\5" + bytes(4), "file has 12 bytes instead of 13; download it again"),
        (b"\0\0\x08\1\0\0\0\5" + bytes(6), "file has 14 bytes instead of 13; download it again"),
        (b"\0\0\x08\2" + b"\xff" * 8, "file has 12 bytes instead of 18,446,744,065,119,617,037; download it again"),
    ],
)
def test_what_is_no_idx_file_is_refused(content, message):
    with pytest.raises(InputError) as error:
        idx.read_idx(content, "file")
    assert str(error.value) == message


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("dotted", [False, True])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_the_four_files_are_read_compressed_or_not(suffix, dotted, tmp_path):
    arrays = {name.replace("-idx", ".idx") if dotted else name: values for name, values in TINY.items()}
    parts = idx.read(Source.open(save(tmp_path, arrays, f"{{}}{suffix}")), "mnist")
    x_train, y_train, x_test, y_test = TINY.values()
    assert parts.x_train.shape == (5, 1, 28, 28)
    assert parts.x_train[:, 0].tolist() == x_train.tolist()
    assert parts.x_test[:, 0].tolist() == x_test.tolist()
    assert parts.y_train.tolist() == y_train.tolist()
    assert parts.y_test.tolist() == y_test.tolist()
    assert parts.y_train.dtype == parts.y_test.dtype == np.int64
    assert parts.classes == tuple("0123456789")


@pytest.mark.usefixtures("tiny")
def test_a_missing_file_is_named(tmp_path):
    save(tmp_path, TINY)
    (tmp_path / "t10k-images-idx3-ubyte.gz").unlink()
    with pytest.raises(InputError, match=r"holds no file 't10k-images-idx3-ubyte'; name the folder or archive"):
        idx.read(Source.open(tmp_path), "mnist")


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("name", TINY)
def test_a_file_with_one_other_byte_is_refused(name, tmp_path):
    changed = TINY[name].copy()
    changed.flat[0] += 1
    save(tmp_path, TINY | {name: changed})
    with pytest.raises(InputError, match=rf"{name}\.gz has the md5 \w{{32}}, the official file has \w{{32}}; download"):
        idx.read(Source.open(tmp_path), "mnist")


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(("first", "second"), list(combinations(TINY, 2)))
def test_exchanged_files_are_called_by_their_names(first, second, tmp_path):
    save(tmp_path, TINY | {first: TINY[second], second: TINY[first]})
    with pytest.raises(InputError, match=rf"{first}\.gz is really {second} of MNIST; put the right file in its place$"):
        idx.read(Source.open(tmp_path), "mnist")


@pytest.mark.usefixtures("tiny")
def test_files_of_the_other_data_set_are_called_by_its_name(tmp_path):
    with pytest.raises(
        InputError, match=r"is really train-images-idx3-ubyte of MNIST; put the right file in its place$"
    ):
        idx.read(Source.open(save(tmp_path, TINY)), "fashion_mnist")


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
def test_the_real_files_are_read(name, real, tmp_path):
    held = real(f"{name}.npz")
    arrays = dict(zip(TINY, [held[key] for key in ("x_train", "y_train", "x_test", "y_test")], strict=True))
    parts = idx.read(Source.open(save(tmp_path, arrays, "{}")), name)
    x_train, y_train, x_test, y_test = arrays.values()
    assert (parts.x_train[:, 0] == x_train).all()
    assert (parts.x_test[:, 0] == x_test).all()
    assert (parts.y_train == y_train).all()
    assert (parts.y_test == y_test).all()


def test_one_npz_file_holds_the_same(tiny, tmp_path):
    np.savez_compressed(tmp_path / "mnist.npz", **dict(zip(idx.ARRAYS, TINY.values(), strict=True)))
    by_files = idx.read(Source.open(save(tmp_path / "four", TINY)), "mnist")
    for path in (tmp_path / "mnist.npz", tmp_path):
        for one, other in zip(idx.read(Source.open(path), "mnist"), by_files, strict=True):
            np.testing.assert_array_equal(one, other)


def test_an_npz_file_with_other_pixels_is_refused(tiny, tmp_path):
    values = list(TINY.values())
    values[2] = values[2] + np.uint8(1)
    np.savez(tmp_path / "mnist.npz", **dict(zip(idx.ARRAYS, values, strict=True)))
    with pytest.raises(InputError, match=r"mnist.npz, x_test as an idx file, has the md5 \w+, the official file has"):
        idx.read(Source.open(tmp_path / "mnist.npz"), "mnist")


@pytest.mark.parametrize("content", [b"", b"PK damaged", {"x_train": np.zeros(3)}])
def test_an_npz_file_that_is_damaged_or_not_whole_is_refused(content, tmp_path):
    path = tmp_path / "mnist.npz"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.savez(path, **content)
    with pytest.raises(InputError, match="is damaged or lacks one of x_train, y_train, x_test, y_test"):
        idx.read(Source.open(path), "mnist")
