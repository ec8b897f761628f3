"""Reports of `labelnoise speed` as a table for a document: figures, and how much of what is wanted they reach."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from labelnoise.speed.targets import Target, bound, per_cent

HEAD = ("row", "what", "measured", "beside others", "wanted, and the share that is reached", "note")


def table(reports: Sequence[Mapping[str, Any]]) -> str:
    """All rows of all reports, then where they were measured and what was typed.

    A row that was measured several times tells by which commit.
    """
    times = Counter(name for report in reports for name, row in report["rows"].items() if "figures" in row)
    lines: list[str] = []
    for report in reports:
        for name, row in report["rows"].items():
            told = f"`{name}`, {report['commit'][:10]}" if times[name] > 1 else f"`{name}`"
            lines += _lines(told, row)
    places = sorted({_place(report) for report in reports})
    typed = [f"    {report['command']}  # {report['commit'][:10]}, {report['date'][:10]}" for report in reports]
    return "\n".join([_joined(HEAD), "|---" * len(HEAD) + "|", *lines, "", f"{'; '.join(places)}. Typed:", "", *typed])


def _lines(told: str, row: Mapping[str, Any]) -> Iterator[str]:
    for figure in row.get("figures", ()):
        value = "–" if figure["value"] is None else f"{_number(figure['value'])} {figure['unit']}"
        ratios = ", ".join(f"{_number(times)} × {other}" for other, times in figure["ratios"].items())
        targets = ", ".join(map(_wanted, figure.get("targets", ())))
        yield _joined((told, figure["name"], value, ratios, targets, figure["note"]))


def _wanted(kept: Mapping[str, Any]) -> str:
    target = Target(kept["bound"], kept["of"], kept["most"])
    return f"{bound(target)}: {per_cent(target, kept['reached'])}"


def _place(report: Mapping[str, Any]) -> str:
    return f"{report['device']}, {report['cores']} cores, torch {report['versions']['torch']}"


def _number(value: float) -> str:
    return f"{value:,.{0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2}f}"


def _joined(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
