"""A trained model in one file: weights as safetensors, and all else that a prediction needs as JSON in its header."""

import csv
import io
from collections.abc import Mapping, Sequence
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
from labelnoise.engine.instance import learns_transition, transition
from labelnoise.engine.lanes import Alone
from labelnoise.engine.used import used
from labelnoise.errors import InputError
from labelnoise.files import write
from labelnoise.methods import METHODS, build
from labelnoise.results.facts import NUMBER, fits, run_again
from labelnoise.types import DataSpec, NetFactory

FORMAT = 1
DAMAGED = "it is damaged, or of another version"
FACTS = {
    "format": int,
    "members": [{"config": dict, "score": NUMBER}],
    "shape": [int],
    "classes": [str],
    "samples": int,
    "encoding": dict,
}


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


class Member(NamedTuple):
    """One run of a model."""

    config: RunConfig
    score: float  # on noisy validation


def model_of(
    executor: Executor, members: Mapping[int, Member], facts: Mapping[str, Any]
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What predictions need of some runs, weights and facts; the latter has shape, classes, samples and encoding."""
    state, needed = executor.state(), used(executor.lanes[0])
    kept = {name: state[name][list(members)].detach().cpu() for name in sorted(needed)}
    told = [{"config": each.config.to_dict(), "score": each.score} for each in members.values()]
    return kept, {"format": FORMAT, "members": told, **facts}


def save_model(path: Path, executor: Executor, members: Mapping[int, Member], facts: Mapping[str, Any]) -> None:
    """Write what predictions need of some runs."""
    checkpoint.save(path, *model_of(executor, members, facts))


def join_models(paths: Sequence[Path], method: Mapping[str, Any], path: Path) -> bool:
    """One model of the members of packs' models that have this method and these settings; False if there are none."""
    weights: list[dict[str, Tensor]] = []
    told: list[dict[str, Any]] = []
    facts: dict[str, Any] = {}
    for each in paths:
        theirs, facts = _load(each, run_again(each.parent))
        own = [place for place, member in enumerate(facts["members"]) if member["config"]["method"] == method]
        weights += [{name: value[place] for name, value in theirs.items()} for place in own]
        told += [facts["members"][place] for place in own]
    if told:
        stacked = {name: torch.stack([member[name] for member in weights]) for name in weights[0]}
        checkpoint.save(path, stacked, {**facts, "members": told})
    return bool(told)


class Model:
    """A trained model that predicts classes by name: the mean probabilities of its members, a run for each seed."""

    def __init__(
        self,
        weights: Mapping[str, Tensor],
        facts: Mapping[str, Any],
        *,
        net: NetFactory | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.weights, self.facts = weights, facts
        self._net, self._dtype = net, dtype  # without a net: the registered one that the config names
        self.members = [Member(configured(RunConfig, each["config"]), each["score"]) for each in facts["members"]]
        self.config = self.members[0].config
        if self.config.method.name not in METHODS:
            raise InputError(
                f"the model was trained by method {self.config.method.name!r}, which is none of this package; "
                "name its Python file with --method, or in Python import it before the model is loaded"
            )
        self.classes = tuple(facts["classes"])
        if any(len(value) != len(self.members) or not value.isfinite().all() for value in weights.values()):
            raise InputError("the model has weights that are no numbers, or not those of its runs; it is damaged")
        self._lanes = [
            self._lane(member.config, {name: self._number(value[place, None]) for name, value in weights.items()})
            for place, member in enumerate(self.members)
        ]

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read a model; of a folder of runs, the one that noisy validation has chosen."""
        file = file_of(path)
        if not file.is_file():
            raise InputError(
                f"there is no model {file}; `labelnoise train` writes one at its end, "
                "and where the disk was full it takes another --out"
            )
        return cls(*_load(file, "it is damaged, or no model of labelnoise"))

    def predict(self, source: Any, *, id_column: str | None = None) -> Prediction:
        """Classes and probabilities of new rows: a path, a DataFrame or an array, read as the training data were.

        `id_column` names another column of ids than the training data had, or, empty, none.
        """
        settings = self.config.data if id_column is None else replace(self.config.data, id_column=id_column)
        inputs = read_inputs(source, self.facts["encoding"], settings)
        probs = torch.cat([self._probs(rows) for rows in torch.split(inputs.x, ROWS)])
        return Prediction(inputs.ids, self.classes, probs.numpy(), inputs.notes)

    def transition(self, source: Any) -> NDArray[np.float32]:
        """P(given | true = i, x) in row i for each new row, (N, K, K), where the method learns it: mean of members.

        Predictions come from the epoch that noisy validation has chosen, this from the last, which it cannot judge.
        """
        if not all(map(learns_transition, self._lanes)):
            learnt = "choose one that does, such as causal_nl"
            raise InputError(f"method {self.config.method.name!r} does not learn how noise depends on x; {learnt}")
        rows = read_inputs(source, self.facts["encoding"], replace(self.config.data, id_column="")).x
        x = [self._served(some) for some in torch.split(rows, max(1, ROWS // len(self.classes)))]
        found = [torch.stack([transition(lane, some) for lane in self._lanes]).mean(0) for some in x]
        return torch.cat(found).numpy()

    def _probs(self, rows: Tensor) -> Tensor:
        x = self._served(rows)
        return torch.stack([lane.log_probs(x).exp() for lane in self._lanes]).mean(0)

    def _served(self, rows: Tensor) -> Tensor:
        return augment.normalise(self._number(augment.to_float(rows)), self.config.train.augment)

    def _number(self, tensor: Tensor) -> Tensor:
        return tensor.to(self._dtype) if tensor.is_floating_point() else tensor

    def _lane(self, config: RunConfig, weights: Mapping[str, Tensor]) -> Alone:
        method, shape = build(config.method.name, config.method.settings), tuple(self.facts["shape"])
        net = self._net or partial(nets.build, config.net.name, shape, settings=config.net.settings)
        spec = DataSpec(shape, len(self.classes), self.facts["samples"], net)
        lane = Alone([method], spec, [config.seed], torch.zeros((), dtype=self._dtype))
        lane.enter(len(method.stages()) - 1, Optimiser())
        fresh = lane.state()
        if wrong := [name for name in weights if name in fresh and weights[name].shape != fresh[name].shape]:
            raise InputError(f"the model has {wrong[0]} in another shape than its network; {DAMAGED}")
        lane.load_weights(weights)
        if missing := used(lane) - set(weights):
            raise InputError(f"the model lacks {', '.join(sorted(missing))}; {DAMAGED}")
        return lane


def file_of(path: Path | str) -> Path:
    """Where a model lies: the file itself, or the one in a folder of runs."""
    return Path(path) / "model.safetensors" if Path(path).is_dir() else Path(path)


def _load(path: Path, advice: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    weights, facts = checkpoint.load(path, advice)
    if (theirs := facts.get("format", FORMAT)) != FORMAT:
        raise InputError(f"model {path} has format {theirs}, but this version reads format {FORMAT}")
    if not fits(facts, FACTS) or not facts["members"]:
        raise InputError(f"{path} cannot be read (its header lacks what a model needs); {advice}")
    return weights, facts


def write_csv(prediction: Prediction, path: Path) -> None:
    """A row for each input: id, predicted class, and the probability of every class."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["id", "predicted", *(f"p({name})" for name in prediction.classes)])
    for name, label, probs in zip(prediction.ids, prediction.labels, prediction.probs, strict=True):
        writer.writerow([name, label, *(f"{p:.6g}" for p in probs)])
    write(path, text.getvalue())
