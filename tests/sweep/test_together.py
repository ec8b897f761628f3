import json
import os
import signal
import subprocess
import sys
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
from labelnoise.sweep.plan import plan_packs
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
SMALL = Named("mlp", {"widths": "8"})
BASE = RunConfig(data=Data("gaussians"), noise="symmetric:0.3", net=SMALL, train=Train(epochs=2, batch=512))
build = partial(load, "gaussians")


def place(folder, executor=None):
    return Workplace(Store(folder), build, torch.device("cpu"), Execution(executor), Display(), Interrupt())


def records(folder):
    """Measures of every run and epoch."""
    lines = [json.loads(line) for path in folder.glob("*/records.jsonl") for line in path.read_text().splitlines()]
    return {(line["run"], line["epoch"]): line["measures"] for line in lines}


def test_the_table_of_two_processes_is_that_of_one(tmp_path):
    started = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        "-m",
        "labelnoise",
    ]
    command = [*started, "train", "--data", "gaussians", *OPTIONS, "--device", "cpu", "--out", str(tmp_path / "two")]
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


def test_without_torchrun_the_device_is_the_one_that_was_asked_for():
    with joined("cuda:7") as device:
        assert device == "cuda:7"
        assert ranks.count() == 1


@pytest.mark.parametrize(("asked", "problem"), [("cuda:1", "cannot be cuda:1"), ("auto", "1 GPUs for more processes")])
def test_each_process_needs_a_gpu_of_its_own(monkeypatch, asked, problem):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_RANK", "1")
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
        (RuntimeError("Connection closed by peer"), 1, ""),
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


@pytest.mark.parametrize(
    ("problem", "kind", "sentence"),
    [
        ("Connection closed by peer", InputError, "another process of this training has ended; type the same command"),
        ("shapes do not fit", RuntimeError, "shapes do not fit"),
        ("DefaultCPUAllocator: can't allocate memory", InputError, "ce does not fit in memory; use a larger"),
    ],
)
def test_the_end_of_another_process_is_a_sentence(monkeypatch, tmp_path, problem, kind, sentence):
    def run(pack, at):
        raise RuntimeError(problem)

    monkeypatch.setattr(together, "run_pack", run)
    monkeypatch.setattr(together, "_underway", [])
    monkeypatch.setattr(ranks, "count", lambda: 2)
    monkeypatch.setattr(ranks, "told", lambda _: None)
    with pytest.raises(kind, match=sentence):
        train_pack(plan_packs([BASE])[0], place(tmp_path))


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
