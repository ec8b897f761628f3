"""Whether fast execution bends results: the same comparison eagerly in float32 and as fast as the device can.

    python benchmarks/exactness.py [--data mnist] [--net lenet5] [--methods ce,gce] [--seeds 5] [--epochs 30]
                                   [--batch 64] [--compiled] [--twice] [--lowered] [KEY=VALUE ...]

For each method test accuracy after the last epoch and of the selected one, both ways, and whether they differ
significantly (pooled two-sided t-test at 5 %). With `--twice` the fast way is run deterministically, two times, and
every record compared; `--compiled` compiles however short the training is. On a CPU both ways are the same, but with
`--lowered` the fast one computes in bfloat16 what a GPU would.
"""

from pathlib import Path
from statistics import mean, stdev
from tempfile import TemporaryDirectory

import click
import torch
from torch import nn

from labelnoise import Execution, compare_methods
from labelnoise.comparing import Comparison
from labelnoise.configure import merge, parse_overrides
from labelnoise.engine import execution as executing
from labelnoise.nets.base import Lowerable
from labelnoise.report.summary import significant

METHODS = "ce,gce,forward,logistic_normal,co_teaching"
RULES = ("last", "selected")


def spread(accuracies: list[float]) -> str:
    """Mean and standard deviation in per cent."""
    return f"{100 * mean(accuracies):.2f} ± {100 * stdev(accuracies):.2f}"


def records(done: Comparison) -> list[dict[str, float]]:
    """Everything that was measured, in order."""
    return [record.measures for row in done.summary.rows for run in row.finished for record in run.records]


class AsOnGPU(Execution):
    """Lowers on any device what is lowered on a GPU."""

    def lower(self, module: nn.Module, device: torch.device, kind: type[Lowerable] = Lowerable) -> None:
        """As if the device were a GPU."""
        super().lower(module, torch.device("cuda"), kind)


@click.command()
@click.argument("changes", nargs=-1)
@click.option("--data", default="mnist")
@click.option("--noise", default="symmetric:0.4")
@click.option("--net", default="lenet5")
@click.option("--methods", default=METHODS)
@click.option("--seeds", default=5)
@click.option("--epochs", default=30)
@click.option("--batch", default=64)
@click.option("--compiled", is_flag=True, help="Compile however short the training is.")
@click.option("--twice", is_flag=True, help="Run the fast way deterministically, two times.")
@click.option("--lowered", is_flag=True, help="Compute on a CPU in bfloat16 what a GPU would.")
def main(
    *,
    changes: tuple[str, ...],
    data: str,
    noise: str,
    net: str,
    methods: str,
    seeds: int,
    epochs: int,
    batch: int,
    compiled: bool,
    twice: bool,
    lowered: bool,
) -> None:
    """Print one line for each method."""
    train = {"epochs": epochs, "batch": batch}
    asked = {"methods": methods, "noise": noise, "seeds": seeds, "net": {"name": net}, "train": train}
    settings = merge(asked, parse_overrides(changes))
    if compiled:
        executing.WORTH_COMPILING = 1

    def trained(name: str, execution: Execution) -> Comparison:
        done = compare_methods(data, settings=settings, out=Path(folder) / name, execution=execution)
        packs = {run.pack for row in done.summary.rows for run in row.finished}
        print(f"{name}: {sum(pack.facts['seconds'] for pack in packs):.0f} s of training", flush=True)
        return done

    with TemporaryDirectory() as folder:
        if twice:
            first, second = (records(trained(name, Execution(deterministic=True))) for name in ("first", "second"))
            print(f"{len(first)} records, {sum(a != b for a, b in zip(first, second, strict=True))} of them differ")
            return
        eager = trained("eager", Execution(precision="float32", eager=True)).summary.rows
        fast = {row.method: row for row in trained("fast", AsOnGPU() if lowered else Execution()).summary.rows}
        for row in eager:
            for rule in RULES:
                both = row.accuracies[rule], fast[row.method].accuracies[rule]
                verdict = "significant" if significant(*both) else "within noise"
                print(
                    f"{row.method:<18} {rule:<9} eager {spread(both[0]):>14}   fast {spread(both[1]):>14}   {verdict}"
                )


if __name__ == "__main__":
    main()
