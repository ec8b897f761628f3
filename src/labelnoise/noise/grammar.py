"""The one-line notation of noises: a kind, what it takes, which variant, as in `asymmetric:0.3:dmi`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

from labelnoise.data.dataset import DATASETS
from labelnoise.data.standard.catalogue import CARDS
from labelnoise.errors import InputError
from labelnoise.noise import published
from labelnoise.noise.annotators import VOTES, Vote
from labelnoise.noise.instance import Features
from labelnoise.noise.kinds import (
    Noise,
    by_annotators,
    by_class,
    by_foreign,
    by_instance,
    by_published_instance,
    by_score,
)
from labelnoise.noise.matrix import (
    TransitionMatrix,
    asymmetric,
    identity,
    pair,
    random_redraw,
    sparse_pairs,
    symmetric,
)
from labelnoise.noise.published import Level, Source
from labelnoise.registry import Registry, nearest

Choice = TypeVar("Choice", bound=str)


@dataclass(frozen=True)
class Wish:
    """A noise as it was asked for."""

    kind: str
    arguments: tuple[str, ...]  # what follows the kind, between colons
    classes: int
    dataset: str  # its name up to a colon, empty for one's own data
    exact: bool = False

    def rate(self) -> float:
        """The first argument as a number."""
        first = self.arguments[0] if self.arguments else ""
        try:
            return float(first)
        except ValueError:
            also = "low, high or " if self.kind == "sparse" else ""
            raise InputError(f"noise {self.kind!r} needs {also}a rate, as in {self.kind}:0.4, not {first!r}") from None

    def variant(self, known: tuple[Choice, ...], place: int = 1) -> Choice:
        """One of a few words at a place, by default the first of them."""
        if len(self.arguments) <= place:
            return known[0]
        word = self.arguments[place]
        found = next((each for each in known if each == word), None)
        if found is None:
            raise InputError(f"noise {self.kind!r} has no variant {word!r}; {nearest(word, known)}")
        return found

    def only(self, most: int) -> None:
        """Raise where more follows than the kind understands."""
        if len(self.arguments) > most:
            raise InputError(f"noise {self.kind!r} has no use for {self.arguments[most]!r}; leave it out")

    def named(self, *arguments: object) -> str:
        """The definition in its one form: numbers as Python writes them, variants written out."""
        return ":".join([self.kind, *map(str, arguments), *(["exact"] if self.exact else [])])


Builder = Callable[[Wish], Noise]
NOISES: Registry[Builder] = Registry("noise")
BY_CLASS = {"symmetric", "random", "pair", "asymmetric", "uniform", "sparse", "matrix"}  # may be drawn in exact counts


def parse(text: str, classes: int, dataset: str = "") -> Noise:
    """The noise that a text such as `symmetric:0.4` means for so many classes, or for a built-in data set by name."""
    name = dataset.partition(":")[0]
    if name not in (known := {"", *(each.partition(":")[0] for each in DATASETS)}):
        raise InputError(f"unknown data set {dataset!r}; {nearest(dataset, known - {''})}")
    kind, *arguments = text.strip().split(":")
    build = NOISES.get(kind)
    exact = bool(arguments) and arguments[-1] == "exact"
    if exact and kind not in BY_CLASS:
        raise InputError(f"noise {kind!r} cannot be drawn in exact counts; leave out exact")
    kept = tuple(arguments[:-1] if exact else arguments)
    return build(Wish(kind, kept, classes, name, exact))


@NOISES.register("none")
def _none(wish: Wish) -> Noise:
    """Labels as they are."""
    if wish.arguments:
        raise InputError(f"noise 'none' takes nothing after it, but {wish.arguments[0]!r} follows")
    return by_class("none", identity(wish.classes))


@NOISES.register("symmetric")
def _symmetric(wish: Wish) -> Noise:
    """symmetric:R, wrong with probability R, never the true class."""
    return _by_rate(wish, symmetric)


@NOISES.register("random")
def _random(wish: Wish) -> Noise:
    """random:P, redrawn over all classes with probability P, the true one included."""
    return _by_rate(wish, random_redraw)


@NOISES.register("pair")
def _pair(wish: Wish) -> Noise:
    """pair:R, each class for the next with probability R."""
    return _by_rate(wish, pair)


@NOISES.register("asymmetric")
def _asymmetric(wish: Wish) -> Noise:
    """asymmetric:R[:MAP], look-alike classes with probability R, by the papers' maps."""
    wish.only(2)
    rate = wish.rate()
    name, mapping = published.class_map(wish.dataset, wish.classes, *wish.arguments[1:])
    return by_class(wish.named(rate, name), asymmetric(wish.classes, rate, mapping), exact=wish.exact)


@NOISES.register("sparse")
def _sparse(wish: Wish) -> Noise:
    """sparse:low|high[:released|stated] or sparse:R, classes confused in pairs."""
    if wish.arguments[:1] not in (("low",), ("high",)):
        return _by_rate(wish, lambda classes, rate: sparse_pairs(classes, rate, rate))
    return _published(wish, published.sparse)


@NOISES.register("uniform")
def _uniform(wish: Wish) -> Noise:
    """uniform:low|high[:released|stated], every other class turns into j with one probability e_j."""
    return _published(wish, published.uniform)


@NOISES.register("instance")
def _instance(wish: Wish) -> Noise:
    """instance:R[:raw|centred|published], part-dependent: the input decides which wrong label."""
    wish.only(2)
    variants: tuple[Features | Literal["published"], ...] = ("raw", "centred", "published")
    rate, chosen = wish.rate(), wish.variant(variants)
    if chosen == "published":
        return by_published_instance(wish.named(rate, chosen), rate)
    return by_instance(wish.named(rate, chosen), rate, chosen)


@NOISES.register("score")
def _score(wish: Wish) -> Noise:
    """score:R, the rate rises along a direction of the inputs."""
    wish.only(1)
    return by_score(wish.named(wish.rate()), wish.rate(), wish.classes)


@NOISES.register("open_set")
def _open_set(wish: Wish) -> Noise:
    """open_set:R[:DATA], inputs that belong to no class, scrambled or of another data set."""
    rate, other = wish.rate(), ":".join(wish.arguments[1:])
    if other and _pictures(other) == _pictures(wish.dataset):
        raise InputError(f"inputs of {other} belong to the classes of {wish.dataset}; name another data set")
    return by_foreign(wish.named(rate, *([other] if other else [])), rate, DATASETS.get(other) if other else None)


@NOISES.register("annotators")
def _annotators(wish: Wish) -> Noise:
    """annotators:R[:random|aggregate|worst], one label made of three annotators'."""
    wish.only(2)
    votes: tuple[Vote, ...] = VOTES
    rate, how = wish.rate(), wish.variant(votes)
    return by_annotators(wish.named(rate, how), wish.classes, rate, how)


@NOISES.register("matrix")
def _matrix(wish: Wish) -> Noise:
    """matrix:FILE.csv, row i the probabilities of the given labels of class i."""
    if not any(wish.arguments):
        raise InputError("noise 'matrix' needs a file, as in matrix:T.csv")
    path = Path(":".join(wish.arguments))  # which may have a drive letter
    T = _fitting(read_matrix(path), wish, f"the noise matrix in {path}")
    return by_class(wish.named(path), T, exact=wish.exact)


def _fitting(T: TransitionMatrix, wish: Wish, name: str) -> TransitionMatrix:
    if T.classes != wish.classes:
        raise InputError(f"{name} is for {T.classes} classes, but the data have {wish.classes}")
    return T


def _pictures(dataset: str) -> str:
    # whose inputs a data set has
    name = dataset.partition(":")[0]
    return CARDS[name].images_of or name if name in CARDS else name


def read_matrix(path: Path) -> TransitionMatrix:
    """T from a .csv file, a row of probabilities for each true class."""
    try:
        return TransitionMatrix.from_rows(_read_csv(path))
    except InputError as problem:
        raise InputError(f"the noise matrix in {path} cannot be used: {problem}") from None


def _by_rate(wish: Wish, build: Callable[[int, float], TransitionMatrix]) -> Noise:
    wish.only(1)
    return by_class(wish.named(wish.rate()), build(wish.classes, wish.rate()), exact=wish.exact)


def _published(wish: Wish, build: Callable[[str, int, Level, Source], TransitionMatrix]) -> Noise:
    wish.only(2)
    levels: tuple[Level, ...] = ("low", "high")
    if not wish.arguments:
        raise InputError(f"noise {wish.kind!r} needs low or high, as in {wish.kind}:low")
    level = wish.variant(levels, 0)
    known = published.is_released(wish.kind, wish.dataset, level)
    sources: tuple[Source, ...] = ("released", "stated") if known else ("stated", "released")
    source = wish.variant(sources)
    T = _fitting(build(wish.dataset, wish.classes, level, source), wish, f"{wish.kind}:{level} of {wish.dataset}")
    if source == "released" and published.drawn_exactly(wish.kind, wish.dataset):
        return by_class(replace(wish, exact=False).named(level, source), T, exact=True)  # which goes without saying
    return by_class(wish.named(level, source), T, exact=wish.exact)


def _read_csv(path: Path) -> list[list[float]]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as problem:
        raise InputError(f"the file cannot be read ({problem.strerror}); name a .csv file") from None
    except UnicodeDecodeError:
        raise InputError("the file is no text; name a .csv file") from None
    rows = [_numbers(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    for i, row in enumerate(rows):
        if len(row) != len(rows):
            raise InputError(f"row {i} has {len(row)} entries, not {len(rows)}")
    return rows


def _numbers(number: int, line: str) -> list[float]:
    try:
        return [float(cell) for cell in line.split(",")]
    except ValueError:
        raise InputError(f"line {number} is not a row of numbers between commas") from None
