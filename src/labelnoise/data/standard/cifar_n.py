"""CIFAR-10N and CIFAR-100N: human labels of the training images, in the order of the Python and binary versions."""

import hashlib
import io
import zipfile
from pathlib import Path
from typing import Any

from numpy.lib import format as npy

from labelnoise.data.standard.parts import Labels, labels_in, sha256
from labelnoise.data.standard.source import Source
from labelnoise.data.standard.unpickle import torch_objects
from labelnoise.errors import InputError

MOST = 4_000_000  # bytes; the larger file has 2,401,007
FILES = {
    "CIFAR-10_human.pt": "873e69c39cb9b5e97fb6bae2d60bb59b38a5cbc31d2b868f7903dcb2b9dd2310",
    "CIFAR-100_human.pt": "bd2d80409754d420292d622e15e25248ba21e37d27429efac49c8da723f44394",
}
# Of the labels as int64, little end first.
CIFAR10N = {
    "clean_label": "f5cfe00b0f00968c0cc5ff3b1d2de51b10e33efa277c2986f4e0fa63e58c9f4f",
    "aggre_label": "b3c3d486d22c3055756e7b1b1a0e98b099c1d68b771633023b0f76fa2e09ede6",
    "worse_label": "a64d887522cf6d8f4966912a1536ea2d890600929a8465a7f307cdca2501847b",
    "random_label1": "b5dc9007ae247a48ce267bec37a1310b0cd65ed73801ca7e595fb954902575a7",
    "random_label2": "1182c45d3a24636640fe1e3743b9566b6fabe86b2ed14f6b8216799e209a0d4e",
    "random_label3": "b51e116c617ded2c98be095ba8b3abae8adfa6caa54f7f6eedf50c7aed013d44",
}
CIFAR100N = {
    "clean_label": "8bf4935e7c77a3096270043c6f3b221b6ecb9c63d1a08608e9af66cff17e977a",
    "noisy_label": "4a1efd5da7a214b299cf6ac0bafe3f0d48c065b7aa2d40aa185d4711714bb311",
    "clean_coarse_label": "9f99c2cdae93cf09da2fc6497c96ab042c6dc02c456a2e86dcffd2305df5a2e9",
    "noisy_coarse_label": "e9bf8a7532d69a39e87e638082366b9466ad36cf76305612532d50fc94123d49",
}


LABELS = {"CIFAR-10N": CIFAR10N, "CIFAR-100N": CIFAR100N}


def read(path: Path) -> dict[str, Labels]:
    """The labels of CIFAR-10_human.pt, CIFAR-100_human.pt or an .npz file with the same names, 50,000 of each."""
    if path.suffix == ".npy":
        raise InputError(f"{path} has the order of another library; take {' or '.join(FILES)} instead")
    if path.suffix not in (".pt", ".npz") or not path.is_file():
        raise InputError(f"{path} is no .pt or .npz file; name {' or '.join(FILES)} as downloaded")
    content = Source.open(path).read(path.name, most=MOST)
    if path.suffix == ".npz":
        return _verified(parse_npz(content, str(path)), path)
    _check_file(content, path)
    return _verified(parse_pt(content, str(path)), path)


def parse_pt(content: bytes, origin: str) -> dict[str, Labels]:
    """The labels in a file written by torch.save: a dictionary of arrays and lists of whole numbers."""
    held = torch_objects(content, origin)
    if not isinstance(held, dict):
        raise InputError(f"{origin} holds no dictionary of labels; download it again")
    return {key: _vector(values, origin, key) for key, values in held.items() if key in _keys()}


def parse_npz(content: bytes, origin: str) -> dict[str, Labels]:
    """The labels in an .npz file with the original names, whatever else it holds."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = [name for name in archive.namelist() if name.removesuffix(".npy") in _keys()]
            members = {name.removesuffix(".npy"): _member(archive, name) for name in names}
            held = {key: npy.read_array(io.BytesIO(member), allow_pickle=False) for key, member in members.items()}
    except Exception:  # a damaged file may make numpy and zipfile raise anything
        raise InputError(f"{origin} is damaged or no .npz file of plain arrays; download it again") from None
    return {key: _vector(values, origin, key) for key, values in held.items()}


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    with archive.open(name) as file:
        content = file.read(MOST + 1)
    if len(content) > MOST:
        raise zipfile.BadZipFile
    return content


def _keys() -> set[str]:
    return {key for digests in LABELS.values() for key in digests}


def _vector(values: Any, origin: str, key: str) -> Labels:
    labels = labels_in(values)
    if labels is None:
        raise InputError(f"{origin}: {key!r} is no row of whole numbers; download it again")
    return labels


def _check_file(content: bytes, path: Path) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found not in FILES.values():
        expected = " and ".join(f"{digest} ({file})" for file, digest in FILES.items())
        raise InputError(f"{path} has the sha256 {found}, the official files have {expected}; download it again")


def _verified(labels: dict[str, Labels], path: Path) -> dict[str, Labels]:
    digests = next((digests for digests in LABELS.values() if set(digests) == set(labels)), None)
    if digests is None:
        needed = "; or ".join(", ".join(digests) for digests in LABELS.values())
        raise InputError(f"{path} holds {', '.join(sorted(labels)) or 'no labels'}, and needs {needed}")
    for key, digest in digests.items():
        if sha256(labels[key]) != digest:
            raise InputError(f"{path}: {key!r} has been changed or is in another order; download it again")
    return labels
