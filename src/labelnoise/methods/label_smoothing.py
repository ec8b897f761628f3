"""Label smoothing: the given label shares a little of its weight with all classes.

Fidelity: alpha is spread over all classes, the given one included, as in the paper and in PyTorch; negative values
sharpen instead, which undoes noise in expectation (backward correction is smoothing with a negative alpha).
"""

from dataclasses import dataclass
from typing import ClassVar

from labelnoise.errors import InputError
from labelnoise.losses.smoothing import label_smoothed
from labelnoise.methods.base import Method, hyper, register
from labelnoise.types import Batch, Context, Nets, Terms


@register("label_smoothing")
@dataclass(frozen=True)
class LabelSmoothing(Method):
    """Cheap and mild: (1 - alpha) · -log p_y + alpha / K · Σ_k -log p_k."""

    paper: ClassVar[str] = "Lukasik et al., Does label smoothing mitigate label noise?, ICML 2020"

    alpha: float = hyper(0.1, low=0.0, high=0.6)

    def __post_init__(self) -> None:
        if isinstance(self.alpha, float) and not self.alpha < 1:  # in a pack it is a tensor
            raise InputError(f"alpha must be below 1, not {self.alpha}")

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Mean smoothed loss."""
        return Terms(label_smoothed(nets["net"](batch.x), batch.y, self.alpha).mean())
