"""The main job as people ask for it: data and wishes in; table, report and trained model out."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from labelnoise.config import Data, Job, Named
from labelnoise.configure import Tree, build, merge, plain, to_yaml
from labelnoise.data.dataset import Builder, Dataset, builder
from labelnoise.data.own import is_own, read
from labelnoise.data.recipe import recipe
from labelnoise.data.standard.catalogue import CARDS
from labelnoise.engine.execution import DEFAULT, Execution
from labelnoise.errors import InputError
from labelnoise.files import write
from labelnoise.methods.own import find_methods
from labelnoise.report.page import write_page
from labelnoise.report.summary import Row, Summary, summarise
from labelnoise.report.tables import show
from labelnoise.results.model import Model, file_of, join_models
from labelnoise.results.store import Store
from labelnoise.sweep.compare import run_job, written_out
from labelnoise.sweep.run import Display, Engine, find_device


class Plan(NamedTuple):
    """A job with the data it is for."""

    job: Job
    build: Builder  # seed -> data set
    files: Mapping[str, str] = {}  # by method, the Python file that it came from


@dataclass(frozen=True, repr=False)
class Comparison:
    """What a comparison leaves, in a folder and in figures."""

    folder: Path
    summary: Summary
    has_model: bool  # of the method that noisy validation has chosen
    failed: tuple[str, ...]  # methods of which every run that was asked for and is there has failed
    missing: int  # runs that were asked for and are not there

    def __str__(self) -> str:
        text = StringIO()
        show(self.summary, Console(file=text, width=120))
        return text.getvalue().strip()

    @property
    def report(self) -> Path:
        """The page to look at."""
        return self.folder / "report.html"

    def model(self) -> Model:
        """The model that noisy validation has chosen."""
        if not self.has_model:
            chosen = self.summary.winner or "any method"
            raise InputError(f"no model of {chosen} was kept in {self.folder}; train with another out to have it")
        return Model.load(self.folder)


def compare_methods(
    source: Any = "digits",
    y: Any = None,
    *,
    y_true: Any = None,
    settings: Tree | None = None,
    out: Path | str | None = None,
    device: str = "auto",
    execution: Execution = DEFAULT,
    display: Display | None = None,
    engine: Engine | None = None,
) -> Comparison:
    """Compare methods on one's own data, or on a built-in set: a path or name, a DataFrame, or an array with labels y.

    `settings` is a tree as in a config file: `{"methods": "ce,gce", "seeds": 5, "train": {"epochs": 20}}`. The folder
    `out` (by default one under `runs/`) gets records, config, report and model; done again, nothing is trained twice.
    `execution` says how the device is used, such as `Execution(deterministic=True)`.
    `engine=labelnoise.sweep.ray.Ray()` trains on all cores or GPUs of this machine, or of several.
    """
    plan = make_plan(settings or {}, source, y, y_true)
    return run_plan(plan, out=out, device=device, execution=execution, display=display or Display(), engine=engine)


def make_plan(tree: Tree, source: Any = None, y: Any = None, y_true: Any = None) -> Plan:
    """The whole job: what suits the data, overlaid with what is asked for; `source` stands for `data.source`."""
    given = source is not None and not isinstance(source, str | Path)
    wishes = merge(tree, {} if source is None else {"data": {"source": "" if given else str(source)}})
    data = build(Job, {"data": wishes.get("data")}).data
    if not data.source and not given:
        raise InputError("data.source is empty, so the data were given from Python; give them to compare_methods again")
    own = y is not None or not isinstance(source, str | None) or is_own(data.source)
    make = _own(data, source, y, y_true) if own else _built_in(data)
    dataset = make(0)
    suited = recipe(dataset.shape, round(len(dataset) * 0.7))
    defaults = {
        "noise": Job.noise if not own and dataset.noise_rate == 0 else "none",
        "net": {"name": suited.net},
        "train": {"epochs": suited.epochs, "batch": suited.batch, "augment": augmentation(dataset)},
    }
    job = build(Job, merge(defaults, wishes))
    if own:
        job = replace(job, data=_marked(job.data, dataset))
    methods, files = _found(job.methods)
    return Plan(replace(job, methods=methods), make, files)


def run_plan(
    plan: Plan,
    *,
    out: Path | str | None,
    device: str,
    execution: Execution = DEFAULT,
    display: Display,
    engine: Engine | None = None,
) -> Comparison:
    """Train what is not yet trained, then write config, report and the chosen model."""
    place, folder = find_device(device), Path(out) if out else None
    results: list[tuple[Summary, bool]] = []

    def conclude(store: Store) -> None:
        write(store.folder / "config.yaml", config_text(plan))
        summary = summarise(store)
        results.append((summary, _write_model(store, summary.best, display)))
        write_page(store, store.folder / "report.html")

    outcome = run_job(
        plan.job,
        plan.build,
        out=folder,
        device=place,
        execution=execution,
        display=display,
        engine=engine,
        conclude=conclude,
    )
    ((summary, has_model),) = results
    runs = outcome.store.runs()
    found = [runs[identity] for identity in outcome.runs if identity in runs]
    healthy = {run.config["method"]["name"] for run in found if not run.failed}
    failed = tuple(dict.fromkeys(name for run in found if (name := run.config["method"]["name"]) not in healthy))
    return Comparison(outcome.store.folder, summary, has_model, failed, missing=len(outcome.runs) - len(found))


def config_text(plan: Plan) -> str:
    """All settings of a plan as YAML: the same again as `labelnoise train --config` reads it."""
    job = written_out(plan.job, plan.build)
    methods = tuple(Named(plan.files.get(method.name, method.name), method.settings) for method in job.methods)
    return to_yaml(plain(replace(job, methods=methods)))


def _built_in(data: Data) -> Builder:
    make = builder(data.source)
    if idle := [f.name for f in fields(Data) if f.name != "source" and getattr(data, f.name) != f.default]:
        raise InputError(f"data.{idle[0]} is for data of one's own, but {data.source} is built in; leave it out")
    return make


def augmentation(dataset: Dataset) -> Tree:
    """What is done to training images of a standard data set."""
    card = CARDS.get(dataset.known_as.partition(":")[0])
    return asdict(card.augment) if card else {}


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


def _found(methods: tuple[Named, ...]) -> tuple[tuple[Named, ...], dict[str, str]]:
    # A Python file stands for the methods that it registers; later settings of the same method win.
    named: dict[str, Named] = {}
    files: dict[str, str] = {}
    for method in methods:
        for found in find_methods(method.name):
            named[found.name] = Named(found.name, method.settings)
            if method.name != found.name:
                files[found.name] = method.name
    return tuple(named.values()), files


def _write_model(store: Store, best: Row | None, display: Display) -> bool:
    # A pack keeps the model of its best settings alone, so settings that lost a search may have none; a full disk too.
    if best is None:
        return False
    packs, path = sorted({run.pack.model for run in best.finished if run.pack.model.exists()}), file_of(store.folder)
    written = join_models(packs, {"name": best.method, "settings": best.settings}, path)
    if not written and path.exists():
        display.warn(
            f"{path} is of an earlier choice: no model of {best.label} was kept, which noisy validation chooses"
        )
    return written
