"""Options of commands that train: how a device is used, and several machines."""

from collections.abc import Callable, Iterable
from typing import Any

import click

from labelnoise.errors import InputError

EXECUTION = (
    click.option(
        "--executor",
        default="auto",
        type=click.Choice(["auto", "streams", "packed"]),
        help="How runs share the device.",
    ),
    click.option("--device", default="auto", help="auto, cpu, cuda or cuda:N."),
    click.option(
        "--precision",
        default="auto",
        type=click.Choice(["auto", "float32", "bfloat16"]),
        help="Of networks on a GPU: auto is bfloat16 where it is safe.",
    ),
    click.option("--deterministic", is_flag=True, help="Same seed, same numbers on a GPU too; slower."),
    click.option("--eager", is_flag=True, help="On a GPU, neither compile nor record steps; slower."),
)
ENGINES = (
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


def executions(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of how a device is used."""
    return _with(EXECUTION, command)


def engines(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of several machines."""
    return _with(ENGINES, command)


def execution(*, executor: str, precision: Any, deterministic: bool, eager: bool) -> Any:
    """What they say."""
    from labelnoise.engine.execution import Execution

    return Execution(None if executor == "auto" else executor, precision, eager, deterministic)


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


def _with(options: Iterable[Callable[..., Any]], command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(tuple(options)):
        command = option(command)
    return command
