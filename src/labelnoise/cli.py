"""The command `labelnoise`. Heavy imports wait until a command runs, so that `--help` answers at once."""

import os
import signal
from pathlib import Path
from typing import Any

import click

from labelnoise import __version__
from labelnoise.cli_audit import audit
from labelnoise.cli_data import check_own, data, options_given, own_data
from labelnoise.cli_engine import cluster, engines, execution, executions
from labelnoise.cli_reproduce import reproduce
from labelnoise.errors import InputError
from labelnoise.registry import Registry

NOISE = "such as symmetric:0.4, instance:0.45 or none (`labelnoise list noise`); symmetric:0.4 if all are known right."
PLACES = {
    "data": "data.source",
    "label_column": "data.label_column",
    "true_label_column": "data.true_label_column",
    "id_column": "data.id_column",
    "labels": "data.labels",
    "image_size": "data.image_size",
    "search": "search.trials",
    "epochs": "train.epochs",
    "batch": "train.batch",
    "lr": "train.optimiser.lr",
}
SOURCES = "Built-in data (`labelnoise list data`), or a CSV, Parquet, npz or npy file, or a folder of images by class"
EXISTING = click.Path(exists=True, path_type=Path)
KEPT = {  # of a command that was broken off
    "audit": "nothing was written",
    "train": "what is finished is kept",
    "reproduce": "what is finished is kept",
}
STOPPED = {
    "audit": "; an audit, and what is cleaned by it, is kept only once it is whole",
    "train": "; type the same command again to go on",
    "reproduce": "; type the same command again to go on",
}


class Failure(click.ClickException):
    """Something a person can mend: one sentence and exit code 2."""

    exit_code = 2


class Commands(click.Group):
    """Turns input errors into one sentence, whichever command met them."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except InputError as problem:
            if _follows():  # the first process says the same
                raise SystemExit(Failure.exit_code) from None
            raise Failure(str(problem)) from None
        except (click.ClickException, click.exceptions.Abort, click.exceptions.Exit):
            raise
        except Exception as problem:
            said = _shortage(problem, ctx.invoked_subcommand or "") or _mistake(problem)
            if not said:
                raise
            if _follows():
                raise SystemExit(Failure.exit_code) from None
            raise Failure(said) from None
        except KeyboardInterrupt as problem:
            if not _follows():
                click.echo(f"\nstopped{STOPPED.get(ctx.invoked_subcommand or '', '')}", err=True)
            raise SystemExit(128 + getattr(problem, "number", signal.SIGINT)) from None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(__version__)
def main() -> None:
    """Learn from data whose labels are partly wrong, and compare ways of doing so."""
    if "OMP_WAIT_POLICY" not in os.environ:
        # before torch is imported: its threads would wait for each other so busily that a command takes fifty times as
        # long where another process wants a core too; so it takes some 4 % longer where none does
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")


main.add_command(audit)
main.add_command(data)
main.add_command(reproduce)


@main.command(short_help="Compare methods on data: table, report and model.")
@click.argument("overrides", nargs=-1, metavar="[KEY=VALUE]...")
@click.option(
    "--data",
    metavar="NAME|PATH",
    help=f"{SOURCES}; digits by default.",
)
@own_data
@click.option("--noise", help=f"Wrong labels to add: {NOISE}")
@click.option("--methods", metavar="A,B,…", help="By name (`labelnoise list methods`) or as Python files.")
@click.option("--seeds", metavar="N", type=int, help="Runs per method, with seeds 0, 1, 2, …; 3 by default.")
@click.option(
    "--search", metavar="N", type=int, help="Try N settings of each method and take the best on noisy validation."
)
@click.option("--net", metavar="NAME", help="Network (`labelnoise list nets`); by default one that suits the data.")
@click.option(
    "--epochs", metavar="N", type=int, help="Epochs of each run, all stages together; by default by the data's size."
)
@click.option("--batch", metavar="N", type=int, help="Examples per step; by default by the data's size.")
@click.option("--lr", type=float, help="Learning rate; 0.001 by default.")
@click.option("--config", type=EXISTING, help="YAML file of settings, see docs/config.md; options come on top of it.")
@click.option("--print-config", is_flag=True, help="Print all settings as they would be used, and do nothing.")
@executions
@engines
@click.option("--out", type=click.Path(path_type=Path), help="Folder for all results; one under runs/ by default.")
@click.option("--quiet", is_flag=True, help="Print nothing but the table.")
def train(
    *,
    overrides: tuple[str, ...],
    config: Path | None,
    print_config: bool,
    executor: str,
    device: str,
    precision: Any,
    deterministic: bool,
    eager: bool,
    engine: str,
    ray_address: str | None,
    packs_per_gpu: int | None,
    runs_per_task: int | None,
    out: Path | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Compare methods: train each with several seeds; table, report and the best model come out.

    KEY=VALUE sets anything that docs/config.md lists, such as train.optimiser.weight_decay=1e-4 or methods.gce.q=0.5.

    Typed again with the same options, the command goes on where it was interrupted and runs nothing twice; with more
    seeds or methods, it adds these to what is there.
    """
    from rich.console import Console

    from labelnoise.comparing import config_text, make_plan, run_plan
    from labelnoise.config import DEFAULT_METHODS, Data
    from labelnoise.configure import merge, parse_overrides, read_yaml
    from labelnoise.report.tables import show
    from labelnoise.report.terminal import Terminal
    from labelnoise.sweep.together import follow, joined

    several = cluster(
        device, engine=engine, ray_address=ray_address, packs_per_gpu=packs_per_gpu, runs_per_task=runs_per_task
    )
    quiet = quiet or _follows()
    chosen = merge(read_yaml(config) if config else {}, _tree(options))
    if not (quiet or print_config) and (path := _path(chosen)):
        click.echo(f"reading {path}")
    chosen.setdefault("methods", [method.name for method in DEFAULT_METHODS])  # which overrides may change
    wanted = merge(chosen, parse_overrides(overrides))
    check_own(_source(wanted) or Data().source, options_given(options))
    plan = make_plan(wanted)
    if print_config:
        click.echo(config_text(plan), nl=False)
        return
    console = Console()
    way = execution(executor=executor, precision=precision, deterministic=deterministic, eager=eager)
    here = "auto" if several else device  # that of a cluster's workers is not for this process to find
    with joined(here) as place:
        if _follows():
            follow(plan.build, place)
            return
        with Terminal(console, quiet=quiet) as display:
            result = run_plan(plan, out=out, device=place, execution=way, display=display, engine=several)
    show(result.summary, console)
    if not quiet:
        model = {"model": result.folder / "model.safetensors"} if result.has_model else {}
        for what, path in ({"report": result.report} | model | {"records": result.folder}).items():
            console.print(f"{what + ':':<8} {path}", highlight=False, markup=False, soft_wrap=True)
    if result.missing:
        raise Failure(f"runs are missing, {result.missing} of those asked for: they did not fit in memory, see above")
    if result.failed:
        raise Failure(f"every run of {' and '.join(result.failed)} has failed; lower the learning rate with --lr")


@main.command(short_help="Make one HTML page of the results in a folder, or in several.")
@click.argument("runs", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Page to write; by default report.html in RUNS, and for several folders over_noise.html here.",
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def report(runs: tuple[Path, ...], out: Path | None, force: bool) -> None:
    """Make one HTML page of the results in folder RUNS, to be looked at in a browser or sent to a colleague.

    Several folders, of the same job under different noise, give a page of accuracy and divergences by noise rate.
    """
    from labelnoise.report.over_noise import write_over_noise
    from labelnoise.report.page import write_page
    from labelnoise.results.store import Store

    stores = [Store.read(folder) for folder in runs]
    if len(stores) > 1:
        path = _free(out or Path("over_noise.html"), force)
        write_over_noise(stores, path)
    else:
        path = _free(out, force) if out else runs[0] / "report.html"
        write_page(stores[0], path)
    click.echo(str(path))


@main.command(short_help="Predict the classes of new data by a trained model.")
@click.argument("model", type=EXISTING)
@click.argument("data")
@click.option(
    "--out", default="predictions.csv", type=click.Path(dir_okay=False, path_type=Path), help="CSV file to write."
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@click.option("--id-column", metavar="NAME", help="Column that names the rows; by default as in training.")
@click.option("--method", metavar="FILE", help="Python file of the method, if it is one of your own.")
def predict(*, model: Path, data: str, out: Path, force: bool, id_column: str | None, method: str | None) -> None:
    """Predict the classes of new DATA by a trained MODEL: a model.safetensors, or the folder of a comparison.

    Writes a CSV with a row for each input: id, predicted class, and the probability of every class.
    """
    from labelnoise.methods.own import find_methods
    from labelnoise.results.model import Model, file_of, write_csv

    path = _free(out, force)
    if path.exists() and any(read.exists() and path.samefile(read) for read in (Path(data), file_of(model))):
        raise Failure(f"{path} is what is read; choose another --out")
    if method:
        find_methods(method)
    prediction = Model.load(model).predict(data, id_column=id_column)
    write_csv(prediction, path)
    for note in prediction.notes:
        click.echo(note)
    click.echo(str(path))


@main.command(short_help="Measure how fast this machine trains.")
@click.option("--only", metavar="ROW,…", default="", help="Measure these rows alone; --list shows them.")
@click.option("--list", "listed", is_flag=True, help="Show the rows, and measure nothing.")
@click.option("--json", "path", type=click.Path(dir_okay=False, path_type=Path), help="File to write the figures to.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@click.option("--device", default="auto", help="auto, cpu, cuda or cuda:N.")
def speed(*, only: str, listed: bool, path: Path | None, force: bool, device: str) -> None:
    """Measure on this machine: images per second by network, method and executor, beside a plain loop; and more.

    All rows together take minutes on a CPU, and longer on a GPU, which does more; docs/performance.md explains them.
    """
    from labelnoise.speed.cases import Bench
    from labelnoise.speed.measuring import measure, selected

    rows = selected([name.strip() for name in only.split(",") if name.strip()])
    if listed:
        width = max(map(len, rows))
        for name, row in rows.items():
            click.echo(f"{name:<{width}}  {row.about}")
    else:
        measure(rows, Bench.on(device), click.echo, path and _free(path, force, "--json"))


@main.command("list")
@click.argument("kind", type=click.Choice(["methods", "nets", "data", "noise", "papers"]))
def list_names(kind: str) -> None:
    """Show the names that can be used."""
    if kind == "papers":
        _list_papers()
        return
    from labelnoise.data.dataset import DATASETS
    from labelnoise.methods import METHODS
    from labelnoise.methods.base import described_settings
    from labelnoise.nets import NETS
    from labelnoise.noise import NOISES

    registries: dict[str, Registry[Any]] = {"methods": METHODS, "nets": NETS, "data": DATASETS, "noise": NOISES}
    width = max(map(len, registries[kind]))
    for name, sentence in registries[kind].sentences():
        click.echo(f"{name:<{width}}  {sentence}")
        if kind == "methods" and (settings := described_settings(METHODS.get(name))):
            click.echo(f"{'':<{width}}  {settings}")


@main.command()
@click.argument("name")
def check(name: str) -> None:
    """Run the conformance suite on one method.

    NAME is a registered method, a Python file that registers one, or the dotted name of such a module.
    """
    from labelnoise.methods.own import find_methods
    from labelnoise.testing import CHECKS, problem

    first: dict[tuple[str, str], str] = {}  # what is wrong with a method -> the fact by which it was seen
    for method in find_methods(name):
        for fact, test in CHECKS.items():
            trouble = problem(test, method)
            if trouble and (seen := first.setdefault((method.name, trouble), fact)) != fact:
                trouble = f"fails as {seen} does"
            click.echo(f"{method.name}  {fact:<42} {trouble or 'holds'}")
    if first:
        raise SystemExit(1)


def _list_papers() -> None:
    from labelnoise.papers.figures import figures
    from labelnoise.papers.paper import paper, papers

    for name in papers():
        source = paper(name)
        click.echo(source.facts["title"])
        for table in source.tables:
            cells = source.published(table)
            data = ", ".join(dict.fromkeys(cell.data for cell in cells))
            click.echo(f"  {f'{name}/{table}':<24} {len(cells):>4} cells: {data}")
        for figure in figures(source).values():
            click.echo(f"  {f'{name}/{figure.name}':<24} {figure.kind:>11}: {figure.shows}")


def _shortage(problem: Exception, command: str) -> str | None:
    # what to do where memory is full
    if not isinstance(problem, MemoryError | RuntimeError):
        return None
    from labelnoise.engine.memory import is_shortage

    kept = KEPT.get(command, "")
    full = f"memory is full{kept and '; '}{kept}: free some, then type the command again"
    return full if is_shortage(problem) else None


def _mistake(problem: Exception) -> str | None:
    # what is wrong in a file of a method of the user's own
    from labelnoise.methods.own import blamed, described

    if not (file := blamed(problem)):
        return None
    return f"{described(problem, file)}; `labelnoise check {os.path.relpath(file)}` tries the method on small data"


def _follows() -> bool:
    # whether this is one of the processes of `torchrun` that do as the first one does
    if os.environ.get("RANK", "0") == "0":
        return False  # before torch is imported
    from labelnoise.engine.ranks import started

    return started() > 1


def _tree(options: dict[str, Any]) -> dict[str, Any]:
    # options that were given, at their places in the tree of settings
    tree: dict[str, Any] = {}
    for name, value in options.items():
        if value is not None:
            *sections, key = PLACES.get(name, name).split(".")
            section = tree
            for part in sections:
                section = section.setdefault(part, {})
            section[key] = value
    return tree


def _source(settings: dict[str, Any]) -> str:
    # name or path of the data; empty where none is told
    data = settings.get("data") or ""
    return str(data.get("source", "") if isinstance(data, dict) else data)


def _path(settings: dict[str, Any]) -> Path | None:
    # of data that have to be read from a file or folder
    source = _source(settings)
    return Path(source) if source and Path(source).exists() else None


def _free(path: Path, force: bool, option: str = "--out") -> Path:
    if path.exists() and not force:
        raise Failure(f"{path} exists; choose another {option}, or --force to replace it")
    return path
