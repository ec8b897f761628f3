import errno
import os
import re
import signal
import stat
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import torch

from labelnoise.config import Augment, Data, Job, Named, Optimiser, Search, Train
from labelnoise.data.dataset import Dataset, load
from labelnoise.data.standard.cache import save
from labelnoise.data.standard.catalogue import CARDS
from labelnoise.engine import checkpoint
from labelnoise.engine.checkpoint import Checkpointer
from labelnoise.engine.interrupt import InterruptError
from labelnoise.errors import InputError
from labelnoise.files import FullDiskError
from labelnoise.noise import NOISES, flip, load_corrupted, parse, save_corrupted, symmetric
from labelnoise.sweep import compare as module
from labelnoise.sweep import halving, run
from labelnoise.sweep.compare import run_job

JOB = Job(
    data=Data("gaussians"),
    noise="symmetric:0.3",
    methods=(Named("ce"), Named("gce")),
    seeds=2,
    net=Named("mlp", {"widths": "8"}),
    train=Train(epochs=2, batch=512),
)

HEADLINE = (
    "gaussians: 2000 rows of 2 inputs, 2 classes (negative, positive); 1400 to train on, 200 for noisy validation, "
    "400 for the test; network mlp (widths=8), 2 epochs, batches of 512"
)


class Heard:
    """A display that remembers."""

    def __init__(self):
        self.expected, self.began, self.said, self.ended, self.ticks = [], [], [], 0, 0

    def expect(self, packs):
        self.expected.append(packs)

    def begin(self, name, runs, epochs, done):
        self.began.append((name, runs, epochs))

    def tick(self, epoch, step, steps):
        self.ticks += 1

    def judge(self, epoch, share):
        pass

    def end(self, epochs):
        self.ended += 1

    def give_up(self, instead):
        pass

    def say(self, sentence):
        self.said.append(sentence)

    warn = say


def compare(job, out, build=None):
    heard = Heard()
    build = build or partial(load, job.data.source)
    return run_job(job, build, out=out, device=torch.device("cpu"), display=heard), heard


def records(outcome):
    runs = outcome.store.runs()
    return {identity: runs[identity].records for identity in outcome.runs}


def test_every_method_is_trained_with_every_seed(tmp_path):
    outcome, heard = compare(JOB, tmp_path)
    found = [(r.method, r.seed, r.epoch) for each in records(outcome).values() for r in each]
    assert found == [(method, seed, epoch) for method in ("ce", "gce") for seed in (0, 1) for epoch in (0, 1)]
    assert heard.began == [("ce", 2, 2), ("gce", 2, 2)]
    assert (heard.expected, heard.ended, heard.ticks, heard.said) == ([2], 2, 2 * 2 * 3, [HEADLINE])


def test_finished_runs_are_not_run_again_and_give_the_same_outcome(tmp_path, monkeypatch):
    first, _ = compare(JOB, tmp_path)
    monkeypatch.setattr(module, "train_pack", None)
    second, heard = compare(JOB, tmp_path)
    assert second.runs == first.runs
    assert heard.said[1:] == ["ce × 2: finished before, not run again", "gce × 2: finished before, not run again"]


def test_more_seeds_and_methods_are_added_to_what_is_there(tmp_path):
    first, _ = compare(replace(JOB, seeds=1), tmp_path)
    second, heard = compare(replace(JOB, seeds=3, methods=(*JOB.methods, Named("mixup"))), tmp_path)
    assert heard.began == [("ce", 2, 2), ("gce", 2, 2), ("mixup", 3, 2)]
    assert set(first.runs) < set(second.runs)
    assert records(first).items() <= records(second).items()


def test_only_what_is_missing_is_run(tmp_path):
    first, _ = compare(JOB, tmp_path)
    before = records(first)
    (closing,) = tmp_path.glob("gce-*/finished.json")
    closing.unlink()
    second, heard = compare(JOB, tmp_path)
    assert heard.began == [("gce", 2, 2)]
    assert records(second) == before


def test_batches_that_shrink_are_told_once(tmp_path):
    _, heard = compare(replace(JOB, train=replace(JOB.train, batch=5000)), tmp_path)
    assert heard.said == [
        HEADLINE.replace("512", "5000"),
        "batches of 5000 shrink to the 1400 training samples there are",
    ]
    assert [name for name, *_ in heard.began] == ["ce", "gce"]


def test_the_noise_rate_is_told_to_methods_that_assume_it(tmp_path):
    compare(replace(JOB, noise="pair:0.25", methods=(Named("co_teaching"),), seeds=1), tmp_path)
    (closing,) = tmp_path.glob("co_teaching-*/finished.json")
    assert '"forget": 0.25' in closing.read_text()


@pytest.mark.parametrize(
    ("change", "says"),
    [({}, True), ({"methods": (Named("co_teaching", {"forget": 0.1}),)}, False), ({"search": Search(2)}, False)],
)
def test_a_method_that_is_not_told_the_rate_says_so_unless_it_was_set_or_is_searched(tmp_path, change, says):
    own = Data("mine.csv", fingerprint="abc")
    job = replace(JOB, data=own, noise="none", methods=(Named("co_teaching"),), seeds=1)
    _, heard = compare(replace(job, **change), tmp_path, lambda _: replace(load("gaussians", 0), known_as=""))
    sentence = (
        "co_teaching goes by the noise rate, which it is not told: forget stays 0.2; "
        "set methods.co_teaching.forget, or methods.co_teaching.rate=estimated, or use --search"
    )
    assert (sentence in heard.said) == says


def test_noise_of_rate_zero_tells_nothing_of_data_of_ones_own(tmp_path):
    job = replace(JOB, data=Data("mine.csv", fingerprint="abc"), noise="symmetric:0", methods=(Named("co_teaching"),))
    compare(replace(job, seeds=1), tmp_path, lambda _: replace(load("gaussians", 0), known_as=""))
    (closing,) = tmp_path.glob("co_teaching-*/finished.json")
    assert '"forget": 0.2' in closing.read_text()


def test_labels_that_are_known_to_be_right_have_a_noise_rate_of_zero(tmp_path):
    _, heard = compare(replace(JOB, noise="none", methods=(Named("co_teaching"),), seeds=1), tmp_path)
    (closing,) = tmp_path.glob("co_teaching-*/finished.json")
    assert '"forget": 0.0' in closing.read_text()
    assert len(heard.said) == 1


@pytest.mark.parametrize(("noise", "says"), [("symmetric:0.6", True), ("symmetric:0.5", False)])
def test_noise_that_makes_wrong_labels_likelier_than_right_ones_is_remarked_on(tmp_path, noise, says):
    _, heard = compare(replace(JOB, noise=noise, methods=(Named("ce"),), seeds=1), tmp_path)
    sentence = f"noise {noise!r} makes a wrong label likelier than the right one for some class"
    assert (sentence in heard.said) == says


@pytest.mark.parametrize(
    ("truth", "noise", "known"), [(True, "none", "known"), (False, "pair:0.2", "added"), (False, "none", "unknown")]
)
def test_the_folder_says_what_is_known_of_the_data(tmp_path, truth, noise, known):
    y = torch.cat([torch.arange(60) % 2, torch.tensor([2])])
    x = torch.randn(61, 3, generator=torch.Generator().manual_seed(0))
    data = Dataset("made up", x, y, y if truth else None, ("a", "b", "rare"), notes=("a note",))
    job = replace(JOB, data=Data("made_up.csv", fingerprint=data.fingerprint), noise=noise, methods=(Named("ce"),))
    outcome, heard = compare(replace(job, seeds=1), tmp_path, lambda _: data)
    rare = "class 'rare' is rare, 1 in all, and missing from validation and test"
    assert outcome.store.facts["data"] == {
        "name": "made up",
        "rows": 61,
        "shape": [3],
        "classes": ["a", "b", "rare"],
        "parts": {"train": 43, "validation": 6, "test": 12},
        "notes": ["a note", rare],
        "truth": known,
        "told_rate": 0.2 if noise == "pair:0.2" else None,
    }
    assert heard.said[1:3] == ["a note", rare]


def test_a_search_tries_settings_together_and_takes_the_best_on_noisy_validation(tmp_path):
    job = replace(JOB, methods=(Named("gce"),), search=Search(4), train=Train(epochs=3, batch=512))
    outcome, heard = compare(job, tmp_path)
    assert heard.began == [("gce", 4, 3), ("gce", 1, 3)]  # the chosen settings have seed 0 already
    runs, found = outcome.store.runs(), outcome.store.searches["gce"]
    best = [max(record.measures["validation/score"] for record in runs[trial].records) for trial in found["trials"]]
    assert found["chosen"] == found["trials"][best.index(max(best))]
    chosen = runs[found["chosen"]].config["method"]
    assert [runs[identity].config["method"] for identity in outcome.runs] == [chosen] * 2


def test_a_search_typed_again_trains_nothing(tmp_path, monkeypatch):
    job = replace(JOB, methods=(Named("gce"),), search=Search(3, "grid"))
    first, _ = compare(job, tmp_path)
    monkeypatch.setattr(module, "train_pack", None)
    assert compare(job, tmp_path)[0].runs == first.runs


def test_a_method_without_hyper_parameters_is_not_searched(tmp_path):
    outcome, heard = compare(replace(JOB, methods=(Named("ce"),), search=Search(4)), tmp_path)
    assert outcome.store.searches == {}
    assert heard.began == [("ce", 1, 2), ("ce", 1, 2)]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"methods": (Named("ce"), Named("gse"))}, "unknown method 'gse'; did you mean 'gce'?"),
        ({"methods": (Named("gce", {"p": 1}),)}, "method 'gce' has no setting 'p'"),
        ({"data": Data("gausians")}, "no file or folder of that name; did you mean 'gaussians'?"),
        ({"net": Named("mpl")}, "unknown net 'mpl'; did you mean 'mlp'?"),
        ({"net": Named("lenet5")}, "net 'lenet5': inputs of shape (2,) are no images"),
        ({"train": Train(epochs=2, augment=Augment(crop=2))}, "crop needs images"),
        ({"methods": (Named("co_teaching", {"ramp": "abc"}),)}, "must be a whole number, not 'abc'"),
        ({"noise": "symetric:0.4"}, "unknown noise 'symetric'; did you mean 'symmetric'?"),
        (
            {"methods": (Named("ce"), Named("t_revision"))},
            "epochs is 2, but each of the 3 stages of 't_revision' needs one",
        ),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_written(tmp_path, change, sentence):
    with pytest.raises(InputError) as caught:
        compare(replace(JOB, **change), tmp_path / "out")
    assert sentence in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_the_default_folder_is_named_after_data_and_noise_and_changes_with_the_settings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jobs = [replace(JOB, seeds=1, methods=(Named("ce"),), noise=noise) for noise in ("symmetric:0.3", "pair:0.3")]
    folders = [compare(job, None)[0].store.folder for job in jobs]
    assert [folder.parent for folder in folders] == [Path("runs")] * 2
    assert [folder.name.rpartition("-")[0] for folder in folders] == ["gaussians-symmetric-0.3", "gaussians-pair-0.3"]


def test_the_default_folder_is_the_same_for_more_seeds_and_methods(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jobs = [replace(JOB, seeds=1, methods=(Named("ce"),)), JOB]
    assert len({compare(job, None)[0].store.folder for job in jobs}) == 1


def test_a_matrix_file_that_has_changed_is_another_config(tmp_path):
    path, out = tmp_path / "T.csv", tmp_path / "out"
    path.write_text("0.9,0.1\n0.2,0.8\n")
    job = replace(JOB, noise=f"matrix:{path}", methods=(Named("ce"),), seeds=1)
    compare(job, out)
    path.write_text("0.6,0.4\n0.2,0.8\n")
    with pytest.raises(InputError, match=r"holds runs of another config \(not the same: transition\)"):
        compare(job, out)


def test_the_same_data_and_noise_in_another_spelling_are_the_same_runs(tmp_path, monkeypatch):
    paths = ("mine.csv", "./elsewhere/mine.csv")
    jobs = [replace(JOB, data=Data(path, fingerprint="abc"), methods=(Named("ce"),), seeds=1) for path in paths]
    first, _ = compare(replace(jobs[0], noise="symmetric:0.2"), tmp_path, lambda seed: load("gaussians", seed))
    monkeypatch.setattr(module, "train_pack", None)
    second, _ = compare(replace(jobs[1], noise="symmetric:0.20"), tmp_path, lambda seed: load("gaussians", seed))
    assert first.runs == second.runs


def test_what_concludes_a_job_happens_while_the_folder_is_closed_to_others(tmp_path):
    met = []

    def conclude(store):
        with pytest.raises(InputError, match="another process is at work"):
            compare(JOB, tmp_path)
        met.append(store.folder)

    settings = {"out": tmp_path, "device": torch.device("cpu"), "display": Heard()}
    run_job(JOB, partial(load, "gaussians"), conclude=conclude, **settings)
    assert met == [tmp_path]


def test_data_that_have_changed_are_said_to_have(tmp_path):
    jobs = [replace(JOB, data=Data("gaussians", fingerprint=mark), methods=(Named("ce"),), seeds=1) for mark in "ab"]
    compare(jobs[0], tmp_path)
    with pytest.raises(InputError, match="holds runs on gaussians as it was before, and it has changed since; choose"):
        compare(jobs[1], tmp_path)


def test_a_run_that_fails_is_named_now_and_when_the_command_is_typed_again(tmp_path):
    train = replace(JOB.train, optimiser=Optimiser("sgd", lr=1e30))
    reckless = replace(JOB, train=train, methods=(Named("ce"),), seeds=1)
    outcome, heard = compare(reckless, tmp_path)
    again, heard_again = compare(reckless, tmp_path)
    assert [run.failed is not None for run in outcome.store.runs().values()] == [True]
    assert again.runs == outcome.runs
    _, sentence = heard.said
    assert sentence.startswith("ce, seed 0: the loss was not finite in epoch 1, step ")
    assert heard_again.said[1:] == ["ce × 1: finished before, not run again", sentence]


def test_a_folder_in_which_another_process_works_is_left_alone(tmp_path):
    seen = []

    def meanwhile(seed):
        if (tmp_path / ".lock").exists() and not seen:
            seen.append(seed)
            with pytest.raises(InputError, match="another process is at work in output folder"):
                compare(JOB, tmp_path)
        return load("gaussians", seed)

    compare(JOB, tmp_path, meanwhile)
    assert seen


def test_interrupted_it_can_be_typed_again(tmp_path, monkeypatch):
    whole, _ = compare(JOB, tmp_path / "whole")
    tick = Heard.tick

    def ask(self, *at):
        tick(self, *at)
        if self.ticks == 8:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Heard, "tick", ask)
    with pytest.raises(InterruptError):
        compare(JOB, tmp_path / "left")
    monkeypatch.undo()
    resumed, heard = compare(JOB, tmp_path / "left")
    assert heard.began == [("gce", 2, 2)]
    assert records(resumed) == records(whole)


def test_a_run_that_does_not_fit_in_memory_is_missing_and_tried_again_when_typed_again(tmp_path):
    memory = [False]

    def build(seed):
        if seed == 2 and not memory[0]:
            raise MemoryError
        return load("gaussians", seed)

    job = replace(JOB, seeds=3)
    first, heard = compare(job, tmp_path, build)
    assert len([each for each in heard.said if "seed 2: it does not fit in memory" in each]) == 2
    before = first.store.runs()
    assert sorted(run.config["seed"] for run in before.values()) == [0, 0, 1, 1]
    memory[0] = True
    second, heard = compare(job, tmp_path, build)
    assert heard.began == [("ce", 1, 2), ("gce", 1, 2)]
    after = second.store.runs()
    assert after.keys() == set(second.runs)
    assert all(after[identity].records == before[identity].records for identity in before)


def test_a_search_passes_over_settings_that_do_not_fit_in_memory(tmp_path, monkeypatch):
    whole = halving.run_pack

    def short(pack, at):
        if any(config.method.settings["q"] == 0.7 for config in pack.configs):  # the settings as they are
            raise MemoryError
        whole(pack, at)

    monkeypatch.setattr(halving, "run_pack", short)
    outcome, _ = compare(replace(JOB, methods=(Named("gce"),), search=Search(3, "grid")), tmp_path)
    chosen = outcome.store.runs()[outcome.store.searches["gce"]["chosen"]]
    assert chosen.config["method"]["settings"]["q"] != 0.7


def full_for(monkeypatch, is_full):
    """The disk has no space for files of which this holds."""
    save = checkpoint.save

    def tried(path, tensors, facts):
        if is_full(path):
            raise FullDiskError(f"cannot write {path}")
        save(path, tensors, facts)

    monkeypatch.setattr(checkpoint, "save", tried)


def test_on_a_full_disk_nothing_is_predicted_again_for_which_other_processes_would_not_be_there(tmp_path, monkeypatch):
    asked, predict = [], run.on_test_part
    monkeypatch.setattr(run, "on_test_part", lambda *given: asked.append(1) or predict(*given))
    full_for(monkeypatch, lambda path: True)
    compare(replace(JOB, methods=JOB.methods[:1]), tmp_path)
    assert len(asked) == 1


def test_without_space_for_details_and_a_model_what_is_measured_is_kept_and_not_trained_again(tmp_path, monkeypatch):
    full_for(monkeypatch, lambda path: True)
    outcome, heard = compare(JOB, tmp_path / "full")
    assert [each for each in heard.said if "no space is left for its model" in each]
    assert not list((tmp_path / "full").glob("*/details.safetensors"))
    monkeypatch.undo()
    whole, _ = compare(JOB, tmp_path / "whole")
    assert records(outcome) == records(whole)
    before = {path: path.read_bytes() for path in (tmp_path / "full").glob("*/*.json*")}
    again, _ = compare(JOB, tmp_path / "full")
    assert {path: path.read_bytes() for path in before} == before
    assert records(again) == records(whole)


def test_typed_again_it_is_said_of_which_finished_runs_no_model_was_kept(tmp_path, monkeypatch):
    full_for(monkeypatch, lambda path: path.parent.name.startswith("gce"))
    compare(JOB, tmp_path)
    monkeypatch.undo()
    _, heard = compare(JOB, tmp_path)
    assert [each for each in heard.said if "model" in each] == [
        f"gce × {JOB.seeds}: the model of these finished runs was not kept, as where the disk was full; "
        "train with another --out to have it"
    ]


def test_of_runs_that_have_failed_no_model_is_missed(tmp_path):
    job = replace(JOB, methods=JOB.methods[:1], train=replace(JOB.train, optimiser=Optimiser("sgd", lr=1e30)))
    compare(job, tmp_path)
    _, heard = compare(job, tmp_path)
    assert [each for each in heard.said if "not run again" in each]
    assert not [each for each in heard.said if "model" in each]


def test_details_and_a_model_take_the_space_of_the_last_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "Checkpointer", partial(Checkpointer, every_seconds=0.0))
    full_for(
        monkeypatch, lambda path: path.name.startswith("details") and (path.parent / "checkpoint.safetensors").exists()
    )
    outcome, heard = compare(JOB, tmp_path)
    assert not [each for each in heard.said if "no space" in each]
    packs = {found.pack for found in outcome.store.runs().values()}
    assert all(pack.details.exists() and pack.model.exists() for pack in packs)


def test_a_disk_that_is_full_at_any_write_loses_nothing_that_is_finished(tmp_path, monkeypatch):
    job = replace(JOB, seeds=1, train=Train(epochs=1, batch=1400))
    whole, _ = compare(job, tmp_path / "whole")
    monkeypatch.setattr(run, "Checkpointer", partial(Checkpointer, every_seconds=0.0))
    sync, writes, torn = os.fsync, [0], []

    def tear(number):
        """The k-th write is torn."""
        writes[0] += 1
        if writes[0] != k:
            return sync(number)
        if stat.S_ISREG(os.fstat(number).st_mode):
            os.ftruncate(number, max(0, os.fstat(number).st_size - 9))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", tear)
    for k in count(1):
        writes[0], out = 0, tmp_path / str(k)
        try:
            _, heard = compare(job, out)
            torn.append([each for each in heard.said if each.startswith("no space is left for ")])
        except InputError as problem:
            torn.append(str(problem))
        if writes[0] < k:
            break
        finished = {path: path.read_bytes() for path in out.glob("*/finished.json")}
        again, _ = compare(job, out)
        assert records(again) == records(whole)
        assert all(path.read_bytes() == content for path, content in finished.items())
        for path in out.glob("*/*.safetensors"):
            checkpoint.load(path)
    sentences = [each for each in torn if isinstance(each, str)]
    full = r"cannot write .* \(No space left on device\); free space and type the command again"
    assert all(re.fullmatch(full, each) for each in sentences)
    for name in ("config.json", "compared.json", "records.jsonl", "finished.json"):
        assert any(name in each for each in sentences), name
    assert any(each and "checkpoint" in each[0] for each in torn if isinstance(each, list))


DIGITS = load("digits", 0)
SMALL = ("digits", "moons", "moon", "circles", "gaussians")
EXAMPLES = {
    "none": ["none"],
    "symmetric": ["symmetric:0.3", "symmetric:0.3:exact"],
    "random": ["random:0.3"],
    "pair": ["pair:0.3"],
    "asymmetric": ["asymmetric:0.3"],
    "sparse": ["sparse:0.3", "sparse:high"],
    "uniform": ["uniform:low"],
    "instance": ["instance:0.3", "instance:0.3:centred"],
    "score": ["score:0.3"],
    "open_set": ["open_set:0.3"],
    "annotators": ["annotators:0.3", "annotators:0.3:aggregate", "annotators:0.3:worst"],
    "matrix": ["matrix:T.csv"],
}


def test_there_is_an_example_of_every_noise():
    assert set(EXAMPLES) == set(NOISES)


@pytest.mark.parametrize("data", SMALL)
@pytest.mark.parametrize("noise", [text for texts in EXAMPLES.values() for text in texts])
def test_every_noise_trains_on_every_small_data_set(data, noise, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    classes = len(load(data, 0).classes)
    np.savetxt("T.csv", 0.7 * np.eye(classes) + 0.3 / classes, delimiter=",", fmt="%.18g")
    train = Train(epochs=1, batch=512)
    job = replace(JOB, data=Data(data), noise=noise, methods=(Named("ce"),), seeds=1, train=train)
    outcome, _ = compare(job, tmp_path / "out")
    (run,) = outcome.store.runs().values()
    assert run.failed is None
    assert abs(run.noise_rate - parse(noise, classes, data).rate) < 4 * (0.25 / 1200) ** 0.5


STANDARD = {
    "mnist": ["sparse:low", "sparse:high", "uniform:low", "uniform:high", "open_set:0.3:fashion_mnist"],
    "fashion_mnist": ["sparse:high", "uniform:high", "instance:0.3", "score:0.3", "open_set:0.3"],
    "cifar10": ["sparse:high", "uniform:high", "asymmetric:0.4", "asymmetric:0.4:dmi", "instance:0.3:centred"],
    "cifar10n:worst": ["none", "pair:0.2", "asymmetric:0.4:englesson_text"],
    "cifar100": ["sparse:high", "uniform:low", "asymmetric:0.4", "asymmetric:0.4:superclass", "random:0.4"],
}


@pytest.fixture
def tiny_root(tmp_path, monkeypatch):
    """A data root in which every standard set has ten training and two test rows of each class."""
    monkeypatch.setenv("LABELNOISE_DATA", str(tmp_path / "root"))
    for name in ("mnist", "fashion_mnist", "cifar10", "cifar100"):
        card = CARDS[name]
        y = np.arange(12 * card.classes) % card.classes
        x = np.random.default_rng(0).integers(0, 256, (len(y), *card.shape), dtype=np.uint8)
        facts = {"train": 10 * card.classes, "classes": [f"c{i}" for i in range(card.classes)]}
        save(card, {"x": (x,), "y": (y,)}, facts)
    clean = np.arange(100) % 10
    save(CARDS["cifar10n"], {"clean_label": (clean,), "worse_label": ((clean + (np.arange(100) < 40)) % 10,)}, {})


@pytest.mark.parametrize(("data", "noise"), [(data, noise) for data, noises in STANDARD.items() for noise in noises])
def test_noise_goes_by_the_name_of_a_standard_data_set(data, noise, tmp_path, tiny_root):
    job = replace(JOB, data=Data(data), noise=noise, methods=(Named("ce"),), seeds=1, train=Train(epochs=1))
    outcome, heard = compare(job, tmp_path / "out")
    (run,) = outcome.store.runs().values()
    classes = len(load(data, 0).classes)
    drawn = parse(noise, classes, data)
    assert run.config["noise"] == drawn.definition
    there = 0.4 if data == "cifar10n:worst" else 0.0
    rows = 7 * 10 * classes // 8
    assert abs(run.noise_rate - there) < drawn.rate + 4 * (0.25 / rows) ** 0.5
    assert there or abs(run.noise_rate - drawn.rate) < 4 * (0.25 / rows) ** 0.5
    assert f"{2 * classes} for the test" in heard.said[0]


def test_noise_that_came_with_the_data_is_told_and_noise_upon_it_is_not(tmp_path):
    human = replace(DIGITS, y_given=flip(DIGITS.y_true, symmetric(10, 0.25), seed=0), test=torch.arange(1500, 1797))
    human.y_given[1500:] = human.y_true[1500:]
    job = replace(JOB, data=Data("digits"), methods=(Named("co_teaching"),), seeds=1)
    rate = (human.y_given != human.y_true)[:1500].double().mean().item()
    for noise, forget in (("none", rate), ("symmetric:0.3", 0.2)):  # 0.2 is what it does untold
        outcome, _ = compare(replace(job, noise=noise), tmp_path / noise, lambda _: human)
        (run,) = outcome.store.runs().values()
        assert run.config["method"]["settings"]["forget"] == pytest.approx(forget, abs=1e-6)


def test_saved_rows_of_a_built_in_set_are_treated_as_these(tmp_path):
    noisy = save_corrupted(DIGITS, "asymmetric:0.4", tmp_path / "noisy.npz", seed=0)
    job = replace(
        JOB, data=Data("noisy.npz", fingerprint="abc"), noise="none", methods=(Named("co_teaching"),), seeds=1
    )
    outcome, heard = compare(job, tmp_path / "out", lambda _: load_corrupted(tmp_path / "noisy.npz")[0])
    (run,) = outcome.store.runs().values()
    assert run.config["method"]["settings"]["forget"] == pytest.approx(noisy.noise_rate, abs=1e-6)
    assert "noise asymmetric:0.4:patrini was added with seed 0" in heard.said


@pytest.mark.parametrize(
    ("changes", "own", "truth"),
    [
        ({}, False, "known"),
        ({}, True, "known"),
        ({"assumed": True}, True, "added"),
        ({"y_true": None}, True, "unknown"),
        ({"y_true": None, "test": torch.tensor([0])}, True, "unknown"),
        ({"y_true": None, "test": torch.tensor([0])}, False, "verified"),
    ],
)
def test_what_the_test_part_is_compared_with(changes, own, truth):
    assert module._truth(replace(DIGITS, **changes), own=own) == truth


def test_rows_of_no_class_are_said(tmp_path):
    _, heard = compare(replace(JOB, noise="open_set:0.3", seeds=1), tmp_path / "out")
    (said,) = (sentence for sentence in heard.said if "none of the classes" in sentence)
    count = int(said.split()[0])
    assert abs(count / 1400 - 0.3) < 4 * (0.21 / 1400) ** 0.5
    assert said == (
        f"{count} training rows belong to none of the classes: their labels count as wrong, "
        "and no table of true classes has them"
    )


def test_it_is_said_that_instance_noise_of_two_classes_does_not_depend_on_the_input(tmp_path):
    _, heard = compare(replace(JOB, noise="instance:0.3"), tmp_path / "out")
    assert "with two classes instance noise does not depend on the input; score does" in heard.said
