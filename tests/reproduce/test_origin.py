import shlex
from pathlib import Path

import torch
from click.testing import CliRunner

from labelnoise import __version__
from labelnoise.cli import main
from labelnoise.reproduce.committed import committed
from labelnoise.reproduce.origin import in_markdown, origin
from labelnoise.software import commit

FACTS = {"execution": {"executor": None, "precision": "auto", "eager": False, "deterministic": False}}
LATER = {
    "device": "H200",
    "executor": "streams",
    "execution": {"executor": None, "precision": "float32", "eager": False, "deterministic": True},
    "versions": {"labelnoise": "0.1", "torch": "2.12"},
    "finished": "2026-05-06T01:00:00+00:00",
}


def told(tmp_path):
    (found,) = committed(tmp_path / "results")
    own = {cell.cell: cell.runs for cell in found.cells}
    return dict(origin(found.table, found.recipe, own, "results/tiny/table1-paper"))


def test_runs_of_one_session_have_one_of_each(record, tmp_path):
    record()
    assert told(tmp_path) == {
        "command": "labelnoise reproduce tiny/table1 --methods CE --seeds 2 --out results/tiny/table1-paper",
        "runs": "4 of seeds 0, 1, finished 2026-05-04",
        "device": "cpu",
        "execution": "packed, precision auto",
        "software": "labelnoise 0.1, torch 2.11",
        "commit": "c0ffee",
    }


def test_of_several_it_is_said_how_many_runs_have_which(record, tmp_path):
    record()
    record({("GCE", "none"): (0.9, 0.9, 0.9)}, facts=LATER, commit="")
    found = told(tmp_path)
    assert "--only noise=none --methods GCE --seeds 3" in found["command"].splitlines()[1]
    assert found["runs"] == "7 of seeds 0, 1, 2, finished 2026-05-04 to 2026-05-06"
    assert found["device"] == "H200 (3 runs); cpu (4 runs)"
    exactly = "streams, precision float32, deterministic (3 runs)"
    assert found["execution"] == f"packed, precision auto (4 runs); {exactly}"
    assert found["software"] == "labelnoise 0.1, torch 2.11 (4 runs); labelnoise 0.1, torch 2.12 (3 runs)"
    assert found["commit"] == "c0ffee (4 runs); not known (3 runs)"


def test_in_markdown_commands_are_code(record, tmp_path):
    record()
    record({("GCE", "none"): (0.9, 0.9, 0.9)})
    first, second = told(tmp_path)["command"].splitlines()
    assert dict(in_markdown(told(tmp_path).items()))["command"] == f"`{first}`<br>`{second}`"


def test_a_command_uses_the_device_as_the_runs_did_and_auto_says_what_it_is_on_a_gpu(record, tmp_path):
    record(facts=LATER)
    typed = told(tmp_path)["command"]
    assert typed.endswith("--seeds 2 --deterministic --precision float32 --out results/tiny/table1-paper")
    record(facts=LATER | {"execution": FACTS["execution"]})
    assert told(tmp_path)["execution"].startswith("streams, precision auto (layers with BatchNorm in bfloat16")


def test_what_is_told_is_what_the_command_leaves_and_its_command_trains_nothing_more(tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = ["reproduce", "tiny/table1", "--only", "noise=none", "--methods", "CE", "--seeds", "1", "--device", "cpu"]
    done = CliRunner().invoke(main, [*asked, "--out", "results/tiny/table1-paper"])
    assert done.exit_code == 0, done.output
    found = told(tmp_path)
    assert (found["device"], found["software"]) == ("cpu", f"labelnoise {__version__}, torch {torch.__version__}")
    assert found["commit"] == (commit() or "not known")

    records = Path("results/tiny/table1-paper/runs.jsonl").read_text()
    again = CliRunner().invoke(main, shlex.split(found["command"])[1:])
    assert again.exit_code == 0, again.output
    assert Path("results/tiny/table1-paper/runs.jsonl").read_text() == records
