"""`labelnoise data`: standard data sets, and how one's own are read. Heavy imports wait until a command runs."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from labelnoise.errors import InputError

if TYPE_CHECKING:
    from labelnoise.config import Data
    from labelnoise.data import Dataset
    from labelnoise.data.standard.catalogue import Card

Command = TypeVar("Command", bound=Callable[..., Any])
OWN = (
    click.option("--label-column", metavar="NAME", help="Column of a table that holds the labels; label by default."),
    click.option(
        "--true-label-column", metavar="NAME", help="Column that holds the true labels, where they are known."
    ),
    click.option("--id-column", metavar="NAME", help="Column that names the rows; they are numbered by default."),
    click.option("--labels", metavar="FILE", help="Labels that belong to a .npy file of inputs."),
    click.option("--image-size", metavar="PIXELS", type=int, help="Scale images to this height and width."),
)
FIXED = ("source", "fingerprint")  # settings of data that say which they are, not how they are read
MOST_LISTED = 20  # classes with their counts


def own_data(command: Command) -> Command:
    """Give a command the options that say what the parts of a file mean."""
    for option in reversed(OWN):
        command = option(command)
    return command


def own_data_by_key(command: Command) -> Command:
    """Give a command these options and, behind the data, `data.KEY=VALUE` for what has no option."""
    return click.argument("keys", nargs=-1, metavar="[data.KEY=VALUE]...")(own_data(command))


def settings_of(source: str, options: dict[str, Any], keys: Sequence[str]) -> "Data":
    """How data by name or path are read, by options and, over them, keys with their values."""
    from labelnoise.config import Data
    from labelnoise.configure import build, parse_overrides

    given = {name: value for name, value in options.items() if value is not None}
    told = parse_overrides(keys)
    further = told.pop("data", None) or {}
    if told or FIXED[0] in further or FIXED[1] in further:
        raise InputError(f"{' '.join(keys)!r}: only how data are read can be set here, such as data.drop=[name]")
    check_own(source, [*options_given(options), *(f"data.{name}" for name in further)])
    return build(Data, {**given, **further, "source": source}, "data")


def options_given(options: dict[str, Any]) -> list[str]:
    """Of all options of a command those that say how data are read, as people have typed them."""
    from labelnoise.data.factor import OPTIONS

    return [f"--{name.replace('_', '-')}" for name in OPTIONS if options.get(name) is not None]


def check_own(source: str, told: Sequence[str]) -> None:
    """Raise where options or keys tell how data are read that are built in."""
    if told and not _is_own(source):
        _check_known(source)
        raise InputError(f"{told[0]} is for data of one's own, which {source!r} is not; leave it out")


def dataset_of(settings: "Data") -> "Dataset":
    """The data set of a name, or of a path that is read as the settings say."""
    from labelnoise.data import load, read

    return read(settings.source, settings) if _is_own(settings.source) else load(settings.source, 0)


def _check_known(source: str) -> None:
    from labelnoise.data.dataset import builder
    from labelnoise.data.standard.catalogue import CARDS

    if source not in CARDS:  # which goes for the names of its variants as well
        builder(source)


def _is_own(source: str) -> bool:
    from labelnoise.data import is_own
    from labelnoise.data.standard.catalogue import CARDS

    return is_own(source) and source.partition(":")[0] not in CARDS


@click.group(short_help="Standard data sets: what they are, and how to get them.")
def data() -> None:
    """Standard data sets: what they are, and how to get them into the data root.

    The data root is the folder that the environment variable LABELNOISE_DATA names, by default ~/.cache/labelnoise.
    """


@data.command("list")
def list_sets() -> None:
    """Show all data sets, and which of them are ready."""
    from labelnoise.data import DATASETS, load
    from labelnoise.data.standard.cache import data_root, lacking
    from labelnoise.data.standard.catalogue import CARDS

    rows = [("name", "rows", "classes", "inputs", "ready", "what it is")]
    standard = {name for card in CARDS.values() for name in card.names}
    for name, sentence in DATASETS.sentences():
        if name not in standard:
            made = load(name, 0)
            rows.append((name, f"{len(made):,}", str(len(made.classes)), _times(made.shape), "yes", sentence))
    for card in CARDS.values():
        size, ready = f"{card.train:,} + {card.test:,}", "no" if lacking(card) else "yes"
        facts = (size, str(card.classes), _times(card.shape), ready)
        rows += [(name, *facts, sentence) for name, sentence in card.sentences.items()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    for *cells, last in rows:
        click.echo("  ".join([*(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)), last]))
    click.echo(f"\nrows + rows of the official test part; data root: {data_root()}")


@data.command(short_help="Tell what is known of a data set, or how a file is read.")
@click.argument("source", metavar="NAME|PATH")
@own_data_by_key
def info(source: str, keys: tuple[str, ...], **options: Any) -> None:
    """Tell what is known of a data set by NAME, or how one's own data at PATH are read; nothing is trained."""
    from labelnoise.data import load
    from labelnoise.data.standard.cache import lacking
    from labelnoise.data.standard.catalogue import CARDS, find

    settings = settings_of(source, options, keys)
    if source.partition(":")[0] not in CARDS:
        _say(_facts(dataset_of(settings)))
        return
    card = find(source)
    _say(_card(card))
    names = card.names if source == card.name else (source,)
    for name in () if lacking(card) else names:
        click.echo()
        _say(_facts(load(name, 0)))


@data.command(short_help="Save data with wrong labels added, and how they came about.")
@click.argument("source", metavar="NAME|PATH")
@click.option("--noise", required=True, help="Such as symmetric:0.4 or instance:0.45 (`labelnoise list noise`).")
@click.option("--seed", default=0, help="Another one draws other labels.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="An .npz file; a .json comes beside it.")
@click.option("--force", is_flag=True, help="Replace files that are there.")
@own_data_by_key
def corrupt(
    source: str, keys: tuple[str, ...], *, noise: str, seed: int, out: Path, force: bool, **options: Any
) -> None:
    """Add wrong labels to a data set by NAME or at PATH, all but its test part, and save the outcome.

    The .npz file holds inputs, given and true labels, and can be trained on like any other. The .json file tells noise,
    seed, both rates, the realised transition matrix and the hash of every array; what reads the one checks the other.
    """
    from labelnoise.data import saved
    from labelnoise.noise import load_corrupted, save_corrupted
    from labelnoise.noise.corrupt import noise_for

    saved.check(out, force=force, leave="--force")
    dataset = dataset_of(settings_of(source, options, keys))
    wanted = noise_for(dataset, noise)
    for remark in wanted.remarks(len(dataset.classes)):
        click.echo(remark)
    save_corrupted(dataset, wanted, out, seed=seed, force=force)
    noisy, found = load_corrupted(out)
    before = f"; {100 * found.rate_before:.2f} % were before" if found.rate_before else ""
    expected = f"{100 * found.nominal_rate:.2f} % of labels were expected to become wrong"
    click.echo(f"{found.definition}, seed {seed}: {expected}; wrong now: {_wrong(noisy)}{before}")
    click.echo(str(out))


@data.command(short_help="Convert official files into one of the data root.")
@click.argument("name")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def convert(name: str, path: Path, force: bool) -> None:
    """Convert the official files of data set NAME, in a folder or archive PATH, into one file of the data root.

    `labelnoise data info NAME` says which files these are. They are checked, and stay as they are.
    """
    from labelnoise.data.standard.convert import convert as write

    click.echo(str(write(name, path, force=force, say=click.echo)))


@data.command(short_help="Download a data set, where torchvision is installed.")
@click.argument("name")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def fetch(name: str, force: bool) -> None:
    """Download data set NAME by torchvision and convert it into one file of the data root."""
    from labelnoise.data.standard.fetch import fetch as download

    click.echo(str(download(name, force=force, say=click.echo)))


def _say(lines: Iterator[tuple[str, str]]) -> None:
    for what, text in lines:
        click.echo(f"{what:<14} {text}" if what else text)


def _card(card: "Card") -> Iterator[tuple[str, str]]:
    from labelnoise.data.standard.cache import lacking, path_of

    yield "", card.title
    yield "--data", ", ".join(card.names)
    yield "rows", f"{card.train:,} to learn from, {card.test:,} for the test"
    yield "inputs", f"{_times(card.shape)}, {card.classes} classes"
    yield "download", card.size
    yield "licence", card.licence
    yield "from", card.url
    yield "files", card.files
    yield "checked by", card.checked
    yield "paper", card.paper
    yield "used by", ", ".join(card.used_by)
    yield "augmentation", _augmentation(card)
    if missing := lacking(card):
        yield "not ready", missing.to_get
    else:
        yield "ready", f"{path_of(card)}, {path_of(card).stat().st_size / 1e6:,.0f} MB"


def _augmentation(card: "Card") -> str:
    # as it is typed behind `labelnoise train`
    crop, flip, mean, std = card.augment.crop, card.augment.flip, list(card.augment.mean), list(card.augment.std)
    words = [f"train.augment.crop={crop}"] * bool(crop) + ["train.augment.flip=true"] * flip
    return " ".join([*words, f'"train.augment.mean={mean}" "train.augment.std={std}"'])


def _facts(dataset: "Dataset") -> Iterator[tuple[str, str]]:
    from labelnoise.data.recipe import recipe

    yield "", dataset.name
    yield (
        "rows",
        f"{len(dataset):,}" + ("" if dataset.test is None else f", of which {len(dataset.test):,} for the test"),
    )
    yield "inputs", _times(dataset.shape)
    yield "classes", _classes(dataset)
    yield "wrong labels", _wrong(dataset)
    suited = recipe(dataset.shape, round(len(dataset) * 0.7))
    yield "by default", f"network {suited.net}, {suited.epochs} epochs, batches of {suited.batch}"
    for note in dataset.notes:
        yield "note", note


def _wrong(dataset: "Dataset") -> str:
    if dataset.noise_rate is None:
        return "unknown, for there are no true ones"
    share = f"{100 * dataset.noise_rate:.2f} %" + ("" if dataset.test is None else " outside the test part")
    return f"{share}, if the labels before noise were right" if dataset.assumed else share


def _classes(dataset: "Dataset") -> str:
    # with their counts among the given labels of the rows to learn from
    given = dataset.y_given[dataset.learnable].bincount(minlength=len(dataset.classes))
    counts = dict(zip(dataset.classes, given.tolist(), strict=True))
    if len(counts) <= MOST_LISTED:
        return f"{len(counts)}: " + ", ".join(f"{name} ({count:,})" for name, count in counts.items())
    fewest, most = (extreme(counts, key=lambda name: counts[name]) for extreme in (min, max))
    return f"{len(counts):,}, from {counts[fewest]:,} rows ({fewest}) to {counts[most]:,} ({most})"


def _times(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape))
