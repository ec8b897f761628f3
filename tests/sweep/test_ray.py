import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from click.testing import CliRunner

from labelnoise.cli import main
from labelnoise.config import Data, Job, Named, RunConfig, Search, Train
from labelnoise.data.dataset import load
from labelnoise.engine.checkpoint import Checkpointer
from labelnoise.engine.execution import Execution
from labelnoise.engine.interrupt import Interrupt, InterruptError
from labelnoise.errors import InputError
from labelnoise.files import FullDiskError
from labelnoise.methods import METHODS, register
from labelnoise.methods.ce import CE
from labelnoise.methods.own import find_methods
from labelnoise.report.summary import summarise
from labelnoise.results.store import Store
from labelnoise.sweep import halving
from labelnoise.sweep import ray as module
from labelnoise.sweep import run as running
from labelnoise.sweep.cluster import connected
from labelnoise.sweep.compare import base_of, run_job
from labelnoise.sweep.plan import comparison, cut, plan_packs
from labelnoise.sweep.ray import Ray
from labelnoise.sweep.run import Display, Workplace

JOB = Job(
    data=Data("gaussians"),
    noise="symmetric:0.3",
    methods=tuple(map(Named, ("ce", "gce", "mixup", "co_teaching"))),
    seeds=6,
    net=Named("mlp", {"widths": "8"}),
    train=Train(epochs=2, batch=512),
)
SMALL = replace(JOB, methods=JOB.methods[:2], seeds=2)


class Heard(Display):
    """A display that remembers, and may act on what it hears."""

    def __init__(self, act=lambda sentence: None):
        self.said, self.act = [], act

    def say(self, sentence):
        self.said.append(sentence)
        self.act(sentence)

    warn = say


def compare(job, out, engine=None, display=None, build=None):
    build = build or partial(load, job.data.source)
    return run_job(job, build, out=out, device=torch.device("cpu"), display=display or Heard(), engine=engine)


def content(outcome):
    """Everything that a run leaves, but for the time it took."""
    runs = outcome.store.runs()
    return {
        identity: (
            runs[identity].records,
            runs[identity].config,
            runs[identity].noise_rate,
            {name: value.tolist() for name, value in runs[identity].details.items()},
            runs[identity].pack.model.read_bytes(),
        )
        for identity in outcome.runs
    }


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A Ray cluster of this machine with two workers, started as `Ray()` does, which then connects to it."""
    ray = pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))  # where Ray keeps a token
        patch.setattr(ray, "init", partial(ray.init, num_cpus=2))
        with connected("") as ray:
            yield ray
    os.environ.pop("RAY_AUTH_MODE", None)  # left by Ray, of no use without the token


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """The 24 runs by the local engine."""
    return compare(JOB, tmp_path_factory.mktemp("local"))


@pytest.mark.parametrize("shared", [True, False])
def test_24_runs_leave_exactly_what_the_local_engine_leaves(cluster, local, tmp_path, monkeypatch, shared):
    if not shared:  # workers do not find the driver's mark in their folder of that name
        monkeypatch.setattr(module, "MARK", ".elsewhere")
    heard = Heard()
    outcome = compare(JOB, tmp_path / "out", Ray(), heard)
    assert len(outcome.runs) == 24
    assert content(outcome) == content(local)
    rows = [[row.label for row in summarise(each.store).rows] for each in (outcome, local)]
    assert rows[0] == rows[1] == ["ce", "gce", "mixup", "co_teaching"]
    names = {path.name for path in outcome.store.folder.rglob("*") if path.is_file()}
    own = {"config.json", "compared.json", ".lock"}
    assert names == own | {"records.jsonl", "finished.json", "details.safetensors", "model.safetensors"}
    assert len([each for each in heard.said if "began on" in each]) == 4
    assert heard.said[-1].endswith("s, the last one")


def once_trained(folder, action):
    """Do something as soon as a pack, whose folder this is, has a record; from another thread."""

    def watch():
        while not any(path.stat().st_size for path in folder.parent.glob(f"{folder.name}/records.jsonl")):
            time.sleep(0.005)
        action()

    threading.Thread(target=watch).start()


def test_when_a_worker_is_killed_its_pack_is_run_again_and_nothing_is_lost(cluster, tmp_path):
    job = replace(JOB, train=replace(JOB.train, epochs=20))
    killed = []

    def kill(sentence):
        if (began := re.match(r"gce × 6: began on .*, process (\d+)$", sentence)) and not killed:
            killed.append(int(began[1]))
            once_trained(tmp_path / "out" / "gce-*", lambda: os.kill(killed[0], signal.SIGKILL))

    heard = Heard(kill)
    outcome = compare(job, tmp_path / "out", Ray(), heard)
    assert heard.said.count("gce × 6: its worker died (WorkerCrashedError); it is run again") == 1
    assert content(outcome) == content(compare(job, tmp_path / "local"))


def test_a_driver_that_is_stopped_goes_on_where_it_was(cluster, tmp_path):
    job = replace(SMALL, seeds=6, train=replace(JOB.train, epochs=200))  # longer than the driver takes to look up
    handler = signal.getsignal(signal.SIGTERM)
    compare(replace(job, methods=job.methods[:1]), tmp_path / "out")

    def stop(sentence):
        if sentence.startswith("gce × 6: began on"):
            once_trained(tmp_path / "out" / "gce-*", lambda: os.kill(os.getpid(), signal.SIGTERM))

    with pytest.raises(InterruptError):
        compare(job, tmp_path / "out", Ray(), Heard(stop))
    assert signal.getsignal(signal.SIGTERM) is handler
    heard = Heard()
    outcome = compare(job, tmp_path / "out", Ray(), heard)
    assert "ce × 6: finished before, not run again" in heard.said
    assert [each for each in heard.said if each.startswith("gce × 6: went on from epoch ")]
    assert not [each for each in heard.said if each.startswith("ce × 6: began")]
    assert content(outcome) == content(compare(job, tmp_path / "local"))


def test_a_pack_that_fails_is_named_and_the_others_are_finished(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(METHODS, "_things", dict(METHODS._things))

    @register("broken")
    @dataclass(frozen=True)
    class Broken(CE):
        """Fails at its first step."""

        def objective(self, nets, batch, ctx):
            raise RuntimeError("no luck")

    heard = Heard()
    with pytest.raises(InputError) as caught:
        compare(replace(SMALL, methods=(Named("broken"), Named("ce"))), tmp_path, Ray(), heard)
    sentence = str(caught.value)
    assert sentence.startswith("1 of 2 tasks did not finish (broken × 2: RuntimeError: no luck (in test_ray.py, line ")
    assert sentence.endswith("what is finished is kept: mend that and type the command again")
    assert [each for each in heard.said if each.startswith("broken × 2: RuntimeError: no luck")]
    assert {run.config["method"]["name"] for run in Store.read(tmp_path).runs().values()} == {"ce"}


def test_a_method_in_a_file_travels_to_the_workers_with_its_neighbours(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(METHODS, "_things", dict(METHODS._things))
    path = tmp_path / "mine.py"
    path.write_text(
        "from dataclasses import dataclass\nfrom labelnoise.methods import hyper, register\n"
        "from labelnoise.methods.ce import CE\nfrom ray_helper import same\n\n\n"
        "@register('mine')\n@dataclass(frozen=True)\nclass Mine(CE):\n"
        "    weight: float = hyper(0.5, low=0.0, high=1.0)\n\n"
        "    def objective(self, nets, batch, ctx):\n        return same(super().objective(nets, batch, ctx))\n"
    )
    (tmp_path / "ray_helper.py").write_text("def same(x):\n    return x\n")
    find_methods(str(path))
    job = replace(SMALL, methods=(Named("mine"), Named("distillation", {"teacher": "mine"})), seeds=1)
    assert content(compare(job, tmp_path / "ray", Ray())) == content(compare(job, tmp_path / "local"))


def test_own_data_and_a_search_and_small_tasks(cluster, tmp_path):
    dataset = load("gaussians", 3)  # as data of one's own: the same for every seed
    job = replace(SMALL, methods=(Named("gce"),), search=Search(3), seeds=3)
    heard = Heard()
    outcome = compare(job, tmp_path, Ray(runs_per_task=2), heard, lambda _: dataset)
    assert sorted(each.split(":")[0] for each in heard.said if "began on" in each) == ["gce × 1"] * 3 + [
        "gce × 2"
    ]  # seed 0 was tried
    assert [outcome.store.runs()[run].config["seed"] for run in outcome.runs] == [0, 1, 2]


def test_a_worker_that_dies_again_and_again_is_given_up(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "RETRIES", 1)
    driver = os.getpid()

    def build(seed):
        if os.getpid() != driver:
            os.kill(os.getpid(), signal.SIGKILL)
        return load("gaussians", seed)

    job = replace(SMALL, methods=SMALL.methods[:1])
    with pytest.raises(InputError, match=r"^1 of 1 tasks did not finish \(ce × 2: its worker died 2 times \(Worker"):
        compare(job, tmp_path, Ray(), build=build)


def test_a_pack_whose_worker_is_killed_for_want_of_memory_is_halved(cluster, tmp_path, monkeypatch):
    lose = module._Sweep.lose

    def short(sweep, pack, problem):
        lose(sweep, pack, sweep.ray.exceptions.OutOfMemoryError("the machine"))

    monkeypatch.setattr(module._Sweep, "lose", short)
    driver, died = os.getpid(), tmp_path / "died"

    def build(seed):
        with suppress(FileExistsError):
            if os.getpid() != driver:
                died.touch(exist_ok=False)  # one worker alone can
                os.kill(os.getpid(), signal.SIGKILL)
        return load("gaussians", seed)

    heard = Heard()
    outcome = compare(replace(SMALL, methods=SMALL.methods[:1]), tmp_path / "out", Ray(), heard, build)
    assert "ce × 2 ran out of its machine's memory: halved to 1 and 1 runs" in heard.said
    assert len(outcome.runs) == 2
    packs = {path.name for path in (tmp_path / "out").iterdir() if path.is_dir()}
    assert packs == {outcome.store.runs()[run].pack.folder.name for run in outcome.runs}  # nothing of the whole


class Left(Display):
    """Breaks off in the second epoch."""

    def tick(self, epoch, step, steps):
        if epoch == 1:
            raise InterruptError(signal.SIGINT)


def leave(monkeypatch, train):
    """Let something be trained that is saved at every step and left in its second epoch."""
    with monkeypatch.context() as patch:
        patch.setattr(running, "Checkpointer", partial(Checkpointer, every_seconds=0.0))
        with pytest.raises(InterruptError):
            train(Left())


def give_up(store, pack):
    store.journal(pack.name).halve([config.identity for config in pack.configs])


def configs_of(job):
    base, rate = base_of(job, load(job.data.source, 0))
    return comparison(base, job.methods, job.seeds, rate)


@pytest.mark.parametrize("engine", [None, "ray"])
def test_what_was_halved_goes_on_in_halves_where_it_was_left_by_either_engine(
    cluster, local, tmp_path, monkeypatch, engine
):
    job, heard = replace(JOB, methods=JOB.methods[:1]), Heard()
    leave(monkeypatch, lambda display: compare(job, tmp_path, display=display))
    (folder,) = tmp_path.glob("ce-*")
    (pack,) = plan_packs(configs_of(job))
    give_up(Store(tmp_path), pack)  # and no more, as where a process is killed then
    outcome = compare(job, tmp_path, Ray() if engine else None, heard)
    if engine:
        assert sorted(each for each in heard.said if "went on" in each) == ["ce × 3: went on from epoch 2"] * 2
    found, expected = outcome.store.runs(), local.store.runs()
    for run in outcome.runs:
        for record, other in zip(found[run].records, expected[run].records, strict=True):
            assert record.measures == pytest.approx(other.measures, abs=1e-4)  # float32
    assert sorted(len(pack.facts["runs"]) for pack in {found[run].pack for run in outcome.runs}) == [3, 3]
    assert not folder.exists()


@pytest.fixture
def among_quarters(tmp_path, monkeypatch):
    """A folder, a job of eight runs, of which a quarter is finished and another left in its second epoch; its pack."""
    eight = replace(JOB, methods=JOB.methods[:1], seeds=8)
    (whole,) = plan_packs(configs_of(eight))
    _, second, *_ = cut(whole, 2)
    compare(replace(eight, seeds=2), tmp_path)
    store = Store(tmp_path)
    at = Workplace(store, partial(load, "gaussians"), torch.device("cpu"), Execution(), Left(), Interrupt())
    leave(monkeypatch, lambda _: running.run_pack(second, at))
    return store, eight, whole


@pytest.mark.parametrize("most", [0, 4])
def test_among_quarters_a_command_typed_again_goes_on_with_the_one_that_was_begun(cluster, among_quarters, most):
    store, job, whole = among_quarters
    for pack in (*([] if most else [whole]), cut(whole, 4)[0]):
        give_up(store, pack)
    outcome = compare(job, store.folder, Ray(runs_per_task=most), heard := Heard())
    assert [each for each in heard.said if "went on" in each] == ["ce × 2: went on from epoch 2"]
    assert sorted(each for each in heard.said if "began on" in each)[0].startswith("ce × 2: ")
    assert len(outcome.runs) == 8
    packs = {path for path in store.folder.iterdir() if path.is_dir()}
    assert packs == {outcome.store.runs()[run].pack.folder for run in outcome.runs}
    assert not [*store.folder.glob("*/halved"), *store.folder.glob("*/checkpoint.safetensors")]


def test_among_quarters_a_second_worker_goes_on_with_the_one_that_was_begun(among_quarters):
    store, _, whole = among_quarters
    for pack in (whole, cut(whole, 4)[0]):  # by the first one
        give_up(store, pack)
    with module._marked(store.folder) as mark:
        packs, notes, _ = trained(whole, partial(load, "gaussians"), order(store.folder, mark))
    assert ("say", "ce × 2: went on from epoch 2") in notes
    assert [len(pack.facts["runs"]) for pack in map(store.journal, packs)] == [2, 2, 4]


def test_where_halves_cannot_be_handed_what_was_saved_the_other_tasks_go_on(cluster, tmp_path, monkeypatch):
    def full(pack, at):
        raise FullDiskError("the disk is full")

    lose = module._Sweep.lose
    monkeypatch.setattr(module, "left_of", full)
    monkeypatch.setattr(
        module._Sweep, "lose", lambda sweep, pack, _: lose(sweep, pack, sweep.ray.exceptions.OutOfMemoryError("short"))
    )
    driver = os.getpid()

    def build(seed, died=tmp_path / "died"):
        with suppress(FileExistsError):
            if os.getpid() != driver:
                died.touch(exist_ok=False)  # one worker alone can
                os.kill(os.getpid(), signal.SIGKILL)
        return load("gaussians", seed)

    with pytest.raises(InputError, match=r"^1 of 2 tasks did not finish \((ce|gce) × 2: the disk is full\)"):
        compare(SMALL, tmp_path / "out", Ray(), build=build)
    assert len(Store(tmp_path / "out").runs()) == 2


def test_halves_that_fail_are_counted_as_tasks(cluster, tmp_path, monkeypatch):
    lose = module._Sweep.lose
    monkeypatch.setattr(module, "RETRIES", 0)

    def short(sweep, pack, problem):  # the whole for want of memory, its halves for good
        alone = len(pack.configs) == 1
        lose(sweep, pack, problem if alone else sweep.ray.exceptions.OutOfMemoryError("the machine"))

    monkeypatch.setattr(module._Sweep, "lose", short)
    driver = os.getpid()

    def build(seed):
        if os.getpid() != driver:
            os.kill(os.getpid(), signal.SIGKILL)
        return load("gaussians", seed)

    with pytest.raises(InputError, match=r"^2 of 2 tasks did not finish \(ce × 1: its worker died 1 times"):
        compare(replace(SMALL, methods=SMALL.methods[:1]), tmp_path, Ray(), build=build)


def test_a_command_that_is_killed_and_typed_again_does_the_rest(cluster, tmp_path):
    command = [sys.executable, "-m", "labelnoise", "train", "--data", "gaussians", "--methods", "ce,gce"]
    command += ["--seeds", "2", "--epochs", "10", "--batch", "512", "--out", str(tmp_path / "out")]
    command += ["--engine", "ray", "--ray-address", cluster.get_runtime_context().gcs_address]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as driver:
        while not list((tmp_path / "out").glob("*/finished.json")):
            assert driver.poll() is None
            time.sleep(0.02)
        driver.kill()
    done = len(list((tmp_path / "out").glob("*/finished.json")))
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert again.stdout.count("finished before, not run again") == done
    assert again.stdout.count("began on") == 2 - done
    assert len(Store.read(tmp_path / "out").runs()) == 4


def test_where_rays_own_process_dies_a_sentence_says_so_and_typed_again_the_rest_is_done(tmp_path, monkeypatch):
    pytest.importorskip("ray")
    if not shutil.which("pgrep"):
        pytest.skip("pgrep is not there to find the process by")
    monkeypatch.setenv("HOME", str(tmp_path))  # where Ray keeps a token
    command = [sys.executable, "-m", "labelnoise", "train", "--data", "gaussians", "--methods", "ce", "--seeds", "2"]
    command += ["--epochs", "100", "--batch", "64", "--engine", "ray", "--out", str(tmp_path / "out")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as driver:
        own = ["pgrep", "-P", str(driver.pid), "-x", "raylet"]

        def kill():
            os.kill(int(subprocess.check_output(own)), signal.SIGKILL)

        once_trained(tmp_path / "out" / "ce-*", kill)
        _, said = driver.communicate()
    assert driver.returncode == 2
    assert re.fullmatch(r"Error: raylet, .*, has died, .*; what is finished is kept: type the command again.*\n", said)
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert again.stdout.count("began on") == 1


def test_where_a_signal_has_ended_rays_own_process_too_it_counts_as_the_signal(tmp_path):
    with Interrupt() as interrupt:
        at = Workplace(Store(tmp_path), None, torch.device("cpu"), Execution(), Display(), interrupt)
        sweep = module._Sweep(None, None, (None, None), at, SimpleNamespace(died=True))
        with pytest.raises(InputError):
            sweep.check()
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(InterruptError):
            sweep.check()


def order(folder, mark=""):
    return module._Order(str(folder), mark, "cpu", Execution(), {})


def trained(pack, build, order, share=1.0, done=()):
    """What a task hands over in all, by name of the pack, what it has to say, and why it did not come to its end."""
    *handed, ended = module._trained(pack, done, build, order, share)
    packs = {name: files for each in handed for name, files in each.packs.items()}
    return packs, [note for each in (*handed, ended) for note in each.notes], ended.problem


def test_a_task_trains_where_the_driver_looks_only_if_it_finds_the_mark_of_the_driver(tmp_path):
    with module._marked(tmp_path) as mark:
        with module._reached(order(tmp_path, mark)) as store:
            assert store.folder == tmp_path
        with module._reached(order(tmp_path, "other")) as store:
            assert store.folder != tmp_path
    with module._reached(order(tmp_path, mark)) as store:
        assert store.folder != tmp_path
    assert list(tmp_path.iterdir()) == []
    assert not store.folder.exists()


def test_what_a_person_can_mend_comes_back_from_a_worker_as_its_sentence(tmp_path):
    def build(seed):
        raise InputError("mnist is not in the data root /data; fetch it")

    (pack,) = plan_packs([RunConfig()])
    packs, _, problem = trained(pack, build, order(tmp_path))
    assert packs == {}
    assert re.fullmatch(r"mnist is not in the data root /data; fetch it \(on .+\)", problem)


def test_of_two_tasks_for_one_pack_the_second_takes_what_the_first_has_finished(tmp_path):
    (pack,) = plan_packs([RunConfig(data=Data("gaussians"), train=Train(epochs=1, batch=512))])
    with module._marked(tmp_path) as mark:
        first, _, _ = trained(pack, partial(load, "gaussians"), order(tmp_path, mark))
        second, _, _ = trained(pack, None, order(tmp_path, mark))
    assert second == first
    (files,) = first.values()
    assert set(files) == {"records.jsonl", "finished.json", "details.safetensors", "model.safetensors"}


def test_a_task_that_memory_is_too_small_for_hands_back_its_halves(tmp_path, monkeypatch):
    whole = halving.run_pack

    def short(pack, at):
        if len(pack.configs) > 2:
            raise MemoryError
        whole(pack, at)

    monkeypatch.setattr(halving, "run_pack", short)
    configs = [RunConfig(data=Data("gaussians"), seed=seed, train=Train(epochs=1, batch=512)) for seed in range(4)]
    (pack,) = plan_packs(configs)
    packs, notes, problem = trained(pack, partial(load, "gaussians"), order(tmp_path))
    assert list(packs) == [half.name for half in cut(pack, 2)]
    assert notes == [("warn", "ce × 4 did not fit in memory: halved to 2 and 2 runs")]
    assert problem == ""


def test_a_task_cuts_its_pack_by_the_memory_of_its_own_machine(tmp_path, monkeypatch):
    shares = []
    monkeypatch.setattr(module, "most_runs", lambda pack, at: shares.append(at.share) or 3)
    configs = [RunConfig(data=Data("gaussians"), seed=seed, train=Train(epochs=1, batch=512)) for seed in range(4)]
    (pack,) = plan_packs(configs)
    with module._marked(tmp_path) as mark:
        packs, _, _ = trained(pack, partial(load, "gaussians"), order(tmp_path, mark), 1 / 2)
    assert shares == [1 / 2]
    names = {piece.name for piece in cut(pack, 3)}
    assert set(packs) == {path.name for path in tmp_path.iterdir()} == names


def four_in_pieces(monkeypatch):
    """A pack of four runs of which a task has memory for one at a time."""
    monkeypatch.setattr(module, "most_runs", lambda pack, at: 1)
    configs = [RunConfig(data=Data("gaussians"), seed=seed, train=Train(epochs=1, batch=512)) for seed in range(4)]
    (pack,) = plan_packs(configs)
    return pack


def test_each_piece_is_handed_over_once_it_is_finished_so_that_a_later_one_cannot_take_it_along(tmp_path, monkeypatch):
    def build(seed):
        if seed == 2:
            raise InputError("seed 2 is not here")
        return load("gaussians", seed)

    pack = four_in_pieces(monkeypatch)
    packs, _, problem = trained(pack, build, order(tmp_path))
    assert list(packs) == [piece.name for piece in cut(pack, 1)[:2]]
    assert problem.startswith("seed 2 is not here")


def test_what_the_driver_has_is_not_trained_again(tmp_path, monkeypatch):
    pack = four_in_pieces(monkeypatch)
    done = {config.identity for config in pack.configs[:3]}
    packs, _, _ = trained(pack, partial(load, "gaussians"), order(tmp_path), done=done)
    assert list(packs) == [cut(pack, 1)[3].name]


def test_the_memory_of_a_gpu_is_shared_by_as_many_tasks_as_may_run_on_it():
    assert module._share(order("out")._replace(device="cuda", packs_per_gpu=2)) == 1 / 2


def test_the_memory_of_a_machine_is_shared_by_the_cores_that_ray_has_there(cluster, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert module._share(order("out")) == 1 / 2
    assert cluster.get(cluster.remote(module._share).remote(order("out"))) == 1 / 2


def test_a_run_that_does_not_fit_in_memory_is_missing_and_the_others_come_back(cluster, tmp_path):
    def build(seed):
        if seed == 3:
            raise MemoryError
        return load("gaussians", seed)

    heard = Heard()
    outcome = compare(replace(SMALL, seeds=4), tmp_path, Ray(), heard, build)
    found = outcome.store.runs().values()
    assert sorted((run.config["method"]["name"], run.config["seed"]) for run in found) == [
        (name, seed) for name in ("ce", "gce") for seed in range(3)
    ]
    assert [each for each in heard.said if each.startswith("gce, seed 3: it does not fit in memory")]
    assert "ce × 4 did not fit in memory: halved to 2 and 2 runs" in heard.said


def test_of_a_pack_none_of_which_fits_in_memory_no_epochs_are_told(cluster, tmp_path):
    def build(seed):
        if os.getpid() != driver:
            raise MemoryError
        return load("gaussians", seed)

    driver, heard = os.getpid(), Heard()
    compare(replace(SMALL, methods=SMALL.methods[:1], seeds=1), tmp_path, Ray(), heard, build)
    assert heard.said[-1] == "ce × 1: none of it fits in memory, the last one"


def test_of_two_tasks_for_one_pack_the_second_waits(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    (pack,) = plan_packs([RunConfig()])
    with module._marked(tmp_path) as mark, module._alone(Store(tmp_path).journal(pack.name)):
        _, _, problem = trained(pack, None, order(tmp_path, mark))
    assert problem.startswith(f"another process is at work in {tmp_path / pack.name}; wait for it")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"device": "cuda:1"}, "device 'cuda:1' is none of a cluster's; use auto, cpu or cuda"),
        ({"packs_per_gpu": 0}, "packs_per_gpu must be at least 1, not 0"),
        ({"runs_per_task": -1}, "runs_per_task must be a number of runs, or 0, not -1"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings, sentence):
    pytest.importorskip("ray")
    with pytest.raises(InputError) as caught:
        Ray(**settings)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(("gpus", "asked", "device"), [(0, "auto", "cpu"), (2, "auto", "cuda"), (2, "cpu", "cpu")])
def test_gpus_are_used_where_the_cluster_has_any(gpus, asked, device):
    pytest.importorskip("ray")
    assert Ray(device=asked)._device(gpus) == device


def test_packs_share_a_gpu_as_many_as_are_said_to_fit():
    pytest.importorskip("ray")
    assert Ray()._needs("cuda") == {"num_cpus": 1, "num_gpus": 1}
    assert Ray(packs_per_gpu=4)._needs("cuda") == {"num_cpus": 1, "num_gpus": 0.25}
    assert Ray(packs_per_gpu=4)._needs("cpu") == {"num_cpus": 1, "num_gpus": 0}


def test_gpus_that_the_cluster_has_not_are_refused(cluster, tmp_path):
    with pytest.raises(InputError, match=r"^the cluster has no GPU; use --device cpu$"):
        compare(SMALL, tmp_path, Ray(device="cuda"))


def test_without_the_package_a_sentence_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"^the engine ray needs .*; install it with `pip install labelnoise\[ray\]`$"):
        Ray()


def test_a_cluster_of_ones_own_sends_no_usage_statistics(cluster):
    asked = cluster.remote(lambda: os.environ.get("RAY_USAGE_STATS_ENABLED"))
    assert cluster.get(asked.remote()) == "0"


def test_a_published_table_is_trained_by_ray_as_it_is_without(cluster, tiny, tmp_path):
    def outcomes(name, *options):
        words = ["tiny/table1", "--only", "noise=none", "--device", "cpu", "--out", str(tmp_path / name), *options]
        done = CliRunner().invoke(main, ["reproduce", *words])
        assert done.exit_code == 0, done.output
        assert "2 of 2 cells measured" in done.output
        return done.output, (tmp_path / name / "tiny-table1-paper.csv").read_text()

    (told, table), (_, alone) = outcomes("ray", "--engine", "ray"), outcomes("local")
    assert "Ray: 2 cores, 0 GPUs; 2 tasks, on cpu" in told
    assert table == alone
