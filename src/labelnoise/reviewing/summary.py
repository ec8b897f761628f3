"""An audit in a few lines, for a terminal."""

from collections.abc import Iterator

from labelnoise.auditing.result import Audit
from labelnoise.reviewing.kinds import parts
from labelnoise.reviewing.page import answer, percent
from labelnoise.reviewing.review import LEAST, suspicious

WORST, FIRST = 5, 10  # classes and rows that are told
WIDEST, LONGEST = 40, 120  # letters of a name and of the last column, which nothing follows


def lines(audit: Audit) -> Iterator[str]:
    """How noisy, which classes most, which rows first."""
    yield answer(audit)
    yield from audit.notes
    if audit.rate_known:
        yield ""
        yield from _classes(audit)
    rows = suspicious(audit)
    first = rows[rows["wrong_probability"] >= LEAST].head(FIRST)
    yield ""
    if first.empty:
        yield f"no label is wrong with a probability of {100 * LEAST:.0f} % or more"
        return
    why = [each[0] for each in parts(list(map(str, first["reason"])), list(map(str, audit.transition.index)))]
    told = zip(first.index, *(first[name] for name in ("given", "suggested", "wrong_probability")), why, strict=True)
    yield from _aligned(
        ["row", "given", "suggested", "wrong", "reason"],
        [
            [str(name), str(given), str(better), f"{100 * p:.0f} %", reason]  # the page has all of it
            for name, given, better, p, reason in told
        ],
    )


def _classes(audit: Audit) -> Iterator[str]:
    given = audit.per_class[audit.per_class["rows"] > 0]
    known = given["rate"].where(given["learnt"])
    worst = known.sort_values(ascending=False, kind="stable").head(WORST)  # what is not known comes last
    yield from _aligned(
        ["class", "rows", "wrong"],
        [[str(name), f"{given['rows'][name]:,}", percent(rate)] for name, rate in worst.items()],
    )


def _aligned(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    cells = [[*(_plain(cell, WIDEST) for cell in row), _plain(last, LONGEST)] for *row, last in [head, *rows]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)][:-1]
    for *row, last in cells:
        yield "  ".join([*(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)), last])


def _plain(text: str, most: int) -> str:
    # a name may hold what moves a terminal's cursor
    shown = "".join(letter if letter.isprintable() else "?" for letter in text)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"
