"""Which of several methods is taken, and why, where nobody names one."""

from collections.abc import Mapping
from typing import NamedTuple

from labelnoise.crossfit.train import CrossFit, Plan, crossfit
from labelnoise.errors import InputError
from labelnoise.methods.notation import from_text

AUTO = "auto"
PLAIN = "ce"  # cross-entropy, which gives small classes up least
SHORT_LIST = ("gce", "forward", "logistic_normal", PLAIN)


class Choice(NamedTuple):
    """A method that was trained, and why it was this one."""

    fit: CrossFit
    scores: Mapping[str, float]  # by method, the share of rows left aside whose given label is predicted
    reason: str


def choose(method: str, plan: Plan) -> Choice:
    """Train a method; `auto` trains a short list and takes what predicts most given labels of rows left aside.

    Of equals the earlier one in the list is taken. A method whose training fails is left out, which the reason says, if
    not all do.
    """
    fits: dict[str, CrossFit] = {}
    problems: dict[str, InputError] = {}
    for name in SHORT_LIST if method == AUTO else (method,):
        try:
            fits[name] = crossfit(from_text(name), plan, margins=False)
        except InputError as problem:
            problems[name] = problem
    if not fits:
        raise next(iter(problems.values()))
    scores = {name: agreement(fit) for name, fit in fits.items()}
    best = max(scores, key=lambda name: scores[name])
    left_out = (f"; {name} was left out: {problem}" for name, problem in problems.items())
    return Choice(fits[best], scores, _reason(method, best, scores) + "".join(left_out))


def agreement(fit: CrossFit) -> float:
    """The share of rows whose given label is predicted by the networks that left them aside."""
    return float((fit.probs.argmax(1) == fit.plan.dataset.y_given).double().mean())


def _reason(asked: str, best: str, scores: Mapping[str, float]) -> str:
    if asked != AUTO:
        return f"{best} was asked for"
    others = "".join(f", {name} of {score:.1%}" for name, score in scores.items() if name != best)
    return (
        f"{best} was chosen: it predicts the given label of {scores[best]:.1%} of the rows that its networks had not "
        f"learnt from{others}"
    )
