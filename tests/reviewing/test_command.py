import shlex

import pytest

from labelnoise.cli_audit import _names, audit
from labelnoise.cli_data import own_data, settings_of
from labelnoise.config import Data
from labelnoise.data import Dataset
from labelnoise.reviewing.command import OPTIONS, command
from labelnoise.reviewing.source import Source

DATA = Dataset.from_arrays([[0.0], [1.0]], [0, 1])


def typed(settings, named=()):
    """The words after the name of the command, as a shell has them."""
    labelnoise, name, *words = shlex.split(command(Source(None, settings, DATA, named=named), "corrections.csv"))
    assert (labelnoise, name) == ("labelnoise", "audit")
    return words


def test_data_that_need_no_option_have_none():
    assert typed(Data("photos")) == ["photos", "--apply", "corrections.csv"]


@pytest.mark.parametrize(
    "settings",
    [
        Data("s.csv", label_column="answer", id_column="person"),
        Data("my data.csv", label_column="it's", true_label_column='"', drop=("a b", "c,d", "true", "[")),
        Data("s.csv", image_column="1", categorical=("é", "x\\y", "a'b")),
        Data("s.csv", image_column="file", categorical=("=1",)),
        Data("x.npy", labels="y.npy", true_labels="null", image_size=32),
    ],
)
@pytest.mark.parametrize("named", [(), ("no", "yes, never", 'a "b"')])
def test_the_command_reads_the_data_as_they_were_read(settings, named, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corrections.csv").touch()
    given = audit.make_context("audit", typed(settings, named)).params
    options = {name: given[name] for name in OPTIONS}
    assert settings_of(given["data"], options, given["keys"]) == settings
    assert (_names(given["classes"]) or ()) == named
    assert [path.name for path in given["applied"]] == ["corrections.csv"]


def test_the_options_are_those_of_the_command():
    taking = own_data(lambda: None)
    assert {option.name for option in taking.__click_params__} == set(OPTIONS)
