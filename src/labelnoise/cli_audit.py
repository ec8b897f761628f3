"""The command `labelnoise audit`."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from labelnoise.cli_data import own_data_by_key, settings_of
from labelnoise.errors import InputError

if TYPE_CHECKING:
    from labelnoise.reviewing.source import Source

NETWORKS = ("method", "others", "epochs", "device")
IDLE = {  # options that do nothing beside another one, and why
    "applied": (
        ("probs", "embeddings", *NETWORKS, "folds", "seed", "images", "rows"),
        "is for an audit, and {} makes none",
    ),
    "probs": ((*NETWORKS, "folds"), "says how networks are trained, but with {} none is"),
    "embeddings": (NETWORKS, "says how networks are trained, but with {} none is"),
}
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(short_help="Find wrong labels: how many, which rows, a page to review them, cleaned data.")
@click.argument("data", metavar="DATA")
@own_data_by_key
@click.option("--probs", type=FILE, help="An .npy file of your own out-of-sample probabilities; nothing is trained.")
@click.option(
    "--classes",
    metavar="NAME,NAME,…",
    help="Classes of the columns of --probs, in order, also those of no label yet; by default all labels, sorted.",
)
@click.option(
    "--images",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder whose images the page may show where a table lists them; by default that of the table.",
)
@click.option("--embeddings", type=FILE, help="An .npy file of a vector for each row, such as of a large model.")
@click.option("--method", default="gce", help="By which networks are trained (`labelnoise list methods`).")
@click.option(
    "--others", metavar="METHOD", multiple=True, help="A further method to train, whose agreement counts; repeatable."
)
@click.option("--folds", default=5, type=click.IntRange(min=2), help="Each row is judged by those that leave it out.")
@click.option("--epochs", metavar="N", type=click.IntRange(min=1), help="Epochs; by default by the data's size.")
@click.option("--seed", default=0, help="Another one cuts other folds.")
@click.option("--device", default="auto", help="auto, cpu, cuda or cuda:N.")
@click.option(
    "--apply",
    "applied",
    type=FILE,
    multiple=True,
    help="Audit nothing, but make cleaned data of these decisions: corrections.csv of the page, an edited review.csv.",
)
@click.option(
    "--mode",
    default="drop",
    type=click.Choice(["drop", "relabel", "weight"]),
    help="What the cleaned data do with wrong labels.",
)
@click.option(
    "--rows", default=2000, type=click.IntRange(min=1), help="Most rows to look at, on the page and in review.csv."
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the audit, audit by default; or cleaned file.")
@click.option("--force", is_flag=True, help="Replace files that are there.")
@click.option("--quiet", is_flag=True, help="Print nothing but the names of files.")
def audit(
    *,
    data: str,
    keys: tuple[str, ...],
    applied: tuple[Path, ...],
    mode: str,
    rows: int,
    out: Path | None,
    force: bool,
    quiet: bool,
    images: Path | None,
    probs: Path | None,
    classes: str | None,
    embeddings: Path | None,
    method: str,
    others: tuple[str, ...],
    folds: int,
    epochs: int | None,
    seed: int,
    device: str,
    **options: Any,
) -> None:
    """Find wrong labels in DATA, a name or path as for `labelnoise train`.

    data.KEY=VALUE sets how DATA are read where there is no option, such as data.drop=[name]; docs/config.md lists keys.

    Writes a folder: audit.html to look at suspicious rows and decide, review.csv for a spreadsheet, issues.csv with all
    rows, and cleaned data as the audit alone would have them. Decisions become cleaned data by --apply.
    """
    from labelnoise.data.table import SUFFIXES
    from labelnoise.reviewing.source import Source

    _check_effect()
    names = _names(classes)
    source = Source.read(settings_of(data, options, keys), names)._replace(images=images)
    if images and source.kind not in SUFFIXES:
        raise InputError(f"--images is for tables that list images, which {data} is not; leave it out")
    if applied:
        _apply(source, applied, mode, out, force=force, quiet=quiet)
        return
    from rich.console import Console

    from labelnoise.auditing.run import audit as run
    from labelnoise.report.terminal import Terminal
    from labelnoise.reviewing.corrections import by_audit
    from labelnoise.reviewing.outcome import outcome
    from labelnoise.reviewing.remarks import on_classes, on_columns, on_hidden, on_images, on_losses, on_truth
    from labelnoise.reviewing.summary import lines
    from labelnoise.reviewing.written import check_folder, write_audit

    folder, told = out or Path("audit"), _matrix(probs, "--probs")
    check_folder(source, mode, folder, force=force)
    if told is not None:
        _check_columns(f"{probs} (--probs)", told.shape[1], source, names)
    with Terminal(Console(), quiet=quiet) as display:
        for sentence in on_hidden(source):
            display.say(sentence)
        found = run(
            data,
            probs=told,
            classes=names,
            embeddings=_matrix(embeddings, "--embeddings"),
            method=method,
            others=others,
            folds=folds,
            epochs=epochs,
            seed=seed,
            device=device,
            settings=source.settings,
            display=display,
        )
    columns = on_columns(source) if probs and not names else ()
    losses = on_losses(source.dataset, outcome(source.dataset, by_audit(found, source.dataset), mode))
    remarks = (*columns, *on_truth(found, source), *on_classes(found, source), *losses, *on_images(source))
    found = replace(found, notes=(*found.notes, *remarks))
    paths = write_audit(found, source, mode, folder, most=rows, force=force)
    if not quiet:
        click.echo("\n".join([*lines(found), ""]))
    for what, path in paths.items():
        click.echo(str(path) if quiet else f"{what + ':':<10} {path}")


def _check_effect() -> None:
    context = click.get_current_context()
    options = {each.name: each.opts[0] for each in context.command.params}
    given = {name for name in options if context.get_parameter_source(name) == ParameterSource.COMMANDLINE}
    for name, (idle, why) in IDLE.items():
        if name in given and (useless := [options[each] for each in idle if each in given]):
            raise InputError(f"{useless[0]} {why.format(options[name])}; leave it out")


def _apply(
    source: "Source", applied: tuple[Path, ...], mode: str, out: Path | None, *, force: bool, quiet: bool
) -> None:
    from labelnoise.reviewing.cleaned import check_cleaned, check_form, check_no_decisions, default_name, write_cleaned
    from labelnoise.reviewing.corrections import read_decisions
    from labelnoise.reviewing.outcome import changes, outcome
    from labelnoise.reviewing.remarks import on_images, on_losses

    path = out or Path(default_name(source, mode))
    check_form(source, mode)
    check_no_decisions(applied, path)
    check_cleaned(source, path, force=force)
    decisions = read_decisions(applied, source.dataset)
    done = write_cleaned(source, outcome(source.dataset, decisions, mode), path, force=force)
    change = changes(source.dataset, done, mode, len(decisions.corrected))
    for sentence in () if quiet else (change, *on_losses(source.dataset, done), *on_images(source)):
        click.echo(sentence)
    click.echo(str(path))


def _names(classes: str | None) -> tuple[str, ...] | None:
    if classes is None:
        return None
    return tuple(name.strip() for name in next(csv.reader([classes], skipinitialspace=True), []))


def _check_columns(file: str, columns: int, source: "Source", names: tuple[str, ...] | None) -> None:
    if names is not None and columns != len(names):
        raise InputError(f"{file} has {columns} columns but --classes names {len(names)}; name each column")
    if names is None and columns != (known := len(source.dataset.classes)):
        raise InputError(
            f"{file} has {columns} columns but the data have {known} classes; name that of each column with --classes"
        )


def _matrix(path: Path | None, option: str) -> Any:
    import numpy as np

    if path is None:
        return None
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError):
        raise InputError(f"{path} ({option}) is damaged or no .npy file; save it with numpy.save") from None
    if not isinstance(found, np.ndarray) or found.ndim != 2:
        raise InputError(f"{path} ({option}) does not hold one array of two axes; save a row for each row of the data")
    return found
