"""Figures of the page as files of their own: on white, in the page's colours by day, one beside the other."""

from collections.abc import Sequence
from html import escape

from labelnoise.report.canvas import colour
from labelnoise.report.template import Key, Panel

LIGHT = ("#1668b0", "#cf5508", "#00855c", "#a2458d", "#9a6f00", "#178fb5", "#6b6f76", "#b02a37")  # the page's, by day
INK = "#1b1f24"
GAP, CAPTION = 16, 24  # between panels and above each of them, in pixels
LINE, LETTER = 20, 6.4  # of a key, the height of a line and about the width of a letter


def on_white(svg: str, size: tuple[int, int]) -> str:
    """A whole SVG file of this size, from a figure that takes its colours from a page."""
    inside = svg.removeprefix("<svg ").replace("var(--page)", "white")
    for index, plain in enumerate(LIGHT):
        inside = inside.replace(colour(index), plain)
    look = f"color: {INK}; font-family: sans-serif"
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" style="{look}" {inside}\n'


def gallery(title: str, panels: Sequence[Panel], columns: int, key: Sequence[Key] = ()) -> str:
    """A whole SVG file with several figures, each under its caption, in columns of equal width; below them a key."""
    sizes = [_size(panel.svg) for panel in panels]
    width, drawn, y = max(size[0] for size in sizes) + GAP, list[str](), 0.0
    for start in range(0, len(panels), columns):
        line = slice(start, start + columns)
        for place, (panel, (w, h)) in enumerate(zip(panels[line], sizes[line], strict=True)):
            x, caption = place * width + GAP / 2, escape(panel.caption)
            drawn.append(f'<text x="{x + 4:g}" y="{y + 16:g}" font-size="12" fill="currentColor">{caption}</text>')
            where = f'<svg x="{x:g}" y="{y + CAPTION:g}" width="{w:g}" height="{h:g}" '
            drawn.append(panel.svg.replace("<svg ", where, 1))
        y += CAPTION + max(size[1] for size in sizes[line]) + GAP
    for row in _rows(key, columns * width):
        drawn += [_entry(each, x, y) for x, each in row]
        y += LINE
    whole = (round(columns * width), round(y))
    head = f'<svg viewBox="0 0 {whole[0]} {whole[1]}" role="img" aria-label="{escape(title)}">'
    ground = f'<title>{escape(title)}</title><rect width="100%" height="100%" fill="white" />'
    return on_white("\n".join([head, ground, *drawn, "</svg>"]), whole)


def _rows(key: Sequence[Key], room: float) -> list[list[tuple[float, Key]]]:
    # as many entries in a line as have room, each with its place
    rows: list[list[tuple[float, Key]]] = []
    x = room
    for each in key:
        width = 46 + LETTER * len(each.label)
        if x + width > room:
            rows.append([])
            x = GAP / 2
        rows[-1].append((x, each))
        x += width
    return rows


def _entry(each: Key, x: float, y: float) -> str:
    look = f'stroke="{each.colour}" stroke-width="2.5" stroke-dasharray="{each.dashes}"'
    line = f'<line x1="{x + 4:g}" x2="{x + 28:g}" y1="{y + 8:g}" y2="{y + 8:g}" {look} />'
    return f'{line}<text x="{x + 34:g}" y="{y + 12:g}" font-size="12" fill="currentColor">{escape(each.label)}</text>'


def _size(svg: str) -> tuple[float, float]:
    _, _, width, height = svg.partition('viewBox="')[2].partition('"')[0].split()
    return float(width), float(height)
