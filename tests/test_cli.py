import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from labelnoise import __version__
from labelnoise.cli import DEMO, main
from labelnoise.data.dataset import DATASETS
from labelnoise.methods import METHODS
from labelnoise.nets import NETS
from labelnoise.testing import CHECKS

TINY = ["--data", "gaussians", "--methods", "ce,gce", "--seeds", "2", "--epochs", "3", "--batch", "512"]

# The command once undisturbed, then again and again in a child that a real SIGKILL ends at one of its moments.
KILLED = """
import os, signal, sys
from functools import partial
from pathlib import Path
from labelnoise.cli import main
from labelnoise.engine import checkpoint, loop
from labelnoise.sweep import run

executor, *moments = sys.argv[1:]
command = ["train", "--data", "gaussians", "--methods", "forward", "--seeds", "2", "--epochs", "4", "--batch", "256"]
command += ["--executor", executor, "--device", "cpu", "--quiet", "--out"]
main([*command, "whole"], standalone_mode=False)
run.Checkpointer = partial(checkpoint.Checkpointer, every_seconds=0.0)

def die_at(owner, name, count, after):
    function = getattr(owner, name)
    left = [count]
    def counting(*args, **kwargs):
        left[0] -= 1
        result = function(*args, **kwargs) if after or left[0] else None
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    setattr(owner, name, counting)

WHERE = {
    "step": (loop.Training, "_note", True),
    "half a checkpoint": (checkpoint, "save_file", True),
    "checkpoint": (loop.Training, "save", True),
    "records": (run.Journal, "write", True),
    "before records": (run.Journal, "write", False),
}
for moment in [*moments, ""]:
    child = os.fork()
    if not child:
        if moment:
            where, count = moment.split(":")
            owner, name, after = WHERE[where]
            die_at(owner, name, int(count), after)
        main([*command, "killed"], standalone_mode=False)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) if moment else status == 0, (moment, status)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A scratch folder to stand in, with matrices of every kind."""
    monkeypatch.chdir(tmp_path)
    matrices = {
        "rectangle": "0.5,0.5\n0.2,0.3,0.5\n",
        "negative": "1.1,-0.1\n0.2,0.8\n",
        "sums": "0.9,0.1\n0.2,0.7\n",
        "words": "a,b\nc,d\n",
        "three": "1,0,0\n0,1,0\n0,0,1\n",
    }
    (tmp_path / "matrices").mkdir()
    for name, text in matrices.items():
        (tmp_path / "matrices" / f"{name}.csv").write_text(text)
    return tmp_path


def typed(*words):
    return CliRunner().invoke(main, list(words))


def records(out):
    (path,) = out.glob("forward-*/records.jsonl")
    return path.read_bytes()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--methods", "ce,gse"], "unknown method 'gse'; did you mean 'gce'?"),
        (["--methods", ""], "methods is empty; name at least one"),
        (["--methods", " , "], "methods is empty; name at least one"),
        (["--net", "mpl"], "unknown net 'mpl'; did you mean 'mlp'?"),
        (["--data", "gausians"], "unknown data set 'gausians'; did you mean 'gaussians'?"),
        (["--data", "digits", "--net", "lenet5"], "net 'lenet5': inputs of 8x8 pixels are too small"),
        (["--data", "moons", "--net", "lenet5"], "net 'lenet5': inputs of shape (2,) are no images"),
        (["--noise", "symmetric:1"], "a noise rate must be at least 0 and below 1, not 1.0"),
        (["--noise", "symmetric:-0.1"], "a noise rate must be at least 0 and below 1, not -0.1"),
        (["--noise", "symmetric:nan"], "a noise rate must be at least 0 and below 1, not nan"),
        (["--noise", "symmetric"], "noise 'symmetric' needs a rate, as in symmetric:0.4"),
        (["--noise", "symetric:0.4"], "unknown noise 'symetric'; did you mean 'symmetric'?"),
        (["--noise", "asymmetric:0.4"], "asymmetric noise has no class map for data set 'gaussians'"),
        (["--noise", "matrix:matrices/rectangle.csv"], "row 1 of the noise matrix in matrices/rectangle.csv has 3"),
        (["--noise", "matrix:matrices/negative.csv"], "T[0, 1] is -0.1; every entry must be a probability"),
        (["--noise", "matrix:matrices/sums.csv"], "row 1 of T sums to 0.9"),
        (["--noise", "matrix:matrices/words.csv"], "line 1 of the noise matrix in matrices/words.csv"),
        (["--noise", "matrix:matrices/three.csv"], "is for 3 classes, but the data have 2"),
        (["--noise", "matrix:missing.csv"], "the noise matrix missing.csv cannot be read"),
        (
            ["--methods", "forward", "--epochs", "1"],
            "epochs is 1, but each of the 2 stages of 'forward' needs one; give more",
        ),
        (["--epochs", "0"], "epochs must be at least 1, not 0"),
        (["--batch", "0"], "batch must be at least 1, not 0"),
        (["--lr", "0"], "lr must be a number above 0, not 0.0"),
        (["--lr", "nan"], "lr must be a number above 0, not nan"),
        (["--device", "gpu"], "device 'gpu' is not available here; use auto, cpu, cuda or cuda:N"),
        (["--device", "meta"], "device 'meta' is not available here; use auto, cpu, cuda or cuda:N"),
        (["--seeds", "0"], "Invalid value for '--seeds'"),
        (["--executor", "ray"], "Invalid value for '--executor'"),
        (["--epochs", "many"], "Invalid value for '--epochs'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_gets_one_sentence_and_leaves_nothing_behind(folder, words, sentence):
    result = typed("train", *TINY, *words, "--out", "out/deeper")
    assert result.exit_code == 2
    assert sentence in result.output
    assert result.output.count("Error:") == 1
    assert "Traceback" not in result.output
    assert [path.name for path in folder.iterdir()] == ["matrices"]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("config.json", '{"runs": []}', "holds runs of another config; choose another --out"),
        ("config.json", "no json", "cannot be used"),
        ("thesis.tex", "dear", "exists and holds something else; choose another --out"),
    ],
)
def test_a_folder_that_holds_something_else_is_left_alone(folder, name, content, sentence):
    (folder / "out").mkdir()
    (folder / "out" / name).write_text(content)
    result = typed("train", *TINY, "--out", "out")
    assert result.exit_code == 2
    assert sentence in result.output
    assert [(path.name, path.read_text()) for path in (folder / "out").iterdir()] == [(name, content)]


def test_a_comparison_prints_its_table_and_typed_again_the_same_without_training(folder):
    first, second = (typed("train", *TINY, "--out", "out").output for _ in range(2))
    head, table = first.split("\n\n")
    assert [line.split(":")[0] for line in head.splitlines()] == ["ce × 2", "gce × 2"]
    assert "│ ce     │    2 │" in table
    assert table.endswith("records: out\n")
    assert second == f"ce: finished before, not run again\ngce: finished before, not run again\n\n{table}"


def test_quiet_prints_nothing_but_the_table(folder):
    loud, quiet = (typed("train", *TINY, "--out", "out", *more).output for more in ([], ["--quiet"]))
    assert quiet == "\n" + loud.split("\n\n")[1].removesuffix("records: out\n")


def test_a_method_named_twice_is_trained_once(folder):
    assert typed("train", *TINY, "--methods", "ce, gce,ce", "--out", "out").output.count("ce × 2:") == 2  # with gce's


def test_a_batch_larger_than_the_data_gives_a_note_and_trains(folder):
    result = typed("train", *TINY, "--batch", "5000", "--out", "out")
    assert result.exit_code == 0
    assert "batches of 5000 shrink to the 1400 training samples there are" in result.output
    assert "│ gce" in result.output


def test_records_go_to_a_folder_under_runs_by_default(folder):
    result = typed("train", *TINY)
    (out,) = (folder / "runs").iterdir()
    assert result.output.endswith(f"records: runs/{out.name}\n")


@pytest.mark.parametrize(("kind", "registry"), [("methods", METHODS), ("nets", NETS), ("data", DATASETS)])
def test_list_shows_every_name_with_its_sentence(kind, registry):
    result = typed("list", kind)
    rows = [line.split(maxsplit=1) for line in result.output.splitlines()]
    assert [name for name, _ in rows] == list(registry)
    assert all(sentence.endswith((".", "y", "λ", ")")) or len(sentence) > 20 for _, sentence in rows)


def test_list_refuses_an_unknown_kind():
    assert typed("list", "papers").exit_code == 2


def test_check_says_of_every_fact_that_it_holds():
    result = typed("check", "gce")
    assert result.exit_code == 0
    assert [line.split() for line in result.output.splitlines()] == [["gce", fact, "holds"] for fact in CHECKS]


def test_check_ends_with_one_where_something_does_not_hold(folder, monkeypatch):
    def fails(method):
        raise AssertionError("it does not")

    monkeypatch.setattr("labelnoise.testing.CHECKS", {"some_fact": fails})
    result = typed("check", "ce")
    assert result.exit_code == 1
    assert result.output.split() == ["ce", "some_fact", "AssertionError:", "it", "does", "not"]


@pytest.mark.parametrize("name", ["gcee", "missing.py", "missing.module", "./here"])
def test_check_of_what_is_not_there_is_one_sentence(folder, name):
    result = typed("check", name)
    assert result.exit_code == 2
    assert result.output.count("\n") == 1
    assert result.output.startswith("Error: ")


def test_the_help_names_the_commands_and_the_version_is_the_packages():
    assert all(f"  {command} " in typed("--help").output for command in ("train", "list", "check"))
    assert __version__ in typed("--version").output


def test_the_main_job_compares_methods_that_exist():
    assert set(DEMO.split(",")) <= set(METHODS)


@pytest.mark.parametrize("executor", ["streams", "packed"])
def test_killed_at_any_moment_and_typed_again_it_leaves_the_same_records(folder, executor):
    moments = ["step:3", "half a checkpoint:2", "step:4", "records:1", "checkpoint:5", "before records:1"]
    command = [sys.executable, "-c", KILLED, executor, *moments]
    subprocess.run(command, check=True, capture_output=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert records(folder / "killed") == records(folder / "whole")
    (pack,) = (folder / "killed").glob("forward-*")
    assert sorted(path.name for path in pack.iterdir()) == ["finished.json", "records.jsonl"]


def test_a_method_in_a_file_of_ones_own_can_be_trained(tmp_path):
    path = tmp_path / "halved.py"
    path.write_text(
        "from dataclasses import dataclass\n"
        "from labelnoise.losses.cross_entropy import cross_entropy\n"
        "from labelnoise.methods import Method, register\n"
        "from labelnoise.types import Terms\n\n\n"
        '@register("halved")\n'
        "@dataclass(frozen=True)\n"
        "class Halved(Method):\n"
        "    def objective(self, nets, batch, ctx):\n"
        '        return Terms(cross_entropy(nets["net"](batch.x), batch.y).mean() / 2)\n'
    )
    options = ["--data", "gaussians", "--epochs", "1", "--seeds", "1", "--out", str(tmp_path / "out")]
    command = [sys.executable, "-m", "labelnoise", "train", "--methods", f"ce,{path}", *options]
    result = subprocess.run(command, capture_output=True, text=True, check=False)  # its own registry
    assert result.returncode == 0, result.stderr
    assert "halved" in result.stdout
