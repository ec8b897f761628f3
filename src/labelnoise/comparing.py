"""The main job as people ask for it: data and wishes in; table, report and trained model out."""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from labelnoise.config import Data, Job, Named
from labelnoise.configure import Tree, build, merge, plain, to_yaml
from labelnoise.data.dataset import DATASETS, Builder, Dataset
from labelnoise.data.own import is_own, read
from labelnoise.data.recipe import recipe
from labelnoise.errors import InputError
from labelnoise.report.page import write_page
from labelnoise.report.summary import Summary, summarise
from labelnoise.results.model import Model
from labelnoise.results.store import Store
from labelnoise.sweep.compare import run_job, written_out
from labelnoise.sweep.run import Display, find_device
from labelnoise.testing import find_methods


class Plan(NamedTuple):
    """A job with the data it is for."""

    job: Job
    build: Builder  # seed -> data set


@dataclass(frozen=True)
class Comparison:
    """What a comparison leaves, in a folder and in figures."""

    folder: Path
    summary: Summary
    has_model: bool  # of the method that noisy validation has chosen
    failed: bool  # every run that was asked for

    @property
    def report(self) -> Path:
        """The page to look at."""
        return self.folder / "report.html"

    def model(self) -> Model:
        """The model that noisy validation has chosen."""
        return Model.load(self.folder)


def compare_methods(
    source: Any = "digits",
    y: Any = None,
    *,
    y_true: Any = None,
    settings: Tree | None = None,
    out: Path | str | None = None,
    device: str = "auto",
    executor: str | None = None,
    display: Display | None = None,
) -> Comparison:
    """Compare methods on one's own data, or on a built-in set: a path or name, a DataFrame, or an array with labels y.

    `settings` is a tree as in a config file: `{"methods": "ce,gce", "seeds": 5, "train": {"epochs": 20}}`. The folder
    `out` (by default one under `runs/`) gets records, config, report and model; done again, nothing is trained twice.
    """
    plan = make_plan(settings or {}, source, y, y_true)
    return run_plan(plan, out=out, device=device, executor=executor, display=display or Display())


def make_plan(tree: Tree, source: Any = None, y: Any = None, y_true: Any = None) -> Plan:
    """The whole job: what suits the data, overlaid with what is asked for; `source` stands for `data.source`."""
    name = str(source) if isinstance(source, str | Path) else type(source).__name__
    wishes = merge(tree, {} if source is None else {"data": {"source": name}})
    data = build(Job, {"data": wishes.get("data")}).data
    own = y is not None or not isinstance(source, str | None) or is_own(data.source)
    builder = _own(data, source, y, y_true) if own else DATASETS.get(data.source)
    dataset = builder(0)
    suited = recipe(dataset.shape, round(len(dataset) * 0.7))
    defaults = {
        "noise": "none" if own else Job.noise,
        "net": {"name": suited.net},
        "train": {"epochs": suited.epochs, "batch": suited.batch},
    }
    job = build(Job, merge(defaults, wishes))
    if own:
        job = replace(job, data=_marked(job.data, dataset))
    return Plan(replace(job, methods=_found(job.methods)), builder)


def run_plan(plan: Plan, *, out: Path | str | None, device: str, executor: str | None, display: Display) -> Comparison:
    """Train what is not yet trained, then write config, report and the chosen model."""
    place = find_device(device)
    outcome = run_job(
        plan.job, plan.build, out=Path(out) if out else None, device=place, executor=executor, display=display
    )
    store = outcome.store
    _write(store.folder / "config.yaml", config_text(plan))
    summary = summarise(store, outcome.runs)
    has_model = _copy_model(store, summary)
    write_page(store, store.folder / "report.html")
    runs = store.runs()
    return Comparison(store.folder, summary, has_model, all(runs[identity].failed for identity in outcome.runs))


def config_text(plan: Plan) -> str:
    """All settings of a plan as YAML: the same again as `labelnoise train --config` reads it."""
    return to_yaml(plain(written_out(*plan)))


def _write(path: Path, text: str) -> None:
    draft = path.with_suffix(".draft")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def _own(data: Data, source: Any, y: Any, y_true: Any) -> Builder:
    dataset = read(data.source if source is None else source, data, y=y, y_true=y_true)
    return lambda _: dataset


def _marked(data: Data, dataset: Dataset) -> Data:
    if data.fingerprint and data.fingerprint != dataset.fingerprint:
        raise InputError(
            f"{data.source} is not what it was when data.fingerprint {data.fingerprint} was noted, "
            f"now it is {dataset.fingerprint}; restore it, or remove data.fingerprint from the config"
        )
    return replace(data, fingerprint=dataset.fingerprint)


def _found(methods: tuple[Named, ...]) -> tuple[Named, ...]:
    # a Python file stands for the methods that it registers
    named = [Named(found.name, method.settings) for method in methods for found in find_methods(method.name)]
    return tuple({method.name: method for method in named}.values())


def _copy_model(store: Store, summary: Summary) -> bool:
    # A pack keeps its best model alone, so settings that lost a search and were then asked for alone may have none.
    if summary.best is None:
        return False
    chosen = {"name": summary.best.method, "settings": summary.best.settings}
    paths = {run.pack.model for run in summary.best.finished}
    models = [(Model.load(path).facts, path) for path in sorted(paths)]
    scores = {path: facts["score"] for facts, path in models if facts["config"]["method"] == chosen}
    if scores:
        draft = store.folder / "model.draft"
        shutil.copyfile(max(scores, key=lambda path: scores[path]), draft)
        draft.replace(store.folder / "model.safetensors")
    return bool(scores)
