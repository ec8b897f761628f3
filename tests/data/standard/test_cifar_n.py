import hashlib
import io
import os
import pickle
import zipfile

import numpy as np
import pytest
import torch

from labelnoise.data.standard import cifar_n
from labelnoise.errors import InputError

RNG = np.random.default_rng(0)
TEN = {key: RNG.integers(10, size=20) for key in cifar_n.CIFAR10N}
HUNDRED = {key: RNG.integers(20, size=20) for key in cifar_n.CIFAR100N}
AS_WRITTEN = HUNDRED | {key: HUNDRED[key].tolist() for key in ("clean_coarse_label", "noisy_coarse_label")}


def in_torch(held, zipped=True):
    file = io.BytesIO()
    torch.save(held, file, _use_new_zipfile_serialization=zipped)
    return file.getvalue()


def in_npz(held):
    file = io.BytesIO()
    np.savez_compressed(file, **held)
    return file.getvalue()


def same(found, expected):
    assert set(found) == set(expected)
    for key, values in expected.items():
        np.testing.assert_array_equal(found[key], values, strict=True)


@pytest.fixture
def official(monkeypatch):
    """Tiny labels and files that count as the official ones."""
    contents = {"CIFAR-10_human.pt": in_torch(TEN, zipped=False), "CIFAR-100_human.pt": in_torch(AS_WRITTEN)}
    monkeypatch.setattr(
        cifar_n, "FILES", {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    )
    labels = {"CIFAR-10N": TEN, "CIFAR-100N": HUNDRED}
    digests = {
        name: {key: hashlib.sha256(values.tobytes()).hexdigest() for key, values in held.items()}
        for name, held in labels.items()
    }
    monkeypatch.setattr(cifar_n, "LABELS", digests)
    return contents


def save(path, content):
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize(("held", "expected"), [(TEN, TEN), (AS_WRITTEN, HUNDRED)])
def test_labels_in_a_file_of_torch_are_read(held, expected, zipped):
    same(cifar_n.parse_pt(in_torch(held | {"other": 1}, zipped), "file"), expected)


def test_labels_in_an_npz_file_are_read_whatever_else_it_holds():
    small = {key: values.astype(np.int8) for key, values in TEN.items()}
    same(cifar_n.parse_npz(in_npz(small | {"side_Worker1_id": np.zeros(3)}), "file"), TEN)


@pytest.mark.parametrize(("name", "expected"), [("CIFAR-10_human.pt", TEN), ("CIFAR-100_human.pt", HUNDRED)])
def test_official_files_are_read_under_any_name(name, expected, official, tmp_path):
    same(cifar_n.read(save(tmp_path / name, official[name])), expected)
    same(cifar_n.read(save(tmp_path / "labels.pt", official[name])), expected)


@pytest.mark.usefixtures("official")
@pytest.mark.parametrize("expected", [TEN, HUNDRED])
def test_an_npz_file_with_the_official_labels_is_read(expected, tmp_path):
    same(cifar_n.read(save(tmp_path / "labels.npz", in_npz(expected))), expected)


@pytest.mark.usefixtures("official")
def test_a_file_of_torch_with_another_checksum_is_refused_unread(tmp_path):
    path = save(tmp_path / "CIFAR-10_human.pt", in_torch(TEN))
    with pytest.raises(
        InputError, match=r"has the sha256 \w{64}, the official files have \w{64} \(CIFAR-10_human\.pt\)"
    ):
        cifar_n.read(path)


class Evil:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("zipped", [True, False])
def test_a_hostile_file_does_nothing_whatever_its_checksum(zipped, tmp_path, monkeypatch):
    content = in_torch(TEN | {"aggre_label": [Evil(str(tmp_path / "marker"))]}, zipped)
    path = save(tmp_path / "CIFAR-10_human.pt", content)
    with pytest.raises(InputError, match=r"has the sha256"):
        cifar_n.read(path)
    monkeypatch.setattr(cifar_n, "FILES", {"CIFAR-10_human.pt": hashlib.sha256(content).hexdigest()})
    with pytest.raises(InputError, match=r"asks for 'posix\.mkdir', where only arrays and plain containers may be; "):
        cifar_n.read(path)
    assert not (tmp_path / "marker").exists()


def test_a_hostile_npz_file_does_nothing(tmp_path):
    file = io.BytesIO()
    np.savez(file, clean_label=np.array([Evil(str(tmp_path / "marker"))], object))
    with pytest.raises(InputError, match=r"^file is damaged or no \.npz file of plain arrays; download it again$"):
        cifar_n.parse_npz(file.getvalue(), "file")
    assert not (tmp_path / "marker").exists()


def npz_with(member):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("clean_label.npy", member)
    return file.getvalue()


HEADER = b"{'descr': '<i8', 'fortran_order': False, 'shape': (100000000000000,), }".ljust(117) + b"\n"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"rubbish",
        in_npz(TEN)[:500],
        npz_with(b"rubbish"),
        npz_with(bytes(10_000_000)),
        npz_with(b"\x93NUMPY\1\0" + len(HEADER).to_bytes(2, "little") + HEADER),
    ],
)
def test_an_npz_file_that_is_damaged_or_a_bomb_is_refused(content):
    with pytest.raises(InputError, match=r"^file is damaged or no \.npz file of plain arrays; download it again$"):
        cifar_n.parse_npz(content, "file")


@pytest.mark.parametrize("values", [np.zeros(3), np.zeros((2, 2), int), ["a"], [2**70], [1.5], 7, None])
def test_what_is_no_row_of_whole_numbers_is_refused(values):
    with pytest.raises(InputError, match=r"^file: 'clean_label' is no row of whole numbers; download it again$"):
        cifar_n.parse_pt(in_torch({"clean_label": values}), "file")


def test_a_file_of_torch_without_a_dictionary_is_refused():
    with pytest.raises(InputError, match=r"^file holds no dictionary of labels; download it again$"):
        cifar_n.parse_pt(in_torch([1, 2]), "file")


@pytest.mark.usefixtures("official")
@pytest.mark.parametrize("key", TEN)
def test_one_other_label_is_seen(key, tmp_path):
    changed = TEN[key].copy()
    changed[[0, 1]] = changed[[1, 0]] + [0, 1]
    path = save(tmp_path / "a.npz", in_npz(TEN | {key: changed}))
    with pytest.raises(
        InputError, match=rf"a\.npz: '{key}' has been changed or is in another order; download it again$"
    ):
        cifar_n.read(path)


@pytest.mark.usefixtures("official")
@pytest.mark.parametrize(
    ("held", "found"), [({"x": np.zeros(3)}, "no labels"), ({"clean_label": TEN["clean_label"]}, "clean_label")]
)
def test_missing_labels_are_named(held, found, tmp_path):
    with pytest.raises(InputError) as error:
        cifar_n.read(save(tmp_path / "a.npz", in_npz(held)))
    assert str(error.value) == (f"{tmp_path}/a.npz holds {found}, and needs {', '.join(TEN)}; or {', '.join(HUNDRED)}")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.npy", "has the order of another library; take CIFAR-10_human.pt or CIFAR-100_human.pt instead"),
        ("a.txt", "is no .pt or .npz file; name CIFAR-10_human.pt or CIFAR-100_human.pt as downloaded"),
        ("", "is no .pt or .npz file; name CIFAR-10_human.pt or CIFAR-100_human.pt as downloaded"),
    ],
)
def test_other_files_and_folders_are_refused(name, message, tmp_path):
    (tmp_path / "a.npy").write_bytes(pickle.dumps({}))
    with pytest.raises(InputError) as error:
        cifar_n.read(tmp_path / name)
    assert str(error.value) == f"{tmp_path / name} {message}"


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        (
            "cifar10n",
            {
                "aggre_label": 4505,
                "random_label1": 8617,
                "random_label2": 9061,
                "random_label3": 8820,
                "worse_label": 20104,
            },
        ),
        ("cifar100n", {"noisy_label": 20100}),
    ],
)
def test_the_real_labels_are_wrong_as_often_as_published(name, wrong, real, tmp_path):
    held = real(f"{name}.npz")
    labels = cifar_n.read(save(tmp_path / "a.npz", in_npz({key: held[key] for key in held if "label" in key})))
    assert all(len(values) == 50_000 for values in labels.values())
    assert {key: int((labels[key] != labels["clean_label"]).sum()) for key in wrong} == wrong


def test_the_first_real_labels_are_the_published_ones(real, tmp_path):
    first = {
        "clean_label": [6, 9, 9, 4, 1, 1, 2, 7, 8, 3],
        "aggre_label": [6, 9, 9, 4, 1, 1, 2, 7, 8, 0],
        "worse_label": [4, 9, 0, 5, 1, 9, 2, 4, 8, 8],
        "random_label1": [6, 9, 9, 4, 1, 1, 2, 7, 8, 3],
        "random_label2": [4, 9, 9, 5, 1, 1, 2, 7, 8, 0],
        "random_label3": [6, 9, 0, 4, 1, 9, 2, 4, 8, 8],
    }
    held = real("cifar10n.npz")
    labels = cifar_n.read(save(tmp_path / "a.npz", in_npz({key: held[key] for key in held if "label" in key})))
    assert {key: labels[key][:10].tolist() for key in first} == first
