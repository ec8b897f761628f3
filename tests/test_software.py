import platform
import subprocess

import pytest
import torch

from labelnoise import software
from labelnoise.software import commit, versions


@pytest.fixture(autouse=True)
def forgetful():
    commit.cache_clear()
    yield
    commit.cache_clear()


def test_versions_are_those_of_this_process():
    found = versions()
    assert (found["torch"], found["python"]) == (torch.__version__, platform.python_version())
    assert set(found) == {"labelnoise", "python", "torch", "numpy"}


def test_the_commit_is_that_of_the_tree_and_says_whether_it_was_changed(tmp_path, monkeypatch):
    def git(*words):
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        done = subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    package, records = tmp_path / "package", tmp_path / "runs.jsonl"
    package.mkdir()
    git("init", "-q")
    for path in (package / "file.py", records):
        path.write_text("1")
    git("add", ".")
    git("commit", "-qm", "one")
    monkeypatch.setattr(software, "__file__", str(package / "file.py"))
    assert commit() == git("rev-parse", "HEAD")

    commit.cache_clear()
    records.write_text("2")  # which is no code
    assert commit() == git("rev-parse", "HEAD")

    commit.cache_clear()
    (package / "file.py").write_text("2")
    assert commit() == git("rev-parse", "HEAD") + "-dirty"

    commit.cache_clear()
    (package / "installed.py").write_text("3")
    monkeypatch.setattr(software, "__file__", str(package / "installed.py"))  # in a tree that does not keep it
    assert commit() == ""


def test_without_git_the_commit_is_what_one_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(software, "__file__", str(tmp_path / "file.py"))
    assert commit() == ""
    commit.cache_clear()
    monkeypatch.setenv("LABELNOISE_COMMIT", "c0ffee")
    assert commit() == "c0ffee"
