"""Bi-tempered logistic loss, bounded and with a heavy tail.

Fidelity: the normaliser is exact to rounding error, by 10 steps of Newton's method; the preset `official` has the 5
fixed-point steps of the authors' code. The default temperatures are the middle of the grid of Englesson et al.,
Logistic-normal likelihoods for heteroscedastic label noise, TMLR 2023.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.bi_tempered import bi_tempered, check_settings
from labelnoise.losses.normalisers import check_classes
from labelnoise.losses.tempered import tempered_log_softmax
from labelnoise.methods.base import Method, hyper, register
from labelnoise.types import Batch, Context, DataSpec, Nets, Terms


@register("bi_tempered")
@dataclass(frozen=True)
class BiTempered(Method):
    """Far outliers cost little (t1 < 1), near ones move the boundary less (t2 > 1): -log_t1 P_y, P = exp_t2(a - λ)."""

    paper: ClassVar[str] = "Amid et al., Robust bi-tempered logistic loss based on Bregman divergences, NeurIPS 2019"
    presets: ClassVar = {"official": {"normaliser": "fixed_point", "iterations": 5}}

    t1: float = hyper(0.7, low=0.3, high=1.0)
    t2: float = hyper(2.0, low=1.0, high=4.0)
    smoothing: float = 0.0  # share of a label that goes to the other classes
    normaliser: str = "newton"  # or fixed_point, for t2 of at least 1, or bisection
    iterations: int = 0  # of the normaliser; 0: as many as it needs

    def __post_init__(self) -> None:
        check_settings(self.t1, self.t2, self.smoothing, self.normaliser)
        if self.iterations < 0:
            raise InputError(f"iterations must be at least 1, or 0 for as many as are needed, not {self.iterations}")

    def networks(self, spec: DataSpec) -> dict[str, Any]:
        """One network, where t2 suits so many classes."""
        check_classes(self.t2, spec.classes)
        return super().networks(spec)

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Mean bi-tempered loss."""
        settings = (self.t1, self.t2, self.smoothing)
        loss = bi_tempered(
            nets["net"](batch.x), batch.y, *settings, normaliser=self.normaliser, iterations=self.iterations
        )
        return Terms(loss.mean())

    def log_probs(self, nets: Nets, x: Tensor, ctx: Context) -> Tensor:
        """Log of the tempered softmax, which orders classes as the logits do; always the exact one."""
        return tempered_log_softmax(nets["net"](x), self.t2)
