"""Committed pictures of figures, with what they show and how they are drawn again."""

from collections.abc import Iterator
from pathlib import Path

from labelnoise.errors import InputError
from labelnoise.papers.figures import Figure, figures
from labelnoise.papers.paper import paper, papers
from labelnoise.reproduce.asked import Table
from labelnoise.reproduce.committed import named
from labelnoise.reproduce.kept import finished
from labelnoise.reproduce.origin import origin


def gallery(results: Path, seen_from: str) -> Iterator[str]:
    """Paragraphs on every picture; `seen_from` leads from the page to the folder of results."""
    for name in papers():
        for figure in figures(paper(name)).values():
            for path in sorted(results.glob(f"{name}/{figure.name}-*/*.svg")):
                asked = Table(paper(name), figure.name)
                yield f"### {asked}"
                yield figure.shows
                yield f"![{figure.shows}]({seen_from}/{'/'.join(path.parts[-3:])})"
                yield _trained(asked, figure, path.parent) if figure.cells else _computed(asked)


def _trained(asked: Table, figure: Figure, folder: Path) -> str:
    _, recipe = named(folder)
    own = {cell: runs for cell, runs in finished(asked, figure.cells, recipe, folder).items() if runs}
    if not own:
        raise InputError(f"{folder} has a picture but no finished run of {asked}; restore its records or delete it")
    (_, typed), *made = origin(asked, recipe, own, "/".join(folder.parts[-3:]), figure.cells)
    facts = ", ".join(f"{key} {value}" for key, value in made)
    return f"{' and '.join(f'`{command}`' for command in typed.splitlines())}: {facts}."


def _computed(asked: Table) -> str:
    return f"`labelnoise reproduce {asked}`: computed, nothing is trained; a test draws it anew and compares."
