"""The main job: several methods on the same data with several seeds, taken up again where it was interrupted."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch

from labelnoise.config import Job, Named, RunConfig, digest, essential
from labelnoise.data import augment
from labelnoise.data.dataset import Builder, Dataset
from labelnoise.data.loader import Task, check_every_class
from labelnoise.data.rows import counted
from labelnoise.data.split import absent
from labelnoise.engine.execution import DEFAULT, Execution
from labelnoise.engine.phases import phases
from labelnoise.engine.ranks import interrupt as interruptions
from labelnoise.methods.base import METHODS, build, hyper_fields
from labelnoise.methods.select import can_estimate
from labelnoise.nets.base import resolved
from labelnoise.noise.corrupt import noise_for
from labelnoise.noise.kinds import Noise
from labelnoise.results.select import NoisyValidation
from labelnoise.results.store import Run, Store
from labelnoise.sweep.headline import headline
from labelnoise.sweep.plan import comparison, plan_packs, set_by_rate, told, told_by_rate
from labelnoise.sweep.room import most_runs
from labelnoise.sweep.run import Display, Engine, Workplace, failure, prepare, specify
from labelnoise.sweep.space import best, trials
from labelnoise.sweep.together import train_pack

OWN = ("method", "code", "seed")  # settings in which the runs of a folder differ


class Outcome(NamedTuple):
    """What a comparison leaves."""

    store: Store
    runs: list[str]  # identities of the runs compared


def run_job(
    job: Job,
    make: Builder,
    *,
    out: Path | None,
    device: torch.device,
    display: Display,
    execution: Execution = DEFAULT,
    engine: Engine | None = None,
    conclude: Callable[[Store], None] = lambda _: None,
) -> Outcome:
    """Train every method with every seed; what is wrong with the settings is said before anything is written.

    `engine` trains the packs, by default one after the other in this process; `conclude` is called in the end, while
    the folder is still closed to others.
    """
    dataset = make(0)
    base, noise_rate = base_of(job, dataset)
    configs = comparison(base, job.methods, job.seeds, noise_rate)
    facts = facts_of(configs, make, noise_rate)
    with interruptions() as interrupt, Store.open(out or _folder(base), common_of(base), facts) as store:
        for sentence in (headline(job, facts), *facts["notes"], *_remarks(job, dataset, facts)):
            display.say(sentence)
        at = Workplace(store, make, device, execution, display, interrupt, frozenset(store.runs()), engine)
        if job.search.trials:
            configs = comparison(base, _search(job, base, noise_rate, at), job.seeds, noise_rate)
        store.note_compared({config.identity: _own(config, noise_rate) for config in configs})
        train_all(configs, at)
        conclude(store)
    return Outcome(store, [config.identity for config in configs])


def written_out(job: Job, make: Builder) -> Job:
    """The job with every setting of its network and methods; those that are to be searched stay open."""
    base, noise_rate = base_of(job, make(0))
    complete = [told(method, noise_rate) for method in job.methods]
    if job.search.trials > 1:
        complete = [_open(method, full) for method, full in zip(job.methods, complete, strict=True)]
    return replace(job, net=base.net, methods=tuple(complete))


def _open(method: Named, full: Named) -> Named:
    searched = set(hyper_fields(METHODS.get(method.name))) - set(method.settings)
    return Named(method.name, {key: value for key, value in full.settings.items() if key not in searched})


def base_of(job: Job, dataset: Dataset) -> tuple[RunConfig, float | None]:
    """What all runs share, the matrix behind the noise's name included, and the share of wrong labels it aims at."""
    noise = noise_for(dataset, job.noise)
    net = Named(job.net.name, resolved(job.net.name, job.net.settings))
    base = RunConfig(data=job.data, noise=noise.definition, net=net, train=job.train, split=job.split)
    mark = "" if noise.T is None else digest(noise.T.probs.tolist())
    return replace(base, transition=mark), _rate(dataset, noise)


def _rate(dataset: Dataset, noise: Noise) -> float | None:
    # Of built-in data it is known how many labels are wrong before noise is added; of others nobody knows.
    added = round(noise.expected_rate(dataset, dataset.learnable), 6)
    if not dataset.known_as or dataset.noise_rate is None or dataset.assumed:
        return added or None
    if dataset.noise_rate and added:
        return None  # noise upon noise may also mend labels
    return round(dataset.noise_rate, 6) or added


def facts_of(configs: Sequence[RunConfig], make: Builder, noise_rate: float | None) -> dict[str, Any]:
    """What is known of the data, for their folder; raises where something cannot be trained."""
    task = prepare(configs[0], make)
    augment.check(configs[0].train.augment, task.dataset.shape)
    spec = specify(configs[0], task)
    for pack in plan_packs(configs):
        phases(pack.methods[0], configs[0].train.epochs)
        pack.methods[0].networks(spec)
    if configs[0].train.balanced:
        check_every_class([task])
    dataset, before = task.dataset, make(configs[0].seed)
    return {
        "name": dataset.name,
        "rows": len(dataset),
        "shape": dataset.shape,
        "classes": dataset.classes,
        "parts": {part: len(rows) for part, rows in task.splits._asdict().items()},
        "notes": [*dataset.notes, *absent(before, task.splits), *_foreign(task)],
        "truth": _truth(dataset, own=configs[0].data.fingerprint != ""),
        "told_rate": noise_rate,
    }


def _foreign(task: Task) -> list[str]:
    y_true, rows = task.dataset.y_true, task.splits.train
    if y_true is None or not (count := int((y_true[rows] < 0).sum())):
        return []
    are = f"{counted(count, 'training row')} {'belongs' if count == 1 else 'belong'} to none of the classes"
    return [f"{are}: their labels count as wrong, and no table of true classes has them"]


def _truth(dataset: Dataset, *, own: bool) -> str:
    # what the test part is compared with
    if dataset.y_true is not None and not dataset.assumed:
        return "known"
    if not own and dataset.test is not None:
        return "verified"
    return "unknown" if dataset.y_true is None else "added"


def _remarks(job: Job, dataset: Dataset, facts: Mapping[str, Any]) -> list[str]:
    # What a person should know before the figures come.
    remarks = noise_for(dataset, job.noise).remarks(len(dataset.classes))
    if (samples := facts["parts"]["train"]) < job.train.batch:
        remarks += [f"batches of {job.train.batch} shrink to the {samples} training samples there are"]
    for method in job.methods if facts["told_rate"] is None else ():
        searched = hyper_fields(METHODS.get(method.name)) if job.search.trials else ()
        remarks += [_untold(method, name) for name in set_by_rate(method) if name not in searched]
    return remarks


def _untold(method: Named, setting: str) -> str:
    built, path = build(method.name, method.settings), f"methods.{method.name}"
    ways = [f"set {path}.{setting}", *([f"{path}.rate=estimated"] if can_estimate(built) else [])]
    ways += ["use --search"] if setting in hyper_fields(built) else []
    return (
        f"{method.name} goes by the noise rate, which it is not told: {setting} stays {getattr(built, setting)}; "
        f"{', or '.join(ways)}"
    )


def _search(job: Job, base: RunConfig, noise_rate: float | None, at: Workplace) -> list[Named]:
    """Each method with the settings that are best; all that is tried is run together."""
    tried = [comparison(base, trials(method, job.search), 1, noise_rate) for method in job.methods]
    for configs in tried:
        if len(configs) > 1:
            at.display.say(f"{configs[0].method.name}: {len(configs)} settings are tried with seed 0")
    train_all([config for configs in tried for config in configs], at)
    runs = at.store.runs()
    return [_best(configs, runs, at) for configs in tried]


def _best(configs: Sequence[RunConfig], runs: Mapping[str, Run], at: Workplace) -> Named:
    """The settings with the highest score on noisy validation, the earliest tried of equals."""
    scores = {
        config.identity: NoisyValidation().pick(runs[config.identity].records).measures["validation/score"]
        for config in configs
        if config.identity in runs and not runs[config.identity].failed
    }
    winner = best([config.identity for config in configs], scores)
    chosen = next(config.method for config in configs if config.identity == winner)
    if len(configs) > 1:
        at.store.note_search(chosen.name, [config.identity for config in configs], winner)
        values = ", ".join(f"{name}={chosen.settings[name]:g}" for name in hyper_fields(METHODS.get(chosen.name)))
        at.display.say(f"{chosen.name}: {values} is best on noisy validation, {100 * scores.get(winner, 0):.1f} %")
    return chosen


def train_all(configs: Sequence[RunConfig], at: Workplace) -> None:
    """Those that are not finished, pack by pack."""
    with at.store.tidied():
        _train_all(configs, at)


def _train_all(configs: Sequence[RunConfig], at: Workplace) -> None:
    done = at.store.runs()
    old = [config for config in configs if config.identity in at.before]
    for name, count in Counter(config.method.name for config in old).items():
        at.display.say(f"{name} × {count}: finished before, not run again")
    for name, count in Counter(config.method.name for config in old if _lacks_model(done[config.identity])).items():
        at.display.warn(
            f"{name} × {count}: the model of these finished runs was not kept, as where the disk was full; "
            "train with another --out to have it"
        )
    for config in old:
        if place := done[config.identity].failed:
            at.display.warn(failure(config.method.name, config.seed, place))
    plan = partial(plan_packs, configs, done, halved=at.store.halved())
    if at.engine:  # whose devices have other memory than this one
        at.engine(plan, at)
        return
    packs = plan(partial(most_runs, at=at))
    at.display.expect(len(packs))
    for pack in packs:
        train_pack(pack, at)


def _lacks_model(run: Run) -> bool:
    # a run that was stopped has none, whatever space there is
    return run.failed is None and not run.pack.model.exists()


def common_of(base: RunConfig) -> dict[str, Any]:
    """What the runs of a folder have in common."""
    return {key: value for key, value in base.to_dict().items() if key not in OWN}


def _own(config: RunConfig, noise_rate: float | None) -> dict[str, Any]:
    # with the names of settings that the noise rate decided, which a file of one's own may not be there to tell later
    by_rate = {} if noise_rate is None else told_by_rate(config.method, noise_rate)
    return {key: value for key, value in config.to_dict().items() if key in OWN} | {"told": [*by_rate]}


def _folder(base: RunConfig) -> Path:
    words = [Path(base.data.source).stem or "data", *([] if base.noise == "none" else [base.noise])]
    name = "-".join(words).replace(":", "-").replace("/", "_")  # as any file system takes it
    return Path("runs") / f"{name}-{digest(essential(common_of(base)))[:8]}"
