"""The command `labelnoise reproduce`."""

from pathlib import Path
from typing import Any

import click

from labelnoise.cli_engine import cluster, engines


@click.command(short_help="Train a published table anew, beside what was published.")
@click.argument("what", metavar="PAPER/TABLE")
@click.option("--only", metavar="KEY=VALUE", multiple=True, help="Cells with this data, noise, method, net or measure.")
@click.option("--methods", metavar="A,B,…", help="As the paper calls them; the same as several --only method=….")
@click.option("--seeds", metavar="N", type=click.IntRange(min=1), help="Runs of each cell; by default the paper's.")
@click.option("--recipe", default="paper", type=click.Choice(["paper", "fast"]), help="Literally, or in less time.")
@click.option("--search", is_flag=True, help="Choose hyper-parameters anew, from the paper's grid on noisy validation.")
@click.option("--dry-run", is_flag=True, help="Say what would be trained and how long it takes, and train nothing.")
@click.option("--device", default="auto", help="auto, cpu, cuda or cuda:N.")
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
    out: Path | None,
    quiet: bool,
    **engine: Any,
) -> None:
    """Train the cells of a published table by the paper's own recipe, and set them beside the published figures.

    PAPER/TABLE is such as logistic_normal/table1; `labelnoise list papers` shows all. Typed again, the command goes on
    where it was interrupted, and runs nothing twice.
    """
    from rich.console import Console

    from labelnoise.report.terminal import Terminal
    from labelnoise.reproduce import choices, tables
    from labelnoise.reproduce.asked import chosen, parsed, table
    from labelnoise.reproduce.groups import groups
    from labelnoise.reproduce.kept import besides
    from labelnoise.reproduce.run import Place
    from labelnoise.reproduce.run import reproduce as run
    from labelnoise.reproduce.stale import check
    from labelnoise.reproduce.writing import announced, titled, write_all
    from labelnoise.sweep.run import find_device

    several = cluster(device, **engine)
    wanted = table(what)
    wishes = parsed([*only, *(f"method={each.strip()}" for each in (methods or "").split(",") if each.strip())])
    recipe = f"{recipe}-search" if search else recipe
    cells = chosen(wanted.paper.published(wanted.name), wishes)
    seeds, place = seeds or wanted.paper.facts["protocol"]["seeds"], find_device(device)
    parts = groups(wanted.paper, cells, recipe)
    if not quiet:
        for sentence in announced(parts, seeds, place):
            click.echo(sentence)
    if dry_run:
        return
    folder = out or Path("runs") / "reproduce" / wanted.paper.folder.name / f"{wanted.name}-{recipe}"
    check(wanted, recipe, folder, trained_now=cells)
    with Terminal(Console(), quiet=quiet) as display:
        found = run(wanted, cells, seeds=seeds, recipe=recipe, at=Place(folder, place, display, engine=several))
    click.echo(tables.markdown(titled(wanted, recipe), found))
    if search:
        click.echo(choices.markdown(choices.read(wanted, cells, recipe, folder)))
    everything = wanted.paper.published(wanted.name)  # also what earlier commands have trained
    picked = choices.read(wanted, everything, recipe, folder)
    paths = write_all(wanted, besides(wanted, everything, recipe, folder), recipe, folder, picked)
    if not quiet:
        click.echo("\n".join([tables.counts(found), *map(str, paths)]))
