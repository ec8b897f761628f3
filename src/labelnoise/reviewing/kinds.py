"""Kinds of reasons: the parts of a sentence with names and numbers left out, so that rows can be chosen by them."""

import re
from collections.abc import Sequence

BETWEEN = "; "  # parts
MOST_NAMES = 250  # of more classes none is looked for
NUMBER = r"\d+(?:[.,]\d+)?"
GAPS = re.compile(r"…(?:[ ,]*…)+")


def parts(reasons: Sequence[str], classes: Sequence[str]) -> list[list[str]]:
    """What semicolons part in each reason, but for those in names of classes."""
    whole = "".join(f"{re.escape(name)}|" for name in _longest_first(classes) if BETWEEN in name)
    part = re.compile(f"(?:{whole}(?!{BETWEEN}).)+", re.DOTALL)
    return [[each.strip() for each in part.findall(reason)] for reason in reasons]


def kinds(reasons: Sequence[str], classes: Sequence[str]) -> list[list[str]]:
    """For each reason the kinds of its parts."""
    names = _longest_first(classes) if len(classes) <= MOST_NAMES else []
    found = "|".join([f"{NUMBER} ?%", *map(re.escape, names), NUMBER])  # a class may be called by a number
    varying = re.compile(rf"(?<!\w)(?:{found})(?!\w)")
    return [[GAPS.sub("…", varying.sub("…", each)) for each in told] for told in parts(reasons, classes)]


def _longest_first(classes: Sequence[str]) -> list[str]:
    return sorted(filter(None, classes), key=len, reverse=True)
