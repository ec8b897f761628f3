"""A trained model in one file: weights as safetensors, and all else that a prediction needs as JSON in its header."""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from labelnoise import nets
from labelnoise.config import Optimiser, RunConfig
from labelnoise.configure import build as configured
from labelnoise.data import augment
from labelnoise.data.own import read_inputs
from labelnoise.engine import checkpoint
from labelnoise.engine.evaluate import ROWS
from labelnoise.engine.executors import Executor
from labelnoise.engine.lanes import Alone
from labelnoise.errors import InputError
from labelnoise.methods import build
from labelnoise.types import DataSpec

FORMAT = 1


class Prediction(NamedTuple):
    """What a model says of some rows."""

    ids: tuple[str, ...]
    classes: tuple[str, ...]
    probs: NDArray[np.float32]  # (N, K)
    notes: tuple[str, ...]  # on how the rows were read

    @property
    def labels(self) -> list[str]:
        """The most probable class of each row, by name."""
        return [self.classes[best] for best in self.probs.argmax(1)]


def save_model(path: Path, executor: Executor, run: int, config: RunConfig, facts: Mapping[str, Any]) -> None:
    """Write what one run has learnt; `facts` has at least shape, classes, samples and encoding of its data."""
    kept = {name: value[run] for name, value in executor.state().items() if name.startswith(("weights|", "aux|"))}
    checkpoint.save(path, kept, {"format": FORMAT, "config": config.to_dict(), **facts})


class Model:
    """A trained model that predicts classes by name."""

    def __init__(self, weights: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        self.facts = facts
        self.config = configured(RunConfig, facts["config"])
        self.classes = tuple(facts["classes"])
        shape = tuple(facts["shape"])
        method = build(self.config.method.name, self.config.method.settings)
        net = partial(nets.build, self.config.net.name, shape, settings=self.config.net.settings)
        spec = DataSpec(shape, len(self.classes), facts["samples"], net)
        self._lane = Alone([method], spec, [self.config.seed], torch.zeros(()))
        self._lane.enter(len(method.stages()) - 1, Optimiser())
        self._lane.load_weights({name: value.unsqueeze(0) for name, value in weights.items()})

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read what `save_model` wrote; of a folder of runs, the model that noisy validation has chosen."""
        file = Path(path) / "model.safetensors" if Path(path).is_dir() else Path(path)
        if not file.is_file():
            raise InputError(f"there is no model {file}; `labelnoise train` writes one at its end")
        weights, facts = checkpoint.load(file, "it is no model of labelnoise")
        if facts.get("format") != FORMAT:
            raise InputError(f"model {file} has format {facts.get('format')}, but this version reads format {FORMAT}")
        return cls(weights, facts)

    def predict(self, source: Any, *, id_column: str | None = None) -> Prediction:
        """Classes and probabilities of new rows: a path, a DataFrame or an array, read as the training data were."""
        settings = self.config.data if id_column is None else replace(self.config.data, id_column=id_column)
        inputs = read_inputs(source, self.facts["encoding"], settings)
        probs = torch.cat([self._lane.log_probs(x).exp() for x in self._chunks(inputs.x)])
        return Prediction(inputs.ids, self.classes, probs.numpy(), inputs.notes)

    def _chunks(self, x: Tensor) -> Iterator[Tensor]:
        for rows in torch.split(x, ROWS):
            yield augment.normalise(augment.to_float(rows), self.config.train.augment)


def write_csv(prediction: Prediction, path: Path) -> None:
    """A row for each input: id, predicted class, and the probability of every class."""
    draft = path.with_name(f".{path.name}.draft")
    with draft.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "predicted", *(f"p({name})" for name in prediction.classes)])
        for name, label, probs in zip(prediction.ids, prediction.labels, prediction.probs, strict=True):
            writer.writerow([name, label, *(f"{p:.6g}" for p in probs)])
    draft.replace(path)
