import hashlib
import io

import numpy as np
import pytest
from scipy.io import savemat

from labelnoise.data.standard import svhn
from labelnoise.data.standard.source import Source
from labelnoise.errors import InputError

RNG = np.random.default_rng(0)
X = RNG.integers(256, size=(32, 32, 3, 4), dtype=np.uint8)
Y = np.array([[10], [1], [9], [10]], np.uint8)


def written(compressed=True, **variables):
    file = io.BytesIO()
    savemat(file, {"X": X, "y": Y} | variables, do_compression=compressed)
    return file.getvalue()


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("kind", [np.uint8, np.float64])
def test_images_come_first_and_ten_is_zero(kind, compressed):
    x, y = svhn.parse_mat(written(compressed, y=Y.astype(kind)), "file")
    assert x.shape == (4, 3, 32, 32)
    assert x.flags.c_contiguous
    for row, channel, height, width in [(0, 0, 0, 0), (3, 2, 5, 7), (1, 1, 31, 2)]:
        assert x[row, channel, height, width] == X[height, width, channel, row]
    assert y.tolist() == [0, 1, 9, 0]
    assert y.dtype == np.int64


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "file is damaged or no MATLAB file"),
        (b"rubbish" * 100, "file is damaged or no MATLAB file"),
        (written()[:200], "file has no variable 'y' or is cut short"),
        (written(compressed=False)[:5000], "file has no variable 'y' or is cut short"),
        (written()[:-20], "file is damaged or no MATLAB file"),
        (written(compressed=False)[:-4], "file is damaged or cut short"),
        (written(y=Y - 0.5), "file: a label is none of 1 to 10"),
        (
            b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(512) + b"\x89HDF\r\n\x1a\n",
            "version 7.3, the official one is",
        ),
        (b"\x89HDF\r\n\x1a\n" + bytes(1000), "file is a MATLAB file of version 7.3, the official one is of version 5"),
        (written(X=X[..., 0]), r"file: X is uint8 \(32, 32, 3\), not uint8 \(32, 32, 3, N\)"),
        (written(X=X.transpose(3, 0, 1, 2)), r"file: X is uint8 \(4, 32, 32, 3\), not uint8 \(32, 32, 3, N\)"),
        (written(X=X.astype(float)), r"file: X is double \(32, 32, 3, 4\), not uint8 \(32, 32, 3, N\)"),
        (written(X=np.array([[1, "a"]], object)), r"file: X is cell \(1, 2\), not uint8"),
        (written(X={"a": 1}), r"file: X is struct \(1, 1\), not uint8"),
        (written(y=Y[:3]), r"file: y is uint8 \(3, 1\), not a number for each of 4 images"),
        (written(y=Y.T), r"file: y is uint8 \(1, 4\), not a number for each of 4 images"),
        (written(y=np.array([["a"]] * 4, object)), r"file: y is cell \(4, 1\), not a number for each of 4 images"),
        (written(y=Y % 10), "file: a label is none of 1 to 10"),
        (written(y=Y + 1), "file: a label is none of 1 to 10"),
        (written(y=np.full((4, 1), np.nan)), "file: a label is none of 1 to 10"),
    ],
)
def test_what_is_no_such_file_is_refused(content, message):
    with pytest.raises(InputError, match=f"{message}.*; download it again$"):
        svhn.parse_mat(content, "file")


def test_a_variable_that_is_missing_is_named():
    file = io.BytesIO()
    savemat(file, {"X": X})
    with pytest.raises(InputError, match=r"^file has no variable 'y' or is cut short; download it again$"):
        svhn.parse_mat(file.getvalue(), "file")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Tiny files that count as the official ones."""
    contents = {"train_32x32.mat": written(), "test_32x32.mat": written(X=X[..., :2], y=Y[:2])}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    digests = {name: f"md5:{hashlib.md5(content).hexdigest()}" for name, content in contents.items()}
    monkeypatch.setattr(svhn, "DIGESTS", digests)
    monkeypatch.setattr(svhn, "KNOWN", {digest: name for name, digest in digests.items()})
    return tmp_path


def test_both_files_are_read(folder):
    parts = svhn.read(Source.open(folder))
    assert parts.x_train.shape == (4, 3, 32, 32)
    assert parts.x_test.shape == (2, 3, 32, 32)
    assert parts.y_train.tolist() == [0, 1, 9, 0]
    assert parts.y_test.tolist() == [0, 1]
    assert parts.classes == tuple("0123456789")


def test_a_missing_file_is_named(folder):
    (folder / "test_32x32.mat").unlink()
    with pytest.raises(InputError, match=r"holds no file 'test_32x32.mat'; "):
        svhn.read(Source.open(folder))


def test_exchanged_files_are_called_by_their_names(folder):
    (folder / "train_32x32.mat").rename(folder / "x")
    (folder / "test_32x32.mat").rename(folder / "train_32x32.mat")
    (folder / "x").rename(folder / "test_32x32.mat")
    with pytest.raises(
        InputError, match=r"train_32x32\.mat is really test_32x32\.mat; put the right file in its place$"
    ):
        svhn.read(Source.open(folder))


def test_a_changed_file_is_refused(folder):
    (folder / "test_32x32.mat").write_bytes(written(X=X[..., 2:], y=Y[2:]))
    with pytest.raises(
        InputError, match=r"test_32x32\.mat has the md5 \w{32}, the official file has \w{32}; download it"
    ):
        svhn.read(Source.open(folder))
