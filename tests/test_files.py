import errno
import os
import threading
from pathlib import Path

import pytest

from labelnoise.errors import InputError
from labelnoise.files import discard_drafts, write


@pytest.fixture
def path(tmp_path):
    return tmp_path / "words.txt"


def dying(problem):
    def die(*_, **__):
        raise problem

    return die


def names(folder):
    return [each.name for each in folder.iterdir()]


@pytest.mark.parametrize("content", ["né\r\n", b"\x00\xff\n", ""])
def test_text_and_bytes_are_written_as_they_are(path, content):
    write(path, "before")
    write(path, content)
    assert path.read_bytes() == (content if isinstance(content, bytes) else content.encode("utf-8"))
    assert names(path.parent) == ["words.txt"]


def test_a_function_writes_piece_by_piece_and_the_old_file_stays_until_it_is_done(path):
    def fill(file):
        file.write(b"one ")
        assert path.read_text() == "before"
        file.write(b"two")

    write(path, "before")
    write(path, fill)
    assert path.read_text() == "one two"
    assert names(path.parent) == ["words.txt"]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_file_follows_the_umask(path, umask, mode):
    before = os.umask(umask)
    try:
        write(path, "x")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("dies_in", ["fsync", "replace"])
def test_a_write_that_dies_leaves_the_old_file_and_no_draft(path, monkeypatch, dies_in):
    write(path, "old")
    monkeypatch.setattr(os if dies_in == "fsync" else Path, dies_in, dying(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        write(path, "new")
    assert path.read_text() == "old"
    assert names(path.parent) == ["words.txt"]


def test_the_content_is_on_the_disk_before_the_name_and_the_name_before_it_returns(path, monkeypatch):
    order, sync, move = [], os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda number: (order.append(os.path.isdir(f"/dev/fd/{number}")), sync(number)))
    monkeypatch.setattr(Path, "replace", lambda self, to: (order.append("move"), move(self, to)))
    write(path, "x")
    assert order == [False, "move", True]


def test_writers_of_one_file_never_meet(path):
    contents = [str(number) * 100_000 for number in range(8)]
    threads = [threading.Thread(target=write, args=(path, content)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() in contents
    assert names(path.parent) == ["words.txt"]


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.ENOSPC, r"\(No space left on device\); free space and type the command again"),
        (errno.EDQUOT, r"\(Disk quota exceeded\); free space and type the command again"),
        (errno.EACCES, r"\(Permission denied\); mend that and type the command again"),
    ],
)
def test_what_the_system_refuses_is_one_sentence_and_the_old_file_stays(path, monkeypatch, number, sentence):
    write(path, "old")
    monkeypatch.setattr(os, "fsync", dying(OSError(number, os.strerror(number))))
    with pytest.raises(InputError, match=rf"^cannot write .*words\.txt {sentence}$"):
        write(path, "new")
    assert path.read_text() == "old"
    assert names(path.parent) == ["words.txt"]


def test_a_folder_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^there is no folder nodir; make it first$"):
        write(Path("nodir/p.csv"), "x")


def test_a_link_stays_a_link(path):
    path.write_text("old")
    link = path.with_name("link")
    link.symlink_to("words.txt")
    write(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"


def test_what_is_no_ordinary_file_is_never_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        with pytest.raises(InputError, match=r"^cannot write .* \(it is no ordinary file\); choose another place$"):
            write(path, "x")
    assert pipe.is_fifo()


def test_drafts_of_a_killed_process_are_discarded_and_nothing_else(path, monkeypatch):
    child = os.fork()
    if not child:
        monkeypatch.setattr(Path, "replace", lambda *_: os._exit(1))
        write(path, "half")
    os.waitpid(child, 0)
    (left,) = names(path.parent)
    assert left.endswith(".draft")
    write(path, "whole")
    discard_drafts(path.parent)
    assert names(path.parent) == ["words.txt"]


def test_a_folder_of_drafts_may_be_of_a_living_process_and_stays(tmp_path):
    (tmp_path / ".0123456789abcdef.draft").mkdir()
    discard_drafts(tmp_path)
    assert len(names(tmp_path)) == 1
