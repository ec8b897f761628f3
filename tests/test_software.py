import platform
import subprocess

import torch

from labelnoise import software
from labelnoise.software import commit, versions


def test_versions_are_those_of_this_process():
    found = versions()
    assert (found["torch"], found["python"]) == (torch.__version__, platform.python_version())
    assert set(found) == {"labelnoise", "python", "torch", "numpy"}


def test_the_commit_is_that_of_the_tree_and_says_whether_it_was_changed(tmp_path, monkeypatch):
    def git(*words):
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        done = subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "-q")
    (tmp_path / "file.py").write_text("1")
    git("add", ".")
    git("commit", "-qm", "one")
    monkeypatch.setattr(software, "__file__", str(tmp_path / "file.py"))
    assert commit() == git("rev-parse", "HEAD")
    (tmp_path / "file.py").write_text("2")
    assert commit() == git("rev-parse", "HEAD") + "-dirty"


def test_without_git_there_is_no_commit(tmp_path, monkeypatch):
    monkeypatch.setattr(software, "__file__", str(tmp_path / "file.py"))
    assert commit() == ""
