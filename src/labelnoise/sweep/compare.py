"""The main job: several methods on the same data with several seeds, taken up again where it was interrupted."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Protocol

import torch

from labelnoise.config import RunConfig, digest
from labelnoise.data.dataset import load
from labelnoise.engine.loop import phases
from labelnoise.errors import InputError
from labelnoise.noise.apply import parse
from labelnoise.results.record import Record
from labelnoise.results.store import Store
from labelnoise.sweep.plan import Pack, comparison, plan_packs
from labelnoise.sweep.run import failure, prepare, run_pack, specify


class Display(Protocol):
    """Where the work shows itself."""

    def begin(self, name: str, runs: int, epochs: int) -> None:
        """A pack of runs starts."""

    def tick(self, epoch: int, step: int, steps: int) -> None:
        """A step is done."""

    def end(self) -> None:
        """The pack is done."""

    def say(self, sentence: str) -> None:
        """One line for the person who waits."""


class Outcome(NamedTuple):
    """What a comparison leaves."""

    records: list[Record]
    folder: Path
    noise_rates: list[float | None]  # realised, of the runs' training labels
    failed: dict[str, str]  # runs that were stopped, by identity, with their methods


def compare_methods(
    base: RunConfig,
    methods: Sequence[str],
    seeds: int,
    *,
    out: Path | None,
    device: torch.device,
    executor: str | None,
    display: Display,
) -> Outcome:
    """Train every method with every seed; what is wrong with the settings is said before anything is written."""
    if not methods:
        raise InputError("methods is empty; name at least one, such as ce,gce")
    base, noise_rate = _with_noise(base)
    configs = comparison(base, methods, seeds, noise_rate)
    packs = plan_packs(configs)
    specify(base, prepare(base)).net(2)
    for pack in packs:
        phases(pack.methods[0], base.train.epochs)
    store = Store.open(out or _folder(base, configs), {"runs": [config.to_dict() for config in configs]})
    for pack in packs:
        _run(pack, store, device, executor, display)
    journals = [store.journal(pack.name) for pack in packs]
    runs = [run for journal in journals for run in journal.facts["runs"]]
    failed = {run["run"]: run["config"]["method"]["name"] for run in runs if run["failed"]}
    records = [record for journal in journals for record in journal.read()]
    return Outcome(records, store.folder, [run["noise_rate"] for run in runs], failed)


def _with_noise(config: RunConfig) -> tuple[RunConfig, float]:
    # The config that also stands for the matrix behind the noise's name, and the share of wrong labels it aims at.
    dataset = load(config.data, config.seed)
    T = parse(config.noise, len(dataset.classes), config.data).T
    prior = torch.bincount(dataset.y_given, minlength=len(dataset.classes)).double() / len(dataset)
    return replace(config, transition=digest(T.probs.tolist())), round(T.rate(prior), 6)


def _run(pack: Pack, store: Store, device: torch.device, executor: str | None, display: Display) -> None:
    journal = store.journal(pack.name)
    if journal.finished:
        display.say(f"{pack.configs[0].method.name}: finished before, not run again")
        for config, run in zip(pack.configs, journal.facts["runs"], strict=True):
            if run["failed"]:
                display.say(failure(config.method.name, config.seed, run["failed"]))
        return
    display.begin(pack.configs[0].method.name, len(pack.configs), pack.configs[0].train.epochs)
    run_pack(pack, journal, device=device, executor=executor, tick=display.tick, note=display.say)
    display.end()


def _folder(base: RunConfig, configs: Sequence[RunConfig]) -> Path:
    noise = base.noise.replace(":", "-").replace("/", "_")
    return Path("runs") / f"{base.data}-{noise}-{digest([config.identity for config in configs])[:8]}"
