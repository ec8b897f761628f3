"""Committed pictures of figures, with what they show and how they are drawn again."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from labelnoise.papers.figures import Figure, figures
from labelnoise.papers.paper import paper, papers
from labelnoise.reproduce import outcomes
from labelnoise.reproduce.kept import OUTCOMES
from labelnoise.reproduce.origin import made
from labelnoise.reproduce.outcomes import Outcome


def gallery(results: Path, seen_from: str) -> Iterator[str]:
    """Paragraphs on every picture; `seen_from` leads from the page to the folder of results."""
    for name in papers():
        for figure in figures(paper(name)).values():
            for path in sorted(results.glob(f"{name}/{figure.name}-*/*.svg")):
                yield from _shown(name, figure, path, f"{seen_from}/{'/'.join(path.parts[-3:])}")


def _shown(name: str, figure: Figure, path: Path, link: str) -> Iterator[str]:
    recipe = path.parent.name.partition("-")[2]
    words = ["labelnoise", "reproduce", f"{name}/{figure.name}", *(["--recipe", recipe] if recipe != "paper" else [])]
    yield f"### {name}/{figure.name}"
    yield figure.shows
    yield f"![{figure.shows}]({link})"
    yield f"`{' '.join(words)}`{_made(list(outcomes.read(path.parent / OUTCOMES).values()))}"


def _made(runs: Sequence[Outcome]) -> str:
    if not runs:
        return ": computed, nothing is trained."
    return f": {', '.join(f'{key} {value}' for key, value in made(runs))}."
