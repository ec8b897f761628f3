"""Of finished runs: by which command they are made again, on what, by which software, of which code and when."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from labelnoise.data.rows import counted
from labelnoise.papers.paper import Cell
from labelnoise.reproduce.asked import Table
from labelnoise.reproduce.commands import commands
from labelnoise.reproduce.groups import Recipe
from labelnoise.reproduce.outcomes import Outcome

Facts = Iterable[tuple[str, str]]

SOFTWARE = ("labelnoise", "torch")
CPU = "cpu"  # which computes in float32
AUTO = "auto (layers with BatchNorm in bfloat16, products of all others in tf32)"


def origin(
    asked: Table, recipe: Recipe, own: Mapping[Cell, Sequence[Outcome]], out: str, everything: Sequence[Cell] = ()
) -> Iterator[tuple[str, str]]:
    """Facts by name, a line for each command, of the finished runs of each cell; `everything` is as in `commands`."""
    runs = list({run.run: run for several in own.values() for run in several}.values())
    seeds = {cell: len(several) for cell, several in own.items()}
    yield "command", "\n".join(commands(asked, recipe, seeds, out, everything, flags=_flags(runs)))
    yield from _made(runs)


def in_markdown(facts: Facts) -> Iterator[tuple[str, str]]:
    """The same with commands as code."""
    for name, value in facts:
        yield name, "<br>".join(f"`{line}`" for line in value.splitlines()) if name == "command" else value


def _flags(runs: Iterable[Outcome]) -> list[str]:
    # by which a command uses a device as all of these runs did; none where they differ
    ways = {tuple(sorted(run.facts["execution"].items())) for run in runs}
    found: list[str] = []
    for name, value in ways.pop() if len(ways) == 1 else ():
        if value is True:
            found.append(f"--{name}")
        elif value not in (False, None, "auto"):
            found += [f"--{name}", value]
    return found


def _made(runs: Sequence[Outcome]) -> Iterator[tuple[str, str]]:
    numbers = ", ".join(map(str, sorted({run.config["seed"] for run in runs})))
    days = sorted({run.facts["finished"][:10] for run in runs})
    yield "runs", f"{len(runs)} of seeds {numbers}, finished {' to '.join(dict.fromkeys((days[0], days[-1])))}"
    yield "device", _told(run.facts["device"] for run in runs)
    yield "execution", _told(map(_execution, runs))
    yield "software", _told(map(_software, runs))
    yield "commit", _told(run.commit or "not known" for run in runs)


def _execution(run: Outcome) -> str:
    asked = run.facts["execution"]
    ways = [name for name in ("deterministic", "eager") if asked[name]]
    exactly = asked["precision"] if asked["precision"] != "auto" or run.facts["device"] == CPU else AUTO
    return ", ".join([run.facts["executor"], f"precision {exactly}", *ways])


def _software(run: Outcome) -> str:
    return ", ".join(f"{name} {run.facts['versions'][name]}" for name in SOFTWARE)


def _told(values: Iterable[str]) -> str:
    # the one value, or several with the number of runs that have them
    listed = list(values)
    several = sorted(set(listed))
    if len(several) == 1:
        return several[0]
    return "; ".join(f"{each} ({counted(listed.count(each), 'run')})" for each in several)
