"""Selection as weights: which examples count, without changing a shape or leaving the graph.

The functions serve in anyone's loop: they take per-example losses or logits of one batch, on any device, and pass no
gradient. `Forgetting` is what methods share that leave out a growing share of each batch.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self, get_args

import torch
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.methods.base import Method, Stage, check_unused, hyper
from labelnoise.methods.correction import anchor_matrix
from labelnoise.types import Context, Snapshot

Form = Literal["linspace", "paper"]
Rate = Literal["given", "estimated"]
ROUNDING = 1e-9  # repairs products such as (1 - 0.8) * 10 = 1.9999…


def weighted_mean(loss: Tensor, weight: Tensor, floor: float = 0.0) -> Tensor:
    """Mean of `loss` (B,) over the examples with weight, 0 where none has any; divided by no less than floor · B."""
    least = max(floor * loss.shape[0], torch.finfo(loss.dtype).tiny)
    return (loss * weight).sum() / weight.sum().clamp(min=least)


def keep_smallest(loss: Tensor, rate: Tensor | float) -> Tensor:
    """1 for the smallest losses (B,) when a share `rate` is forgotten, else 0; ties go to the earlier position.

    max(1, floor((1 - rate) B + 1e-9)) examples are kept; a rate in fewer bits is rounded by as much as it lacks.
    """
    n, exact = loss.shape[0], torch.as_tensor(rate, dtype=torch.float64, device=loss.device)
    coarse = torch.finfo(rate.dtype if isinstance(rate, Tensor) and rate.is_floating_point() else exact.dtype).eps
    keep = ((1 - exact) * n + max(ROUNDING, n * coarse / 2)).floor().clamp(min=1)
    rank = loss.detach().argsort(stable=True).argsort()
    return (rank < keep).to(loss.dtype)


def self_paced(loss: Tensor, level: Tensor | float) -> Tensor:
    """1 where a loss (B,) is at most `level`, else 0: the examples that are easy enough by now."""
    return (loss.detach() <= level).to(loss.dtype)


def largest_kept(loss: Tensor, rate: Tensor | float) -> Tensor:
    """The largest loss that `keep_smallest` keeps: the (1 - rate) quantile of losses (B,) that are not negative."""
    return (loss.detach() * keep_smallest(loss, rate)).amax()


def disagreement(logits_a: Tensor, logits_b: Tensor) -> Tensor:
    """1 where the two predicted classes differ, else 0; (B,)."""
    return (logits_a.argmax(-1) != logits_b.argmax(-1)).to(logits_a.dtype)


def forget_rate(
    rate: Tensor | float, epoch: Tensor, ramp: int = 10, exponent: float = 1.0, form: Form = "linspace"
) -> Tensor:
    """The share forgotten in an epoch, counted from 0: it grows for `ramp` epochs and then is `rate`.

    linspace: from 0 straight to rate^exponent, both ends counted, as public code has it; with another exponent than 1
    it then jumps to `rate`. paper: rate · min(epoch^exponent / ramp, 1), which is there one epoch later.
    """
    if form == "paper":
        return rate * (epoch**exponent / max(ramp, ROUNDING)).clamp(max=1)
    growing = rate**exponent * (epoch / max(ramp - 1, 1)).clamp(max=1)
    return torch.where(epoch < ramp, growing, rate)


@dataclass(frozen=True)
class Forgetting(Method):
    """A method that learns from small losses: which share of a batch it forgets, and where it has the number from."""

    learners: ClassVar[tuple[str, ...]] = ("net",)  # made anew once the rate is estimated

    forget: float = hyper(0.2, low=0.0, high=0.9)  # the share left out once the ramp is over: the noise rate
    ramp: int = 10  # epochs
    exponent: float = 1.0  # of the ramp
    form: Form = "linspace"  # of the ramp, or paper
    first: int = 0  # the number that the ramp gives the first epoch
    rate: Rate = "given"  # or estimated: 1 - mean(diag T), by anchor points after a warm-up, in place of `forget`
    warm_up: float = 0.3  # share of the epochs for that

    def __post_init__(self) -> None:
        for name, known in (("form", get_args(Form)), ("rate", get_args(Rate))):
            if getattr(self, name) not in known:
                raise InputError(f"{name} must be {' or '.join(known)}, not {getattr(self, name)!r}")
        if min(self.ramp, self.first) < 0 or not self.exponent > 0:
            raise InputError("ramp and first are numbers of epochs, not negative, and exponent must be above 0")
        if isinstance(self.forget, float) and not 0 <= self.forget <= 1:  # in a pack it is a tensor
            raise InputError(f"forget must be a share between 0 and 1, not {self.forget}")
        if not 0 < self.warm_up < 1:
            raise InputError(f"warm_up must lie between 0 and 1, not {self.warm_up}")
        if self.rate == "given":
            check_unused(self, "warm_up", "rate=estimated")

    @property
    def coupled(self) -> bool:
        """Losses are ranked within the batch."""
        return True

    def informed(self, noise_rate: float) -> Self:
        """Forget as many as are wrong, unless that is to be estimated."""
        return replace(self, forget=noise_rate) if self.rate == "given" else self

    def forgotten(self, ctx: Context) -> Tensor:
        """The share that is left out of a batch of the present epoch."""
        rate = self.forget if self.rate == "given" else ctx.aux["rate"]
        return forget_rate(rate, ctx.epoch + self.first, self.ramp, self.exponent, self.form)

    def stages(self) -> tuple[Stage, ...]:
        """One; where the rate is estimated, before it one that forgets nothing, whose networks are then made anew."""
        if self.rate == "given":
            return super().stages()
        everything = replace(self, forget=0.0, rate="given", warm_up=Forgetting.warm_up)
        return (
            Stage("warm-up", self.warm_up, everything, carry="best"),
            Stage("train", 1 - self.warm_up, self, before=wrong_share, restart=self.learners),
        )


def can_estimate(method: Method) -> bool:
    """Whether a method could find the noise rate itself, with the settings that it has."""
    try:
        return isinstance(method, Forgetting) and bool(replace(method, rate="estimated"))
    except InputError:
        return False


def wrong_share(snapshot: Snapshot) -> dict[str, Tensor]:
    """The rate of wrong labels as a first network's anchor points have it: 1 - mean(diag T)."""
    return {"rate": 1 - anchor_matrix(snapshot, "auto")["T"].diagonal().mean()}
