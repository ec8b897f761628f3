"""What an H200 is to reach: by row, by key of a figure."""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from torch import nn

from labelnoise.methods import METHODS, build
from labelnoise.speed.figure import Figure
from labelnoise.types import DataSpec, Head


class Target(NamedTuple):
    """A bound on a figure, or on one of its ratios."""

    bound: float
    of: str = ""  # the ratio to this; "": the figure itself
    most: bool = False  # the bound is from above


TARGETS: Mapping[tuple[str, str], tuple[Target, ...]] = {
    ("lenet5-ce", "many"): (Target(1_800_000), Target(60, "plain loop")),
    ("lenet5-co_teaching", "many"): (Target(0.45, "ce"),),
    ("wrn_28_2-ce", "one"): (Target(46_000),),
    ("wrn_28_2-logistic_normal", "one"): (Target(0.95, "ce"),),
    ("wrn_28_2-ce", "many"): (Target(80_000),),
    ("resnet34", "many"): (Target(115_000),),
    ("lenet5_same", "many"): (Target(850_000),),
    ("mnist", "seconds"): (Target(270, most=True),),
    ("cifar10", "rate"): (Target(68_000),),
    **{(row, "host"): (Target(3, most=True),) for row in ("mnist", "cifar10", "host")},
    ("start", "again"): (Target(20, most=True),),
}
SINGLE = (Target(0.6, "ce"),)  # of methods with a single network
WITHOUT = ("ce", "heteroscedastic")  # the latter's loss is an expectation over samples, as many as one likes


@cache
def backbones(method: str) -> int:
    """How many networks of the asked-for kind a method in its default form makes."""
    made: list[Head] = []

    def net(head: Head) -> nn.Module:
        made.append(head)
        return nn.Identity()

    build(method).networks(DataSpec((1, 28, 28), 10, 1000, net, 256))
    return len(made)


def targets(row: str, key: str) -> tuple[Target, ...]:
    """Those of a figure."""
    net, _, method = row.partition("-")
    if net == "lenet5" and key == "many" and method in METHODS and method not in WITHOUT and backbones(method) == 1:
        return SINGLE
    return TARGETS.get((row, key), ())


def reached(row: str, figure: Figure) -> list[tuple[Target, float]]:
    """The targets of a figure with the share of each that is reached: 1 or more where it is met."""
    found = []
    for target in targets(row, figure.key):
        value = figure.ratios.get(target.of) if target.of else figure.value
        if value:
            found.append((target, target.bound / value if target.most else value / target.bound))
    return found


def sentence(target: Target, share: float) -> str:
    """As it is printed behind a figure."""
    return f"wanted of an H200, {bound(target)}: {'reached' if share >= 1 else 'MISSED'}, {per_cent(target, share)}"


def bound(target: Target) -> str:
    """As a person would say it."""
    return f"{'at most' if target.most else 'at least'} {target.bound:,.10g}{f' × {target.of}' if target.of else ''}"


def per_cent(target: Target, share: float) -> str:
    """Of what is wanted how much is reached, or of what is allowed how much is taken."""
    return f"{100 / share:.0f} % of what is allowed" if target.most else f"{100 * share:.0f} %"
