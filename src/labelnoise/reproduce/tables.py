"""A reproduced table as text: for a terminal, a document, a spreadsheet, a paper."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from itertools import groupby

from labelnoise.papers.paper import ACCURACY, Cell
from labelnoise.reproduce.asked import KEYS
from labelnoise.reproduce.beside import LESS, Beside, Spread, not_worse

RULES = ("last", "selected", "oracle")
VERDICTS = {True: "within noise", False: "off", None: "–"}
LEGEND = (
    "*: not significantly worse than the best of its column among those with a published figure, by the pooled "
    "two-sided t-test at 5 %, which a wide spread may earn too; of published figures, those that the paper prints so"
)
HEAD = ("data", "noise", "wrong labels", "method", "runs", *RULES, "ours", "published", "difference", "")
LATEX = str.maketrans(
    {character: rf"\{character}" for character in "&%$#_{}"} | {"\\": r"\textbackslash{}", "±": r"$\pm$"}
)
LATEX |= str.maketrans({"τ": r"$\tau$", "Σ": r"$\Sigma$", "–": "--"})


def rows(found: Sequence[Beside], among: Sequence[Beside] | None = None) -> Iterator[tuple[str, ...]]:
    """One for each cell; figures that are not significantly worse than the best of their column have a star.

    The column is that of all cells `among` which these are; by default there are no others.
    """
    whole = found if among is None else among
    marked = {each.cell: mark for each, mark in zip(whole, marks(whole), strict=True)}
    for each in found:
        cell, difference, (ours, published) = each.cell, each.difference, marked[each.cell]
        yield (
            placed(cell),
            cell.noise,
            "–" if each.noise_rate is None else f"{100 * each.noise_rate:.1f} %",
            cell.method,
            _runs(each),
            *(_shown(each.ours.get(rule)) for rule in RULES),
            _starred(_shown(each.reached), ours),
            _starred(_shown(each.published), published),
            "–" if difference is None else f"{difference:+.2f}",
            _verdict(each),
        )


def unlike(found: Sequence[Beside]) -> Iterator[str]:
    """A sentence for each cell whose runs were not made alike."""
    for each in found:
        if each.unlike:
            place = f"{placed(each.cell)}, {each.cell.noise}, {each.cell.method}"
            yield f"{place}: its runs were not made alike: {each.unlike}"


def markdown(title: str, found: Sequence[Beside], among: Sequence[Beside] | None = None) -> str:
    """A table for a document; its stars are those of all cells among which these are."""
    told = "\n\n".join([lined([HEAD, *rows(found, among)]), LEGEND, *unlike(found)])
    return f"{title}\n\n{told}\n"


def lined(rows: Iterable[Sequence[str]]) -> str:
    """Rows as Markdown, the first one being the head."""
    head, *body = [[text.replace("|", r"\|") for text in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *body])


def latex(title: str, found: Sequence[Beside], facts: Iterable[tuple[str, str]] = ()) -> str:
    """A `tabular` for a paper, with what is to be known in comments."""
    lines = [" & ".join(text.translate(LATEX) for text in line) + r" \\" for line in (HEAD, *rows(found))]
    return "\n".join(
        [
            f"% {title}",
            rf"\begin{{tabular}}{{{'l' * 4}{'r' * (len(HEAD) - 4)}}}",
            lines[0],
            r"\hline",
            *lines[1:],
            r"\end{tabular}",
            *(f"% {remark}" for remark in (LEGEND, *unlike(found))),
            *(f"% {name}: {line}" for name, value in facts for line in value.splitlines()),
            "",
        ]
    )


def table(name: str, recipe: str, found: Sequence[Beside]) -> str:
    """Everything as numbers, for a program."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    sides = [f"{side}_{part}" for side in (*RULES, "ours", "published") for part in ("mean", "std", "runs")]
    rest = ("failed", "missing", "noise_rate", "difference", "error", "within", "ours_best", "published_best")
    writer.writerow(["table", "recipe", *KEYS, "reported", *sides, *rest, "unlike"])
    for each, best in zip(found, marks(found), strict=True):
        spreads = [*(each.ours.get(rule) for rule in RULES), each.reached, each.published]
        numbers = [value for spread in spreads for value in (spread or (None,) * 3)]
        counted = [each.failed, each.missing, each.noise_rate]
        verdict = [*counted, each.difference, each.error, each.within, *best]
        writer.writerow(
            [
                name,
                recipe,
                *(getattr(each.cell, key) for key in KEYS),
                each.reported,
                *map(_number, [*numbers, *verdict]),
                each.unlike,
            ]
        )
    return text.getvalue()


def counts(found: Iterable[Beside]) -> str:
    """How many cells are within noise, in a sentence."""
    cells = list(found)
    verdicts = [each.within for each in cells if each.reached is not None]
    judged = {"within noise": verdicts.count(True), "off": verdicts.count(False), "not judged": verdicts.count(None)}
    words = ", ".join(f"{count} {verdict}" for verdict, count in judged.items() if count)
    return f"{len(verdicts)} of {len(cells)} cells measured{f': {words}' if words else ''}"


def placed(cell: Cell) -> str:
    """The part of a table that a cell stands in: its data, and what else there are several of."""
    measure = "" if cell.measure == ACCURACY else cell.measure
    return ", ".join(filter(None, (cell.data, cell.net, measure)))


def marks(found: Sequence[Beside]) -> list[tuple[bool, bool]]:
    """Of each cell, whether ours and the published figure are not worse than the best of their column.

    Ours without a published figure beside them do not compete where others have one.
    """
    columns: dict[int, tuple[bool, bool]] = {}
    places = sorted(range(len(found)), key=lambda place: _column(found[place]))
    for _, together in groupby(places, key=lambda place: _column(found[place])):
        column = list(together)
        less = found[column[0]].cell.measure in LESS
        rivals = [place for place in column if found[place].cell.printed] or column
        ours = dict(zip(rivals, not_worse([found[place].reached for place in rivals], less=less), strict=True))
        columns |= {place: (ours.get(place, False), found[place].cell.best) for place in column}
    return [columns[place] for place in range(len(found))]


def _column(each: Beside) -> tuple[str, ...]:
    return each.cell.data, each.cell.noise, each.cell.net, each.cell.measure


def _runs(each: Beside) -> str:
    runs = each.reached.runs if each.reached else 0
    lacking = each.failed + each.missing
    return f"{runs} of {runs + lacking}" if lacking else str(runs)


def _verdict(each: Beside) -> str:
    wide, single = ["wide spread"] * each.wide, ["single figure"] * (each.within is True and each.single)
    return ", ".join([VERDICTS[each.within], *wide, *single])


def _shown(spread: Spread | None) -> str:
    return "–" if spread is None else str(spread)


def _starred(text: str, mark: bool) -> str:
    return f"{text} *" if mark else text


def _number(value: float | bool | None) -> str:
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, bool | int) else f"{value:.4f}"
