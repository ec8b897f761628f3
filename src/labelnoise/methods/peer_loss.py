"""Peer loss: agreement with a label counts only as far as it exceeds agreement with a stranger's label.

Fidelity: 1e-5 inside the logarithm as in the authors' code, which bounds the subtracted term; a constant alpha, where
that code raises it over the epochs and divides the learning rate by 1 + alpha.
"""

from dataclasses import dataclass
from typing import ClassVar

from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.methods.base import Method, hyper, register
from labelnoise.types import Batch, Context, Nets, Terms

EPS = 1e-5


@register("peer_loss")
@dataclass(frozen=True)
class PeerLoss(Method):
    """No noise rates needed: l(f(x), y) - alpha · l(f(x'), y''), where x' and y'' come from unrelated examples."""

    paper: ClassVar[str] = (
        "Liu and Guo, Peer loss functions: learning from noisy labels without knowing noise rates, ICML 2020"
    )

    alpha: float = hyper(1.0, low=0.0, high=2.0)

    @property
    def peers(self) -> int:
        """One batch for the inputs, another for the labels."""
        return 2

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Mean loss on the pairs that belong together, minus alpha times that on pairs that do not."""
        inputs, labels = ctx.peers
        fit = cross_entropy(nets["net"](batch.x), batch.y, EPS)
        blind = cross_entropy(nets["net"](inputs.x), labels.y, EPS)
        loss = fit.mean() - (self.alpha * blind).mean()
        return Terms(loss, logs={"fit": fit.mean().detach(), "blind": blind.mean().detach()})
