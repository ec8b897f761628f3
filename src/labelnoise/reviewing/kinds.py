"""Kinds of reasons: the parts of a sentence with names and numbers left out, so that rows can be chosen by them."""

import re
from collections.abc import Sequence

MOST_NAMES = 250  # of more classes none is looked for
NUMBER = r"\d+(?:[.,]\d+)?"
GAPS = re.compile(r"…(?:[ ,]*…)+")


def kinds(reasons: Sequence[str], classes: Sequence[str]) -> list[list[str]]:
    """For each reason, whose parts are separated by semicolons, the kinds of its parts."""
    names = sorted(filter(None, classes), key=len, reverse=True) if len(classes) <= MOST_NAMES else []
    found = "|".join([f"{NUMBER} ?%", *map(re.escape, names), NUMBER])  # a class may be called by a number
    varying = re.compile(rf"(?<!\w)(?:{found})(?!\w)")
    return [[GAPS.sub("…", varying.sub("…", part)).strip() for part in reason.split("; ")] for reason in reasons]
