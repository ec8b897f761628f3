"""Of committed runs: by which command they are made again, on what, by which software, of which code and when."""

from collections.abc import Iterable, Iterator, Sequence

from labelnoise.data.rows import counted
from labelnoise.reproduce.commands import commands
from labelnoise.reproduce.committed import Committed
from labelnoise.reproduce.outcomes import Outcome

SOFTWARE = ("labelnoise", "torch")


def origin(each: Committed) -> Iterator[tuple[str, str]]:
    """Facts by name."""
    runs = list({run.run: run for cell in each.cells for run in cell.runs}.values())
    seeds = {cell.cell: len(cell.runs) for cell in each.cells}
    typed = commands(each.table, each.recipe, seeds, "/".join(each.folder.parts[-3:]))
    yield "command", "<br>".join(f"`{command}`" for command in typed)
    yield from made(runs)


def made(runs: Sequence[Outcome]) -> Iterator[tuple[str, str]]:
    """Of which seeds and when, on what, by which code."""
    numbers = ", ".join(map(str, sorted({run.config["seed"] for run in runs})))
    days = sorted({run.facts["finished"][:10] for run in runs})
    yield "runs", f"{len(runs)} of seeds {numbers}, finished {' to '.join(dict.fromkeys((days[0], days[-1])))}"
    yield "device", _told(run.facts["device"] for run in runs)
    yield "execution", _told(map(_execution, runs))
    yield "software", _told(map(_software, runs))
    yield "commit", _told(run.commit or "not known" for run in runs)


def _execution(run: Outcome) -> str:
    asked = run.facts["execution"]
    flags = [name for name in ("deterministic", "eager") if asked[name]]
    return ", ".join([run.facts["executor"], f"precision {asked['precision']}", *flags])


def _software(run: Outcome) -> str:
    return ", ".join(f"{name} {run.facts['versions'][name]}" for name in SOFTWARE)


def _told(values: Iterable[str]) -> str:
    # the one value, or several with the number of runs that have them
    listed = list(values)
    several = sorted(set(listed))
    if len(several) == 1:
        return several[0]
    return "; ".join(f"{each} ({counted(listed.count(each), 'run')})" for each in several)
