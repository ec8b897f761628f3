"""What is trained to be timed: networks with their data and training, and where."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Self

import numpy as np
import torch

from labelnoise.config import Augment, Named, Optimiser, RunConfig, Train
from labelnoise.data import load
from labelnoise.data.dataset import Dataset
from labelnoise.data.pictures import Pictures
from labelnoise.data.standard.cache import data_root, lacking
from labelnoise.data.standard.catalogue import CARDS, Card
from labelnoise.sweep.run import find_device

AS_THEY_ARE = Augment()
EPOCHS = 200  # more than are ever reached
NOISE = "symmetric:0.4"
DESCENT = Optimiser("sgd", lr=0.01, momentum=0.9)
NESTEROV = Optimiser("sgd", lr=0.01, momentum=0.9, nesterov=True, weight_decay=5e-4)
SECONDS = {"cpu": 1.5, "cuda": 4.0}  # that the blocks of one figure take, about
ROWS = {"cpu": 12_000, "cuda": 0}  # images at most; 0: all


@dataclass(frozen=True)
class Case:
    """A network with its data and training, and how many runs share the device."""

    data: str  # standard data set
    net: Named
    batch: int
    runs: int
    few: tuple[int, int]  # runs and batch on a CPU, for which the others are too many
    optimiser: Optimiser = DESCENT
    augment: Augment = AS_THEY_ARE

    def config(self, method: Named) -> RunConfig:
        """One run of it."""
        train = Train(epochs=EPOCHS, batch=self.batch, optimiser=self.optimiser, augment=self.augment)
        return RunConfig(noise=NOISE, method=method, net=self.net, train=train)


COLOURS = CARDS["cifar10"].augment
ADAM = Optimiser("adam", lr=1e-3)
CASES: Mapping[str, Case] = {
    "lenet5": Case("mnist", Named("lenet5"), 256, 45, (2, 64)),
    "lenet5_same": Case("mnist", Named("lenet5_same"), 256, 18, (2, 64), ADAM),
    "wrn_28_2": Case("cifar10", Named("wrn_28_2"), 128, 8, (2, 16), NESTEROV, COLOURS),
    "resnet34": Case("cifar10", Named("resnet34", {"stem": "imagenet"}), 128, 8, (2, 16), NESTEROV, COLOURS),
    "resnet18": Case(  # as CausalNL's paper trains others
        "fashion_mnist", Named("resnet18", {"stem": "imagenet"}), 128, 9, (2, 16), ADAM, Augment(crop=4, flip=True)
    ),
}


@dataclass(frozen=True)
class Bench:
    """Where it is measured, and how long a single measurement may take."""

    device: torch.device
    seconds: float
    rows: int = 0  # images at most; 0: all
    rates: dict[str, tuple[float, str]] = field(default_factory=dict)  # of what was measured before, with notes

    @classmethod
    def on(cls, name: str) -> Self:
        """On the device of this name."""
        device = find_device(name)
        return cls(device, SECONDS[device.type], ROWS[device.type])

    def fitted(self, case: Case) -> Case:
        """What of a case this device can do."""
        runs, batch = case.few
        return case if self.device.type == "cuda" else replace(case, runs=runs, batch=batch)

    def images(self, case: Case) -> Dataset:
        """What a case is trained on."""
        return images(case.data, self.rows)


def absent(name: str) -> str:
    """Where the data root lacks a standard data set, a sentence on how to get it; else nothing."""
    card = lacking(CARDS[name])
    return f"{card.name} is not in the data root {data_root()}; {card.to_get}" if card else ""


@cache
def images(name: str, rows: int = 0) -> Dataset:
    """The standard data set of this name if the data root has it, else random images like it; of all, so many rows."""
    data = load(name, 0) if not absent(name) else _random(CARDS[name])
    if not rows or isinstance(data.x, Pictures):
        return data
    kept = torch.arange(0, len(data), -(-len(data) // rows))
    test = None if data.test is None else torch.isin(kept, data.test).nonzero().flatten()
    return Dataset(name, data.x[kept], data.y_given[kept], data.y_given[kept], data.classes, test=test)


def _random(card: Card) -> Dataset:
    rng, size = np.random.default_rng(0), card.train + card.test
    x = torch.from_numpy(rng.integers(0, 256, (size, *card.shape), dtype=np.uint8))
    y = torch.from_numpy(rng.integers(0, card.classes, size))
    return Dataset(card.name, x, y, y, tuple(map(str, range(card.classes))), test=torch.arange(card.train, size))
