import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from labelnoise import __version__
from labelnoise.cli import main
from labelnoise.config import DEFAULT_METHODS
from labelnoise.data.dataset import DATASETS
from labelnoise.methods import METHODS
from labelnoise.nets import NETS
from labelnoise.speed.rows import ROWS
from labelnoise.sweep import halving
from labelnoise.testing import CHECKS

TINY = ["--data", "gaussians", "--methods", "ce,gce", "--seeds", "2", "--epochs", "3", "--batch", "512"]
MINE = ["--methods", "ce,gce", "--seeds", "2", "--epochs", "2", "net.settings.widths=8"]

OWN = """
from dataclasses import dataclass

from labelnoise.methods import register
from labelnoise.methods.ce import CE

@register("mine")
@dataclass(frozen=True)
class Mine(CE):
    pass
"""

# The command once undisturbed, then again and again in a child that a real SIGKILL ends at one of its moments.
KILLED = """
import os, signal, sys
from functools import partial
from pathlib import Path
from labelnoise import files
from labelnoise.cli import main
from labelnoise.engine import checkpoint, loop
from labelnoise.sweep import run

executor, *moments = sys.argv[1:]
command = ["train", "--data", "gaussians", "--methods", "forward,co_teaching", "--seeds", "2", "--epochs", "4"]
command += ["--batch", "256", "--executor", executor, "--device", "cpu", "--quiet", "--out"]
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
    "half a checkpoint": (files, "_fill", True),
    "checkpoint": (loop.Training, "save", True),
    "records": (run.Journal, "write", True),
    "before records": (run.Journal, "write", False),
    "finish": (run.Journal, "finish", True),
    "before finish": (run.Journal, "finish", False),
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
    return {path.parent.name: path.read_bytes() for path in out.glob("*-*/records.jsonl")}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--methods", "ce,gse"], "unknown method 'gse'; did you mean 'gce'?"),
        (["--methods", ""], "methods is empty; name at least one"),
        (["--methods", " , "], "methods is empty; name at least one"),
        (["methods.gce.q=abc"], "setting 'q' of method 'gce' must be a number, not 'abc'"),
        (["train.optimiser.betas=[2,3]"], "train.optimiser: both betas must be at least 0 and below 1"),
        (["train.augment.crop=2"], "crop needs images"),
        (["methods.gce.p=1"], "method 'gce' has no setting 'p'"),
        (["train.epoch=1"], "train: unknown key 'epoch'; did you mean 'epochs'?"),
        (["epochs"], "override 'epochs' is not of the form key=value"),
        (["--search", "-1"], "search: trials must not be negative"),
        (["--config", "missing.yaml"], "does not exist"),
        (["--net", "mpl"], "unknown net 'mpl'; did you mean 'mlp'?"),
        (["--data", "gausians"], "no file or folder of that name; did you mean 'gaussians'?"),
        (["--data", "digits", "--net", "lenet5"], "net 'lenet5': inputs of 8x8 pixels are too small"),
        (["--data", "moons", "--net", "lenet5"], "net 'lenet5': inputs of shape (2,) are no images"),
        (["--image-size", "4"], "--image-size is for data of one's own, which 'gaussians' is not; leave it out"),
        (["--data", "moons", "--labels", "y.npy"], "--labels is for data of one's own, which 'moons' is not"),
        (["data=moons", "--id-column", "id"], "--id-column is for data of one's own, which 'moons' is not"),
        (["--data", "moons", "data.image_size=4"], "data.image_size is for data of one's own, but moons is built in"),
        (["--data", "gausians", "--image-size", "4"], "no file or folder of that name; did you mean 'gaussians'?"),
        (["data=3", "--image-size", "4"], "unknown data set '3'"),
        (["--noise", "symmetric:1"], "a noise rate must be at least 0 and below 1, not 1.0"),
        (["--noise", "symmetric:-0.1"], "a noise rate must be at least 0 and below 1, not -0.1"),
        (["--noise", "symmetric:nan"], "a noise rate must be at least 0 and below 1, not nan"),
        (["--noise", "symmetric"], "noise 'symmetric' needs a rate, as in symmetric:0.4"),
        (["--noise", "symetric:0.4"], "unknown noise 'symetric'; did you mean 'symmetric'?"),
        (["--noise", "asymmetric:0.4:dmi"], "asymmetric noise for gaussians has no map 'dmi', only first"),
        (["--noise", "score:0.6"], "a noise rate must be at least 0 and below 0.5, not 0.6"),
        (
            ["--noise", "matrix:matrices/rectangle.csv"],
            "the noise matrix in matrices/rectangle.csv cannot be used: row 1 has 3 entries, not 2",
        ),
        (["--noise", "matrix:matrices/negative.csv"], "T[0, 1] is -0.1; every entry must be a probability"),
        (["--noise", "matrix:matrices/sums.csv"], "row 1 of T sums to 0.9"),
        (["--noise", "matrix:matrices/words.csv"], "the noise matrix in matrices/words.csv cannot be used: line 1"),
        (["--noise", "matrix:matrices/three.csv"], "is for 3 classes, but the data have 2"),
        (["--noise", "matrix:missing.csv"], "the noise matrix in missing.csv cannot be used: the file cannot be read"),
        (
            ["--methods", "forward", "--epochs", "1"],
            "epochs is 1, but each of the 2 stages of 'forward' needs one; give more",
        ),
        (["--seeds", "0"], "seeds must be at least 1, not 0"),
        (["--epochs", "0"], "epochs must be at least 1, not 0"),
        (["--batch", "0"], "batch must be at least 1, not 0"),
        (["--lr", "0"], "lr must be a number above 0, not 0.0"),
        (["--lr", "nan"], "lr must be a number above 0, not nan"),
        (["--device", "gpu"], "device 'gpu' is not available here; use auto, cpu, cuda or cuda:N"),
        (["--device", "meta"], "device 'meta' is not available here; use auto, cpu, cuda or cuda:N"),
        (["--executor", "ray"], "Invalid value for '--executor'"),
        (["--ray-address", "auto"], "--runs-per-task go with --engine ray; add it"),
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


def test_an_option_of_own_data_without_data_is_refused(folder):
    result = typed("train", "--label-column", "y", "--print-config")
    assert result.exit_code == 2
    assert result.stderr == "Error: --label-column is for data of one's own, which 'digits' is not; leave it out\n"


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        (
            "config.json",
            '{"base": {"data": {}}}',
            "holds runs of another config (not the same: data.source, data.label_column, data.true_label_column, …)",
        ),
        ("config.json", "no json", "is damaged"),
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


@pytest.mark.parametrize(
    ("given", "spins"), [({}, "1000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, None)]
)
def test_threads_give_up_waiting_soon_unless_the_user_says_otherwise(given, spins, monkeypatch):
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    CliRunner().invoke(main, ["list", "noise"])
    assert os.environ.get("GOMP_SPINCOUNT") == spins


def test_a_comparison_prints_its_table_and_typed_again_the_same_without_training(folder):
    first, second = (typed("train", *TINY, "--out", "out").output for _ in range(2))
    head, table = first.split("\n\n", maxsplit=1)
    headline, *lines = head.splitlines()
    assert [line.split(":")[0] for line in lines] == ["1/2 ce × 2", "2/2 gce × 2"]
    assert "│ ce     │    2 │" in table
    assert table.endswith("report:  out/report.html\nmodel:   out/model.safetensors\nrecords: out\n")
    skipped = "ce × 2: finished before, not run again\ngce × 2: finished before, not run again"
    assert second == f"{headline}\n{skipped}\n\n{table}"


def test_quiet_prints_nothing_but_the_table(folder):
    loud, quiet = (typed("train", *TINY, "--out", "out", *more).output for more in ([], ["--quiet"]))
    assert quiet == "\n" + loud.split("\n\n", maxsplit=1)[1].partition("report:")[0]


def test_a_method_named_twice_is_refused(folder):
    result = typed("train", *TINY, "--methods", "ce, gce,ce", "--out", "out")
    assert result.exit_code == 2
    assert "methods names 'ce' twice; name each method once" in result.output


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
    rows = [line.split(maxsplit=1) for line in result.output.splitlines() if not line.startswith(" ")]
    assert [name for name, _ in rows] == list(registry)
    assert all(sentence.endswith((".", "y", "λ", ")")) or len(sentence) > 20 for _, sentence in rows)


def test_list_shows_the_settings_of_methods_and_where_they_are_searched():
    lines = typed("list", "methods").output.splitlines()
    (place,) = (number for number, line in enumerate(lines) if line.startswith("co_teaching "))
    assert lines[place + 1].strip().startswith("forget=0.2 (searched from 0 to 0.9), ramp=10")


def test_list_refuses_an_unknown_kind():
    assert typed("list", "authors").exit_code == 2


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


def test_check_says_once_what_several_facts_fail_by(folder, monkeypatch):
    def fails(method):
        raise AssertionError("it does not")

    monkeypatch.setattr("labelnoise.testing.CHECKS", {"some_fact": fails, "other_fact": fails})
    first, second = typed("check", "ce").output.splitlines()
    assert first.endswith(" AssertionError: it does not")
    assert second.split() == ["ce", "other_fact", "fails", "as", "some_fact", "does"]


@pytest.mark.parametrize("name", ["gcee", "missing.py", "missing.module", "./here"])
def test_check_of_what_is_not_there_is_one_sentence(folder, name):
    result = typed("check", name)
    assert result.exit_code == 2
    assert result.output.count("\n") == 1
    assert result.output.startswith("Error: ")


def test_the_help_names_the_commands_and_the_version_is_the_packages():
    assert all(f"  {command} " in typed("--help").output for command in ("train", "report", "predict", "list", "check"))
    assert __version__ in typed("--version").output


def test_the_main_job_compares_methods_that_exist():
    assert {method.name for method in DEFAULT_METHODS} <= set(METHODS)


@pytest.mark.parametrize("executor", ["streams", "packed"])
def test_killed_at_any_moment_and_typed_again_it_leaves_the_same_records(folder, executor):
    moments = ["step:3", "half a checkpoint:2", "step:4", "records:1", "checkpoint:5", "before records:1"]
    moments += ["finish:1", "step:7", "half a checkpoint:6", "records:2", "before finish:1"]
    command = [sys.executable, "-c", KILLED, executor, *moments]
    subprocess.run(command, check=True, capture_output=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert records(folder / "killed") == records(folder / "whole")
    names = ["details.safetensors", "finished.json", "model.safetensors", "records.jsonl"]
    for pack in records(folder / "killed"):
        assert sorted(path.name for path in (folder / "killed" / pack).iterdir()) == names


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


def test_a_mistake_in_a_method_of_ones_own_is_one_sentence(folder):
    slip = "    def objective(self, nets, batch, ctx):\n        1 / 0"
    (folder / "slip.py").write_text(OWN.replace("    pass", slip))
    command = [sys.executable, "-m", "labelnoise", "train", *TINY, "--methods", "slip.py", "--out", "out", "--quiet"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)  # its own registry
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1] == (
        "Error: ZeroDivisionError in slip.py, line 11: division by zero; "
        "`labelnoise check slip.py` tries the method on small data"
    )
    assert "Traceback" not in result.stderr


def test_a_mistake_of_the_package_keeps_its_traceback(folder, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("labelnoise.comparing.write_page", broken)
    assert isinstance(typed("train", *TINY, "--out", "out").exception, ZeroDivisionError)


@pytest.fixture
def clouds(folder):
    """A table of two clouds with every seventh label wrong, the truth beside it."""
    path = folder / "clouds.csv"
    lines = ["id,a,b,kind,truth"]
    for i in range(140):
        true, wrong = i % 2, i % 7 == 0
        lines.append(f"row{i},{true * 3 + i % 5 / 5},{i % 3},{['no', 'yes'][true ^ wrong]},{['no', 'yes'][true]}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_own_data_are_compared_without_any_clean_label(clouds):
    columns = ["--label-column", "kind", "--id-column", "id", "data.drop=[truth]"]
    result = typed("train", "--data", "clouds.csv", *columns, *MINE, "--out", "out")
    assert result.exit_code == 0, result.output
    assert "noise rate unknown" in result.output
    assert "against given labels" in result.output


def test_with_the_truth_at_hand_accuracy_is_against_true_labels(clouds):
    columns = ["--label-column", "kind", "--true-label-column", "truth", "--id-column", "id"]
    result = typed("train", "--data", "clouds.csv", *columns, *MINE, "--out", "out")
    assert re.search(r"clouds: 1\d\.\d % of the training labels are wrong", result.output)
    assert "against true labels" in result.output


def test_a_trained_model_predicts_a_csv(clouds):
    columns = ["--label-column", "kind", "--id-column", "id", "data.drop=[truth]"]
    typed("train", "--data", "clouds.csv", *columns, *MINE, "--epochs", "40", "--lr", "0.05", "--out", "out")
    result = typed("predict", "out", "clouds.csv", "--out", "predicted.csv")
    assert result.exit_code == 0, result.output
    lines = (clouds.parent / "predicted.csv").read_text().splitlines()
    assert lines[0] == "id,predicted,p(no),p(yes)"
    right = [line.split(",")[:2] == [f"row{i}", ["no", "yes"][i % 2]] for i, line in enumerate(lines[1:])]
    assert len(right) == 140
    assert sum(right) > 130


def test_predictions_and_reports_replace_nothing_unless_forced(folder):
    typed("train", *TINY, "--out", "out")
    for command in (["predict", "out", "out/x.npy"], ["report", "out"]):
        (folder / "mine.txt").write_text("dear")
        refused = typed(*command, "--out", "mine.txt")
        assert refused.exit_code == 2
        assert "mine.txt exists; choose another --out, or --force to replace it" in refused.output
        assert (folder / "mine.txt").read_text() == "dear"
    forced = typed("report", "out", "--out", "mine.txt", "--force")
    assert forced.output == "mine.txt\n"
    assert (folder / "mine.txt").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("read", ["new.npy", "out/model.safetensors"])
def test_predictions_never_replace_what_they_are_made_from(folder, read):
    typed("train", *TINY, "--out", "out")
    np.save(folder / "new.npy", np.zeros((3, 2), np.float32))
    before = (folder / read).read_bytes()
    result = typed("predict", "out", "new.npy", "--out", f"./out/../{read}", "--force")
    assert (result.exit_code, result.stderr) == (2, f"Error: out/../{read} is what is read; choose another --out\n")
    assert (folder / read).read_bytes() == before


def test_a_model_of_a_method_that_is_not_known_says_to_name_its_file(folder, monkeypatch):
    monkeypatch.setattr(METHODS, "_things", dict(METHODS._things))
    (folder / "mine.py").write_text(OWN)
    trained = typed("train", *TINY, "--methods", "mine.py", "--out", "out")
    assert trained.exit_code == 0, trained.output
    METHODS.forget("mine")
    np.save(folder / "new.npy", np.zeros((3, 2), np.float32))
    refused = typed("predict", "out", "new.npy")
    assert refused.exit_code == 2
    assert "trained by method 'mine', which is none of this package; name its Python file with" in refused.stderr
    assert typed("predict", "out", "new.npy", "--method", "mine.py").exit_code == 0


def test_a_report_goes_to_the_folder_of_the_runs(folder):
    typed("train", *TINY, "--out", "out")
    page = folder / "out" / "report.html"
    before = page.read_text()
    page.unlink()
    assert typed("report", "out").output == "out/report.html\n"
    assert page.read_text() == before


def test_several_folders_have_a_page_by_noise_rate_that_replaces_nothing_unless_forced(folder):
    for rate in ("0.1", "0.3"):
        typed("train", *TINY, "--noise", f"symmetric:{rate}", "--out", rate)
    assert typed("report", "0.1", "0.3").output == "over_noise.html\n"
    assert (folder / "over_noise.html").read_text().startswith("<!doctype html>")
    refused = typed("report", "0.1", "0.3")
    assert refused.exit_code == 2
    assert "over_noise.html exists; choose another --out, or --force to replace it" in refused.output
    assert typed("report", "0.3", "0.1", "--out", "other.html").output == "other.html\n"


def test_folders_of_different_data_have_no_page_together(folder):
    typed("train", *TINY, "--out", "first")
    typed("train", *TINY, "--data", "moons", "--out", "second")
    refused = typed("report", "first", "second")
    assert refused.exit_code == 2
    assert "second and first differ in more than their noise (not the same: data)" in refused.output
    assert not (folder / "over_noise.html").exists()


@pytest.mark.parametrize(("words", "sentence"), [(["matrices"], "holds no runs"), (["nowhere"], "does not exist")])
def test_a_report_of_no_runs_is_one_sentence(folder, words, sentence):
    result = typed("report", *words)
    assert result.exit_code == 2
    assert sentence in result.output


def test_settings_come_from_file_options_and_overrides_in_this_order(folder):
    (folder / "c.yaml").write_text("seeds: 7\ntrain: {epochs: 7, batch: 7}\nmethods: {gce: {q: 0.25}, ce: {}}\n")
    result = typed("train", "--config", "c.yaml", "--epochs", "8", "--batch", "8", "train.batch=9", "--print-config")
    assert result.exit_code == 0, result.output
    found = yaml.safe_load(result.output)
    assert (found["seeds"], found["train"]["epochs"], found["train"]["batch"]) == (7, 8, 9)
    assert list(found["methods"]) == ["gce", "ce"]
    assert found["methods"]["gce"]["q"] == 0.25
    assert sorted(path.name for path in folder.iterdir()) == ["c.yaml", "matrices"]


def test_an_override_of_one_method_keeps_the_others(folder):
    found = yaml.safe_load(typed("train", "methods.gce.q=0.5", "--print-config").output)
    assert list(found["methods"]) == [method.name for method in DEFAULT_METHODS]
    assert found["methods"]["gce"]["q"] == 0.5


def test_the_config_in_the_folder_gives_the_same_again(folder):
    typed("train", *TINY, "--out", "out")
    result = typed("train", "--config", "out/config.yaml", "--out", "out")
    assert "ce × 2: finished before, not run again\ngce × 2: finished before, not run again\n" in result.output


def test_a_failure_is_said_even_when_quiet(folder):
    result = typed("train", *TINY, "--methods", "ce", "--lr", "1e30", "--quiet", "--out", "out")
    assert result.exit_code == 2
    assert "ce, seed 0: the loss was not finite" in result.stderr
    assert "every run of ce has failed; lower the learning rate with --lr" in result.stderr


@pytest.mark.parametrize("methods", ["ce,mine.py", "mine.py,ce"])
def test_a_method_whose_every_run_fails_is_named_and_the_command_fails(folder, monkeypatch, methods):
    monkeypatch.setattr(METHODS, "_things", dict(METHODS._things))
    lost = '    def objective(self, nets, batch, ctx):\n        return Terms(0 / nets["net"](batch.x).sum().mul(0))'
    (folder / "mine.py").write_text("from labelnoise.types import Terms\n" + OWN.replace("    pass", lost))
    for _ in ("trained", "finished before"):
        result = typed("train", *TINY, "--methods", methods, "--out", "out")
        assert result.exit_code == 2
        assert result.stderr.endswith("Error: every run of mine has failed; lower the learning rate with --lr\n")
        assert re.search(r"│ ce\s+│\s+2 │", result.output)


def test_runs_that_do_not_fit_in_memory_are_missing_from_the_table_and_the_command_fails(folder, monkeypatch):
    whole = halving.run_pack

    def short(pack, at):
        if any(config.seed == 1 and config.method.name == "gce" for config in pack.configs):
            raise MemoryError
        whole(pack, at)

    monkeypatch.setattr(halving, "run_pack", short)
    result = typed("train", *TINY, "--out", "out")
    assert result.exit_code == 2
    assert "gce × 2 did not fit in memory: halved to 1 and 1 runs\n" in result.output
    assert "gce, seed 1: it does not fit in memory, for it needs about " in result.output
    assert re.search(r"│ gce\s+│\s+1 │", result.output)
    assert "1 run asked for is missing, not finished or too large for the memory: gce with seed 1." in result.output
    assert "runs are missing, 1 of those asked for: they did not fit in memory, see above" in result.stderr


def test_where_no_run_fits_in_memory_the_command_says_so(folder, monkeypatch):
    def short(*_):
        raise MemoryError

    monkeypatch.setattr(halving, "run_pack", short)
    result = typed("train", *TINY, "--out", "out")
    assert result.exit_code == 2
    assert "runs are missing, 4 of those asked for" in result.stderr


def test_too_little_memory_for_the_report_is_one_sentence(folder, monkeypatch):
    def short(*_):
        raise MemoryError

    monkeypatch.setattr("labelnoise.comparing.write_page", short)
    result = typed("train", *TINY, "--out", "out")
    assert result.exit_code == 2
    assert "Error: memory is full; what is finished is kept: free some, then type the command again\n" in result.stderr


def test_on_a_disk_that_really_is_full_it_says_so_and_goes_on_once_there_is_space(folder):
    own = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]  # mounts that nobody else sees
    if subprocess.run([*own, "mkdir small && mount -t tmpfs none small"], capture_output=True, check=False).returncode:
        pytest.skip("no disk of its own can be had here")
    train = f"{sys.executable} -m labelnoise train {' '.join(TINY)} net.settings.widths=128 --device cpu --out"
    script = f"""
        {train} whole --quiet > /dev/null
        mount -t tmpfs -o size=60k none small
        {train} small/out > first 2>&1; echo $? >> first
        find small/out -name finished.json > finished
        mount -o remount,size=10m small
        {train} small/out > second 2>&1; echo $? >> second
        cp -r small/out out
    """
    subprocess.run([*own, script], check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    *_, sentence, code = (folder / "first").read_text().splitlines()
    assert re.fullmatch(
        r"Error: cannot write small/out/.* \(No space left on device\); free space and type .*", sentence
    )
    assert code == "2"
    assert (folder / "second").read_text().endswith("\n0\n")
    assert records(folder / "out") == records(folder / "whole")


def test_stopped_while_it_reads_it_says_how_to_go_on(folder, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("labelnoise.comparing.make_plan", stop)
    result = typed("train", *TINY, "--out", "out")
    assert result.exit_code == 130
    assert result.stderr == "\nstopped; type the same command again to go on\n"


def test_stopped_while_it_is_imported_it_ends_quietly(folder):
    stopping = (
        "import runpy, sys\n"
        "class Stop:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'click': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Stop())\n"
        "runpy.run_module('labelnoise', run_name='__main__')\n"
    )
    result = subprocess.run([sys.executable, "-c", stopping], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "")


def test_a_command_that_keeps_nothing_does_not_promise_to_go_on(folder, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    typed("train", *TINY, "--out", "out")
    monkeypatch.setattr("labelnoise.results.model.Model.load", stop)
    result = typed("predict", "out", "out/config.yaml")
    assert (result.exit_code, result.stderr) == (130, "\nstopped\n")


def test_asked_to_stop_it_saves_and_goes_on_when_typed_again(folder):
    options = ["--data", "digits", "--methods", "mixup", "--seeds", "2", "--epochs", "20", "--device", "cpu"]
    command = [sys.executable, "-m", "labelnoise", "train", *options, "--out"]
    whole = subprocess.Popen([*command, "whole"], stdout=subprocess.DEVNULL)
    for epochs, number in ((1, signal.SIGTERM), (6, signal.SIGINT)):
        left = subprocess.Popen([*command, "left"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while sum(path.read_bytes().count(b"\n") for path in folder.glob("left/*/records.jsonl")) < 2 * epochs:
            time.sleep(0.05)
        left.send_signal(number)
        _, said = left.communicate(timeout=60)
        assert left.returncode == 128 + number
        assert said.strip() == "stopped; type the same command again to go on"
        assert list(folder.glob("left/*/checkpoint.safetensors"))
    again = subprocess.run([*command, "left"], check=True, capture_output=True, text=True)
    assert "mixup × 2: goes on from epoch" in again.stdout
    assert whole.wait() == 0
    (one,), (two,) = (folder.glob(f"{name}/mixup-*/records.jsonl") for name in ("whole", "left"))
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--methods", "cex"], "unknown method 'cex'"),
        (["--engine", "ray"], "torchrun and --engine ray both start processes"),
        (["--ray-address", "auto"], "go with --engine ray"),
    ],
)
def test_of_several_processes_the_first_alone_says_what_is_wrong(options, problem):
    command, both = ["train", *options], {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
    first, second = (CliRunner().invoke(main, command, env=both | {"RANK": rank}) for rank in "01")
    assert (first.exit_code, second.exit_code) == (2, 2)
    assert problem in first.output
    assert second.output == ""


@pytest.mark.parametrize("size", ["", "2"])
def test_a_size_that_a_cluster_has_set_is_not_torchrun(tmp_path, size):
    options = ["--data", "moons", "--methods", "ce", "--seeds", "1", "--epochs", "1", "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(main, ["train", *options], env={"WORLD_SIZE": size})
    assert result.exit_code == 0, result.output
    assert "report:" in result.output


def test_speed_lists_its_rows_with_their_sentences():
    result = typed("speed", "--list")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.output.splitlines()] == list(ROWS)


def test_speed_refuses_an_unknown_row_with_one_sentence():
    result = typed("speed", "--only", "lenet5-gse", "--device", "cpu")
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: there is no row 'lenet5-gse'; did you mean 'lenet5-gce'? (`labelnoise speed --list` shows all)\n"
    )


def test_speed_measures_some_rows_and_writes_them_as_json_that_nothing_replaces_unless_forced(folder, monkeypatch):
    monkeypatch.setattr("labelnoise.speed.cases.SECONDS", {"cpu": 0.0})
    monkeypatch.setattr("labelnoise.speed.kernels.PASSES", 1)
    asked = ("speed", "--only", "noise, losses", "--json", "speed.json", "--device", "cpu")
    result = typed(*asked)
    assert result.exit_code == 0
    rows = json.loads((folder / "speed.json").read_text())["rows"]
    assert list(rows) == ["losses", "noise"]
    assert [figure["name"] for figure in rows["noise"]["figures"]] == ["symmetric", "instance"]
    assert all(figure["name"] in result.output for row in rows.values() for figure in row["figures"])
    assert "speed.json exists; choose another --json, or --force to replace it" in typed(*asked).stderr
    assert typed(*asked, "--force").exit_code == 0
