from labelnoise.papers import Cell, paper
from labelnoise.reproduce.needed import missing


def test_all_data_sets_that_are_not_there_are_named_once_with_how_to_get_them(tmp_path, monkeypatch):
    monkeypatch.setenv("LABELNOISE_DATA", str(tmp_path))
    told = missing(paper("f_divergence").cells("table3"))
    assert told.startswith(f"mnist, fashion_mnist, cifar10, cifar100: not in the data root {tmp_path}; ")


def test_labels_of_other_images_need_these_too(tmp_path, monkeypatch):
    monkeypatch.setenv("LABELNOISE_DATA", str(tmp_path))
    (tmp_path / "cifar10n.npz").touch()
    cells = [Cell("cifar10n:worst", "none", "CE", 59.01, 0.98, best=False)]
    assert missing(cells).startswith(f"cifar10: not in the data root {tmp_path}; ")
    (tmp_path / "cifar10.npz").touch()
    assert missing(cells) == ""


def test_made_up_data_are_always_there(tmp_path, monkeypatch):
    monkeypatch.setenv("LABELNOISE_DATA", str(tmp_path))
    assert missing([Cell(name, "none", "CE", 90.0, 1.0, best=False) for name in ("digits", "moons")]) == ""
