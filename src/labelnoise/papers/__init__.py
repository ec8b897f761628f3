"""The papers' settings and published figures, as data."""

from labelnoise.papers.paper import Cell, Paper, paper

__all__ = ["Cell", "Paper", "paper"]
