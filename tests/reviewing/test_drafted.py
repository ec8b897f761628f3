import os
import signal
from contextlib import contextmanager, suppress
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


@pytest.mark.parametrize("fails", [False, True])
def test_what_is_to_go_goes_with_the_coming_of_the_others(tmp_path, fails):
    for name in ("old", "older"):
        (tmp_path / name).mkdir()
    with suppress(KeyboardInterrupt), drafted(tmp_path, gone=[tmp_path / "old"]) as draft:
        (draft / "new").touch()
        assert (tmp_path / "old").exists()
        if fails:
            raise KeyboardInterrupt
    assert sorted(path.name for path in tmp_path.iterdir()) == (["old", "older"] if fails else ["new", "older"])


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


@contextmanager
def writing(out):
    """Another process that writes into a folder, and is killed in the end."""
    began, told = os.pipe()
    child = os.fork()
    if not child:
        with drafted(out) as draft:
            (draft / "page").touch()
            os.write(told, b"!")
            signal.pause()
    try:
        os.read(began, 1)
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(began)
        os.close(told)


def test_what_a_killed_process_has_left_goes_and_nothing_else(tmp_path):
    (tmp_path / ".mine.draft").mkdir()
    (tmp_path / f".{16 * 'a'}.draft").write_text("a file of somebody who may be alive")
    before = sorted(tmp_path.rglob("*"))
    with writing(tmp_path):
        pass
    (tmp_path / f".{16 * 'b'}.draft" / "old").mkdir(parents=True)  # of a version without locks
    assert len(list(tmp_path.iterdir())) == 4
    check_writable(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


def test_what_a_process_that_is_alive_writes_stays(tmp_path):
    with writing(tmp_path):
        before = sorted(tmp_path.rglob("*"))
        with drafted(tmp_path) as draft:
            (draft / "other").touch()
            check_writable(tmp_path)  # in this process too
        assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / "other"])


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
