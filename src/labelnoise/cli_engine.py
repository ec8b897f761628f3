"""Options of commands that may train on several machines."""

from collections.abc import Callable
from typing import Any

import click

from labelnoise.errors import InputError

OPTIONS = (
    click.option(
        "--engine",
        default="local",
        type=click.Choice(["local", "ray"]),
        help="This process, or Ray, see docs/cluster.md.",
    ),
    click.option(
        "--ray-address", metavar="ADDRESS", help="Of a running cluster, auto or HOST:PORT; else one starts here."
    ),
    click.option("--packs-per-gpu", metavar="N", type=int, help="Ray: packs that share a GPU; 1 by default."),
    click.option("--runs-per-task", metavar="N", type=int, help="Ray: larger packs are cut; by default none."),
)


def engines(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command these options."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def cluster(
    device: str, *, engine: str, ray_address: str | None, packs_per_gpu: int | None, runs_per_task: int | None
) -> Any:
    """The engine of several processes, where it is wanted."""
    asked = {"address": ray_address, "packs_per_gpu": packs_per_gpu, "runs_per_task": runs_per_task}
    given: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    if engine == "local":
        if given:
            raise InputError("--ray-address, --packs-per-gpu and --runs-per-task go with --engine ray; add it")
        return None
    from labelnoise.engine.ranks import started
    from labelnoise.sweep.ray import Ray

    if started() > 1:
        raise InputError("torchrun and --engine ray both start processes; type the command with one of the two")
    return Ray(device=device, **given)
