import json
import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from labelnoise.comparing import compare_methods
from labelnoise.config import Data, Named, RunConfig, Train
from labelnoise.data.dataset import load
from labelnoise.engine import ranks
from labelnoise.engine.execution import Execution
from labelnoise.engine.interrupt import Interrupt, InterruptError
from labelnoise.errors import InputError
from labelnoise.results.store import Store
from labelnoise.sweep import together
from labelnoise.sweep.plan import cut, plan_packs
from labelnoise.sweep.run import Display, Workplace, run_pack
from labelnoise.sweep.together import Wish, follow, joined, train_pack

SETTINGS = {
    "methods": {"ce": {}, "co_teaching": {}},
    "seeds": 2,
    "net": {"name": "mlp", "settings": {"widths": 8}},
    "train": {"epochs": 3, "batch": 256, "optimiser": {"name": "sgd", "lr": 0.1}},
}
OPTIONS = ["--methods", "ce,co_teaching", "--seeds", "2", "--net", "mlp", "--epochs", "3", "--batch", "256"]
OPTIONS += ["--lr", "0.1", "train.optimiser.name=sgd", "net.settings.widths=8"]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "labelnoise"]
SMALL = Named("mlp", {"widths": "8"})
BASE = RunConfig(data=Data("gaussians"), noise="symmetric:0.3", net=SMALL, train=Train(epochs=2, batch=512))
# A method with a gate: while the file is there, the process whose number it holds says who it is, and waits at a step.
GATED = """
import os, time
from dataclasses import dataclass
from pathlib import Path
from labelnoise.methods import register
from labelnoise.methods.ce import CE

HERE = Path(__file__).parent

@register("gated")
@dataclass(frozen=True)
class Gated(CE):
    def objective(self, nets, batch, ctx):
        if (HERE / "gate").exists() and (HERE / "gate").read_text() == os.environ["RANK"]:
            (HERE / "waits").write_text(str(os.getpid()))
            time.sleep(300)
        return super().objective(nets, batch, ctx)
"""
build = partial(load, "gaussians")


def place(folder, executor=None):
    return Workplace(Store(folder), build, torch.device("cpu"), Execution(executor), Display(), Interrupt())


def records(folder):
    """Measures of every run and epoch."""
    lines = [json.loads(line) for path in folder.glob("*/records.jsonl") for line in path.read_text().splitlines()]
    return {(line["run"], line["epoch"]): line["measures"] for line in lines}


def test_the_table_of_two_processes_is_that_of_one(tmp_path):
    command = [*TORCHRUN, "train", "--data", "gaussians", *OPTIONS, "--device", "cpu", "--out", str(tmp_path / "two")]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=240, check=False, env=os.environ | {"COLUMNS": "120"}
    )
    assert done.returncode == 0, done.stderr
    alone = compare_methods("gaussians", settings=SETTINGS, out=tmp_path / "one", device="cpu")
    assert str(alone) in done.stdout
    two, one = records(tmp_path / "two"), records(tmp_path / "one")
    assert len(one) == 12
    assert two == {key: pytest.approx(value, abs=1e-4) for key, value in one.items()}
    files = {path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*")}
    assert {path.relative_to(tmp_path / "two") for path in (tmp_path / "two").rglob("*")} == files
    closing = [json.loads(path.read_text()) for path in (tmp_path / "two").glob("*/finished.json")]
    assert {facts["executor"] for facts in closing} == {"distributed"}


def killed(command, number, folder):
    """What the others say when the process of this number is killed in the midst of a step."""
    (folder / "gate").write_text(number)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        while not ((folder / "waits").exists() and (folder / "waits").read_text()):
            assert started.poll() is None, started.communicate()[1]
            time.sleep(0.02)
        os.kill(int((folder / "waits").read_text()), signal.SIGKILL)
        said = started.communicate(timeout=60)[1]
    (folder / "waits").unlink()
    (folder / "gate").unlink()
    return said


def test_where_a_process_is_killed_the_other_says_so_once_and_typed_again_the_command_does_the_rest(tmp_path):
    (tmp_path / "gated.py").write_text(GATED)
    command = [*TORCHRUN, "train", "--data", "gaussians", "--methods", f"ce,{tmp_path / 'gated.py'}", "--seeds", "1"]
    command += ["--epochs", "2", "--batch", "512", "--device", "cpu", "--out", str(tmp_path / "out")]
    for dead, other in ("10", "01"):
        said = killed(command, dead, tmp_path)
        assert said.count(together.LOST) == 1, said
        assert f"process {other}: {together.LOST}\n" in said
        assert [run.config["method"]["name"] for run in Store.read(tmp_path / "out").runs().values()] == ["ce"]
    again = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "ce × 1: finished before, not run again" in again.stdout
    assert len(Store.read(tmp_path / "out").runs()) == 2


def test_without_torchrun_the_device_is_the_one_that_was_asked_for():
    with joined("cuda:7") as device:
        assert device == "cuda:7"
        assert ranks.count() == 1


@pytest.mark.parametrize(("asked", "problem"), [("cuda:1", "cannot be cuda:1"), ("auto", "1 GPUs for more processes")])
def test_each_process_needs_a_gpu_of_its_own(monkeypatch, asked, problem):
    told = {"RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(together, "find_device", lambda name: torch.device("cuda"))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(InputError, match=problem), joined(asked):
        pass


def test_a_follower_trains_what_it_is_told_and_leaves_nothing(monkeypatch):
    trained, wishes = [], iter([Wish((BASE,), Execution("streams"), b"where it was left"), None])

    def run(pack, at):
        left = at.store.journal(pack.name).checkpoint
        trained.append((pack.configs, pack.methods, at.execution.executor, left.read_bytes(), at.store.folder))

    monkeypatch.setattr(ranks, "told", lambda: next(wishes))
    monkeypatch.setattr(together, "run_pack", run)
    follow(build, "cpu")
    (pack,) = plan_packs([BASE])
    ((configs, methods, executor, left, folder),) = trained
    assert (configs, methods, executor, left) == (pack.configs, pack.methods, "streams", b"where it was left")
    assert not Path(folder).exists()


@pytest.mark.parametrize(
    ("problem", "status", "said"),
    [
        (InterruptError(signal.SIGTERM), 143, ""),
        (InputError("the disk is full"), 2, "process 0: the disk is full\n"),
        (RuntimeError("Connection closed by peer"), 1, f"process 0: {together.LOST}\n"),
    ],
)
def test_a_follower_ends_as_the_first_process_does_and_says_no_more_than_needed(
    monkeypatch, capsys, problem, status, said
):
    def told():
        raise problem

    monkeypatch.setattr(ranks, "told", told)
    with pytest.raises(SystemExit) as ended:
        follow(build, "cpu")
    assert ended.value.code == status
    assert capsys.readouterr().err == said


def test_another_error_of_a_follower_is_shown_whole(monkeypatch):
    def told():
        raise RuntimeError("shapes do not fit")

    monkeypatch.setattr(ranks, "told", told)
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        follow(build, "cpu")


def accompany(monkeypatch):
    """As if another process were there, which hears what this one says."""
    monkeypatch.setattr(together, "_underway", [])
    monkeypatch.setattr(ranks, "count", lambda: 2)
    monkeypatch.setattr(ranks, "told", lambda *_: None)


@pytest.mark.parametrize(
    ("problem", "kind", "sentence"),
    [
        ("shapes do not fit", RuntimeError, "shapes do not fit"),
        ("DefaultCPUAllocator: can't allocate memory", InputError, "ce does not fit in memory; use a larger"),
    ],
)
def test_what_a_training_by_several_ends_with_is_said_as_it_is(monkeypatch, tmp_path, problem, kind, sentence):
    def run(pack, at):
        raise RuntimeError(problem)

    accompany(monkeypatch)
    monkeypatch.setattr(together, "run_pack", run)
    with pytest.raises(kind, match=sentence):
        train_pack(plan_packs([BASE])[0], place(tmp_path))


def lose(*_):
    """What an exchange does when the other process is gone."""
    raise RuntimeError("Connection closed by peer")


@pytest.mark.parametrize("where", ["in a training", "in its beginning"])
def test_the_end_of_another_process_is_said_where_it_is_found(monkeypatch, capsys, tmp_path, where):
    accompany(monkeypatch)
    monkeypatch.setattr(*((together, "run_pack", lose) if where == "in a training" else (ranks, "told", lose)))
    with pytest.raises(SystemExit) as ended:
        train_pack(plan_packs([BASE])[0], place(tmp_path))
    assert ended.value.code == 1
    assert capsys.readouterr().err == f"process 0: {together.LOST}\n"


def test_the_end_of_another_process_after_the_last_training_is_said_too(monkeypatch, capsys):
    accompany(monkeypatch)
    monkeypatch.setattr(ranks, "started", lambda: 2)
    monkeypatch.setattr(ranks, "group", lambda _: nullcontext())
    monkeypatch.setattr(ranks, "meet", lose)
    with pytest.raises(SystemExit), joined("cpu"):
        pass
    assert capsys.readouterr().err == f"process 0: {together.LOST}\n"


def test_of_a_pack_that_was_halved_several_processes_train_only_what_is_left(monkeypatch, tmp_path):
    (pack,) = plan_packs([replace(BASE, seed=seed) for seed in range(8)])
    store, trained = Store(tmp_path), []
    for half in (pack, cut(pack, 4)[0]):  # as two shortages would have left it
        store.journal(half.name).halve([config.identity for config in half.configs])
    run_pack(cut(pack, 2)[0], place(tmp_path))
    accompany(monkeypatch)

    def alone(pack, at):
        trained.append([each.seed for each in pack.configs])
        with monkeypatch.context() as patch:
            patch.setattr(ranks, "count", lambda: 1)
            run_pack(pack, at)

    monkeypatch.setattr(together, "run_pack", alone)
    with store.tidied():
        train_pack(pack, place(tmp_path))
    assert trained == [[2, 3], [4, 5, 6, 7]]
    left = [*cut(pack, 2)[:2], cut(pack, 4)[1]]
    assert {path.name for path in store.folder.iterdir()} == {each.name for each in left}


def test_pieces_are_learnt_from_as_the_whole_is(tmp_path):
    whole, pieces = (replace(BASE, train=Train(epochs=2, batch=512, accumulate=k)) for k in (1, 3))
    found = []
    for config in (whole, pieces):
        (pack,) = plan_packs([config])
        run_pack(pack, place(tmp_path))
        found.append(Store(tmp_path).runs()[config.identity])
    for one, other in zip(found[0].records, found[1].records, strict=True):
        assert one.measures == pytest.approx(other.measures, abs=1e-4)
    assert found[1].pack.facts["executor"] == "distributed"


def test_packed_runs_cannot_be_learnt_in_pieces(tmp_path):
    (pack,) = plan_packs([replace(BASE, train=Train(epochs=2, batch=512, accumulate=2))])
    with pytest.raises(InputError, match="leave --executor out"):
        run_pack(pack, place(tmp_path, "packed"))
