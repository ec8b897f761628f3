"""The command `labelnoise reproduce`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from labelnoise.cli_engine import cluster, engines, execution, executions

if TYPE_CHECKING:
    from labelnoise.papers.figures import Figure
    from labelnoise.papers.paper import Cell
    from labelnoise.reproduce.asked import Table
    from labelnoise.reproduce.run import Place


@click.command(short_help="Train a published table or figure anew, beside what was published.")
@click.argument("what", metavar="PAPER/TABLE")
@click.option("--only", metavar="KEY=VALUE", multiple=True, help="Cells with this data, noise, method, net or measure.")
@click.option("--methods", metavar="A,B,…", help="As the paper calls them; the same as several --only method=….")
@click.option("--seeds", metavar="N", type=click.IntRange(min=1), help="Runs of each cell; by default the paper's.")
@click.option("--recipe", default="paper", type=click.Choice(["paper", "fast"]), help="Literally, or in less time.")
@click.option("--search", is_flag=True, help="Choose hyper-parameters anew, from the paper's grid on noisy validation.")
@click.option("--dry-run", is_flag=True, help="Say what would be trained and how long it takes, and train nothing.")
@executions
@engines
@click.option("--out", type=click.Path(path_type=Path), help="Folder; one under runs/reproduce/ by default.")
@click.option("--quiet", is_flag=True, help="Print nothing but the table.")
def reproduce(
    *,
    what: str,
    only: tuple[str, ...],
    methods: str | None,
    seeds: int | None,
    recipe: Any,
    search: bool,
    dry_run: bool,
    device: str,
    executor: str,
    precision: Any,
    deterministic: bool,
    eager: bool,
    out: Path | None,
    quiet: bool,
    **engine: Any,
) -> None:
    """Train the cells of a published table by the paper's own recipe, and set them beside the published figures.

    PAPER/TABLE is such as logistic_normal/table1, or logistic_normal/fig3, which is trained likewise and drawn;
    `labelnoise list papers` shows all. Typed again, the command goes on where it was interrupted, and runs nothing
    twice.
    """
    from rich.console import Console

    from labelnoise.errors import InputError
    from labelnoise.papers.figures import figures
    from labelnoise.report.terminal import Terminal
    from labelnoise.reproduce import outcomes
    from labelnoise.reproduce.asked import chosen, listed, parsed, table
    from labelnoise.reproduce.groups import groups
    from labelnoise.reproduce.kept import OUTCOMES, closed
    from labelnoise.reproduce.left import interrupted
    from labelnoise.reproduce.needed import missing
    from labelnoise.reproduce.run import WORK, Place
    from labelnoise.reproduce.stale import check
    from labelnoise.reproduce.writing import announced
    from labelnoise.sweep.run import find_device

    several = cluster(device, **engine)
    way = execution(executor=executor, precision=precision, deterministic=deterministic, eager=eager)
    wanted = table(what)
    figure = figures(wanted.paper).get(wanted.name)
    wishes = parsed([*only, *(listed(methods) if methods is not None else ())])
    everything = figure.cells if figure else wanted.paper.cells(wanted.name)
    if search and figure:
        raise InputError("a figure is drawn with the settings of its authors; leave out --search")
    if not everything and (wishes or seeds or recipe != "paper"):
        raise InputError(f"{what} is computed, nothing is trained; leave out --only, --methods, --seeds and --recipe")
    cells = chosen(everything, wishes)
    recipe = f"{recipe}-search" if search else recipe
    seeds = seeds or (figure.seeds if figure else wanted.paper.facts["protocol"]["seeds"])
    place, parts = find_device(device), groups(wanted.paper, cells, recipe)
    folder = out or Path("runs") / "reproduce" / wanted.paper.folder.name / f"{wanted.name}-{recipe}"
    if absent := missing(cells):
        if not dry_run:
            raise InputError(f"{absent}; or choose other cells with --only")
        click.echo(absent)
    if not dry_run:
        closed(folder)  # raises where one may not write
    if dry_run or not quiet:
        known, begun = outcomes.read(folder / OUTCOMES), interrupted(parts, folder / WORK)
        for sentence in announced(parts, seeds, place, known, begun):
            click.echo(sentence)
    if dry_run:
        return
    check(wanted, [cell for cell in everything if cell not in cells], recipe, folder)
    with Terminal(Console(), quiet=quiet) as display:
        at = Place(folder, place, display, way, several)
        settings = {"seeds": seeds, "recipe": recipe, "at": at}
        told = _draw(wanted, figure, cells, **settings) if figure else _table(wanted, cells, everything, **settings)
    click.echo(told.text)
    if not quiet:
        click.echo("\n".join([*told.counts, *map(str, told.paths)]))


class Told(NamedTuple):
    """What a command has to say in the end."""

    text: str
    counts: list[str]
    paths: list[Path]


def _table(
    wanted: "Table", cells: "Sequence[Cell]", everything: "Sequence[Cell]", *, seeds: int, recipe: Any, at: "Place"
) -> Told:
    from labelnoise.reproduce import choices, tables
    from labelnoise.reproduce.kept import OUTCOMES, besides, finished
    from labelnoise.reproduce.origin import origin
    from labelnoise.reproduce.run import reproduce as run
    from labelnoise.reproduce.writing import titled, write_all

    paths: list[Path] = []
    try:
        found = run(wanted, cells, seeds=seeds, recipe=recipe, at=at)
    finally:  # also as far as it came; with what earlier commands have trained
        if (at.out / OUTCOMES).exists():
            picked = choices.read(wanted, everything, recipe, at.out)
            own = {cell: runs for cell, runs in finished(wanted, everything, recipe, at.out).items() if runs}
            facts = list(origin(wanted, recipe, own, str(at.out))) if own else []
            whole = besides(wanted, everything, recipe, at.out)
            paths = write_all(wanted, whole, recipe, at.out, picked, facts=facts)
    chosen = choices.markdown(choices.read(wanted, cells, recipe, at.out))
    whole = besides(wanted, everything, recipe, at.out)  # by which stars go, also those of some methods alone
    texts = [tables.markdown(titled(wanted, recipe, found), found, whole), *([chosen] if chosen else [])]
    return Told("\n".join(texts), [tables.counts(found)], paths)


def _draw(wanted: "Table", figure: "Figure", cells: "Sequence[Cell]", *, seeds: int, recipe: Any, at: "Place") -> Told:
    from labelnoise.reproduce.figure import drawn, train_cells
    from labelnoise.reproduce.picture import markdown, write_figure

    train_cells(wanted, figure, cells, seeds=seeds, recipe=recipe, at=at)
    found, drawing = drawn(wanted, figure, recipe, at.out)
    paths = write_figure(wanted, figure, found, drawing, recipe=recipe, out=at.out)
    return Told(markdown(wanted, figure, found, drawing, recipe), [], paths)
