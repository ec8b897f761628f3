"""The command `labelnoise`. Heavy imports wait until a command runs, so that `--help` answers at once."""

from pathlib import Path
from typing import Any

import click

from labelnoise import __version__
from labelnoise.errors import InputError
from labelnoise.registry import Registry

DEMO = "ce,gce,forward,mixup,co_teaching,heteroscedastic"
NOISES = "symmetric:R, random:P, pair:R, asymmetric:R, matrix:FILE.csv or none."


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
            raise Failure(str(problem)) from None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(__version__)
def main() -> None:
    """Learn from data whose labels are partly wrong, and compare ways of doing so."""


@main.command()
@click.option("--data", default="digits", help="Built-in data; `labelnoise list data` shows them.")
@click.option("--noise", default="symmetric:0.4", help=NOISES)
@click.option("--methods", default=DEMO, help="By name (`labelnoise list methods`) or as Python files, with commas.")
@click.option("--seeds", default=3, type=click.IntRange(1), help="Runs per method, with seeds 0, 1, 2, …")
@click.option("--epochs", default=40, type=int, help="Epochs of each run, all stages together.")
@click.option("--batch", default=64, type=int, help="Examples per step.")
@click.option("--lr", default=1e-3, type=float, help="Learning rate of Adam.")
@click.option("--net", default="mlp", help="Network; `labelnoise list nets` shows them.")
@click.option(
    "--executor", default="auto", type=click.Choice(["auto", "streams", "packed"]), help="How runs share the device."
)
@click.option("--device", default="auto", help="auto, cpu, cuda or cuda:N.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the records; runs/… by default.")
@click.option("--quiet", is_flag=True, help="Print nothing but the table.")
def train(
    *,
    data: str,
    noise: str,
    methods: str,
    seeds: int,
    epochs: int,
    batch: int,
    lr: float,
    net: str,
    executor: str,
    device: str,
    out: Path | None,
    quiet: bool,
) -> None:
    """Compare methods: train each with several seeds and print their test accuracies.

    Typed again with the same options, the command goes on where it was interrupted and runs nothing twice.
    """
    from rich.console import Console

    from labelnoise.config import Named, Optimiser, RunConfig, Train
    from labelnoise.report.tables import show
    from labelnoise.report.terminal import Display
    from labelnoise.sweep.compare import compare_methods
    from labelnoise.sweep.run import find_device
    from labelnoise.testing import find_methods

    settings = Train(epochs=epochs, batch=batch, optimiser=Optimiser(lr=lr))
    base = RunConfig(data=data, noise=noise, net=Named(net), train=settings)
    given = [name.strip() for name in methods.split(",") if name.strip()]
    names = list(dict.fromkeys(method.name for name in given for method in find_methods(name)))
    forced = None if executor == "auto" else executor
    console = Console()
    with Display(console, quiet=quiet) as display:
        outcome = compare_methods(
            base, names, seeds, out=out, device=find_device(device), executor=forced, display=display
        )
    show(outcome.records, f"{data}, noise {noise}", outcome.noise_rates, console, outcome.failed)
    if not quiet:
        console.print(f"records: {outcome.folder}", highlight=False, markup=False, soft_wrap=True)
    if len(outcome.failed) == len(outcome.noise_rates):
        raise Failure("every run has failed; lower the learning rate with --lr")


@main.command("list")
@click.argument("kind", type=click.Choice(["methods", "nets", "data"]))
def list_names(kind: str) -> None:
    """Show the names that can be used."""
    from labelnoise.data.dataset import DATASETS
    from labelnoise.methods import METHODS
    from labelnoise.nets import NETS

    registries: dict[str, Registry[Any]] = {"methods": METHODS, "nets": NETS, "data": DATASETS}
    for name, sentence in registries[kind].sentences():
        click.echo(f"{name:<18} {sentence}")


@main.command()
@click.argument("name")
def check(name: str) -> None:
    """Run the conformance suite on one method.

    NAME is a registered method, a Python file that registers one, or the dotted name of such a module.
    """
    from labelnoise.testing import CHECKS, find_methods, problem

    found = [
        (method.name, fact, problem(check, method)) for method in find_methods(name) for fact, check in CHECKS.items()
    ]
    for method_name, fact, trouble in found:
        click.echo(f"{method_name}  {fact:<42} {trouble or 'holds'}")
    if any(trouble for _, _, trouble in found):
        raise SystemExit(1)
