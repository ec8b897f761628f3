from pathlib import Path

import pytest

from labelnoise.errors import InputError
from labelnoise.reviewing.drafted import check_writable, drafted


def test_files_come_together_and_replace_old_ones(tmp_path):
    out = tmp_path / "a" / "b"
    for text in ("first", "second"):
        with drafted(out) as draft:
            (draft / "page").write_text(text)
            (draft / "folder").mkdir()
            (draft / "folder" / text).touch()
            assert text == "first" or (out / "page").read_text() == "first"
        assert sorted(path.name for path in out.iterdir()) == ["folder", "page"]
        assert (out / "page").read_text() == text
        assert [path.name for path in (out / "folder").iterdir()] == [text]


def interrupted(out):
    with drafted(out) as draft:
        (draft / "page").touch()
        raise KeyboardInterrupt


@pytest.mark.parametrize("there", [False, True])
def test_where_something_fails_all_is_as_before(tmp_path, there):
    if there:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "mine").touch()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(KeyboardInterrupt):
        interrupted(tmp_path / "out")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_place_that_can_be_written_to_is_left_as_it_was(tmp_path):
    check_writable(tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot write"):
        check_writable(tmp_path / "file" / "out")


def test_a_folder_that_cannot_be_replaced_is_there_as_before(tmp_path, monkeypatch):
    out = tmp_path / "audit"
    (out / "cleaned").mkdir(parents=True)
    (out / "cleaned" / "image.png").write_text("old")

    def refuse(path, target):
        raise OSError(28, "No space left on device")

    def write():
        with drafted(out) as draft:
            (draft / "cleaned").mkdir()
            monkeypatch.setattr(Path, "replace", refuse)

    with pytest.raises(InputError):
        write()
    assert (out / "cleaned" / "image.png").read_text() == "old"
    assert [path.name for path in out.iterdir()] == ["cleaned"]
