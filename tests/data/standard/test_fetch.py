import sys
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest

from labelnoise.data import load
from labelnoise.data.standard import convert
from labelnoise.data.standard.fetch import fetch
from labelnoise.data.standard.parts import Parts
from labelnoise.errors import InputError


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    """A data root that is not there yet."""
    monkeypatch.setenv("LABELNOISE_DATA", str(tmp_path / "root"))
    return tmp_path / "root"


@pytest.fixture
def torchvision(monkeypatch):
    """One whose classes note how they were called; what they are to do can be set."""
    module = SimpleNamespace(calls=[], act=lambda folder: None)

    def downloader(name):
        def download(folder, **wishes):
            module.calls.append((name, wishes))
            module.act(folder)

        return download

    for name in ("MNIST", "FashionMNIST", "CIFAR10", "CIFAR100", "SVHN"):
        setattr(module, name, downloader(name))
    monkeypatch.setitem(sys.modules, "torchvision", SimpleNamespace(datasets=module))
    monkeypatch.setitem(sys.modules, "torchvision.datasets", module)
    return module


def reader(name):
    def read(source, wanted):
        assert wanted == name
        pixels = np.frombuffer(source.read(source.find("pixels"), most=100), np.uint8).reshape(2, 1, 1, 1)
        return Parts(pixels, np.array([0, 1]), pixels, np.array([1, 0]), ("a", "b"))

    return read


def test_what_torchvision_downloads_is_converted_and_removed(root, torchvision, monkeypatch):
    def write(folder):
        with open(f"{folder}/pixels", "wb") as file:
            file.write(b"\x05\x06")

    torchvision.act = write
    monkeypatch.setitem(convert.READERS, "mnist", convert.images(reader("mnist")))
    said = []
    path = fetch("mnist", say=said.append)
    assert path == root / "mnist.npz"
    assert [each.name for each in root.iterdir()] == ["mnist.npz"]
    assert load("mnist", 0).x.flatten().tolist() == [5, 6, 5, 6]
    assert said[0] == "downloading MNIST, handwritten digits, 12 MB"


@pytest.mark.parametrize(
    ("name", "made_by", "parts"),
    [
        ("mnist", "MNIST", [{"train": True}, {"train": False}]),
        ("fashion_mnist", "FashionMNIST", [{"train": True}, {"train": False}]),
        ("cifar10", "CIFAR10", [{"train": True}, {"train": False}]),
        ("cifar100", "CIFAR100", [{"train": True}, {"train": False}]),
        ("svhn", "SVHN", [{"split": "train"}, {"split": "test"}]),
    ],
)
def test_both_parts_are_asked_for_as_torchvision_wants_it(torchvision, name, made_by, parts):
    with pytest.raises(InputError, match=r"holds (no file|neither)"):  # nothing was written
        fetch(name)
    assert torchvision.calls == [(made_by, {"download": True} | part) for part in parts]


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (URLError("Name or service not known"), "<urlopen error Name or service not known>"),
        (RuntimeError("Error downloading x:\nlong story"), "Error downloading x:"),
        (ConnectionResetError(), "ConnectionResetError"),
    ],
)
def test_without_a_network_one_sentence_says_what_to_get(root, torchvision, problem, reason):
    def fail(_):
        raise problem

    torchvision.act = fail
    with pytest.raises(InputError) as told:
        fetch("cifar10")
    assert str(told.value).startswith(f"cifar10 cannot be downloaded now ({reason}); get cifar-10-python.tar.gz")
    assert list(root.iterdir()) == []


@pytest.mark.parametrize("broken", [None, RuntimeError("operator torchvision::nms does not exist")])
def test_without_a_working_torchvision_one_sentence_says_what_to_get(root, monkeypatch, broken):
    def fail(_):
        raise broken

    monkeypatch.setitem(sys.modules, "torchvision", None)  # whose import is then an ImportError
    if broken:
        monkeypatch.setattr("labelnoise.data.standard.fetch.import_module", fail)
    with pytest.raises(
        InputError, match=r"^svhn is downloaded by torchvision, which cannot be imported; install it, or get"
    ):
        fetch("svhn")
    assert not root.exists()


@pytest.mark.parametrize("name", ["cifar10n", "cifar100n", "clothing1m", "imagenet"])
def test_what_torchvision_does_not_have_is_told_how_to_be_converted(torchvision, name):
    with pytest.raises(
        InputError, match=rf"^{name} cannot be downloaded by a program; get .* data convert {name} PATH`"
    ):
        fetch(name)
    assert torchvision.calls == []


def test_a_set_that_is_there_is_not_downloaded_again(root, torchvision):
    root.mkdir()
    (root / "mnist.npz").write_text("mine")
    with pytest.raises(InputError, match=r"mnist\.npz exists; use --force to replace it"):
        fetch("mnist")
    assert torchvision.calls == []
    assert (root / "mnist.npz").read_text() == "mine"
