"""Peer loss: agreement with a label counts only as far as it exceeds agreement with a stranger's label.

Fidelity: 1e-5 inside the logarithm as in the authors' code, which bounds the subtracted term. By default inputs of the
batch meet their neighbours' labels, which costs no second pass; the preset `paper` draws both anew. The preset
`official` raises alpha over the epochs as that code does on MNIST, but does not divide the learning rate by 1 + alpha.
"""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.losses.peer import EPS
from labelnoise.methods.base import hyper, register
from labelnoise.methods.paired import Paired
from labelnoise.types import Batch, Context, Nets, Terms


@register("peer_loss")
@dataclass(frozen=True)
class PeerLoss(Paired):
    """No noise rates needed: l(f(x), y) - alpha · l(f(x'), y''), where x' and y'' come from unrelated examples."""

    paper: ClassVar[str] = (
        "Liu and Guo, Peer loss functions: learning from noisy labels without knowing noise rates, ICML 2020"
    )
    presets: ClassVar = {
        "paper": {"separate": True},
        "official": {"separate": True, "warm_up": 0.4, "ramp": 0.6},
    }

    alpha: float = hyper(1.0, low=0.0, high=2.0)
    warm_up: float = 0.0  # share of the epochs with alpha 0
    ramp: float = 0.0  # share over which it then rises to its value

    def __post_init__(self) -> None:
        if min(self.warm_up, self.ramp) < 0 or self.warm_up + self.ramp > 1:
            raise InputError(f"warm_up {self.warm_up} and ramp {self.ramp} must not be negative, nor above 1 together")

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Mean loss on the pairs that belong together, minus alpha times that on pairs that do not."""
        logits = nets["net"](batch.x)
        fit = cross_entropy(logits, batch.y, EPS)
        blind = cross_entropy(*self.strangers(nets, logits, batch, ctx), EPS)
        loss = fit.mean() - (self._alpha(ctx.progress) * blind).mean()
        return Terms(loss, logs={"fit": fit.mean().detach(), "blind": blind.mean().detach()})

    def _alpha(self, progress: Tensor) -> Tensor | float:
        if not self.warm_up and not self.ramp:
            return self.alpha
        risen = (progress - self.warm_up) / max(self.ramp, 1e-12)
        return self.alpha * risen.clamp(0, 1)
