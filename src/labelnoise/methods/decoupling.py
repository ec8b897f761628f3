"""Decoupling: two networks that learn only from the examples on which they disagree.

Fidelity: the mean over the disagreement; the authors' code, preset `official`, divides by no less than a tenth of the
batch. Their warm-up, in which every example counts, is a share of the epochs here, and there are no weights that
balance classes. A step without disagreement leaves weights and optimiser state untouched, since Adam would move on a
zero gradient.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from labelnoise.errors import InputError
from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.methods.base import Method, register
from labelnoise.methods.select import disagreement, weighted_mean
from labelnoise.types import Batch, Context, DataSpec, Nets, Terms


@register("decoupling")
@dataclass(frozen=True)
class Decoupling(Method):
    """Needs no noise rate: an example teaches only while the two networks predict different classes for it."""

    paper: ClassVar[str] = 'Malach and Shalev-Shwartz, Decoupling "when to update" from "how to update", NeurIPS 2017'
    presets: ClassVar = {"official": {"floor": 0.1}}

    floor: float = 0.0  # the sum is divided by no less than this share of the batch
    warm_up: float = 0.0  # share of the epochs in which every example counts

    def __post_init__(self) -> None:
        if not (0 <= self.floor <= 1 and 0 <= self.warm_up <= 1):
            raise InputError(f"floor {self.floor} and warm_up {self.warm_up} are shares: they must lie in [0, 1]")

    @property
    def coupled(self) -> bool:
        """The mean is over as many examples as the batch has disagreements."""
        return True

    @property
    def skips(self) -> bool:
        """Networks that agree on the whole batch stay as they are."""
        return True

    def networks(self, spec: DataSpec) -> dict[str, nn.Module]:
        """Two of the same kind, made independently."""
        return {"a": spec.net(spec.classes), "b": spec.net(spec.classes)}

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Both networks' mean cross-entropies over the examples whose predictions differ, in a warm-up over all."""
        logits_a, logits_b = nets["a"](batch.x), nets["b"](batch.x)
        loss_a, loss_b = cross_entropy(logits_a, batch.y), cross_entropy(logits_b, batch.y)
        differ = disagreement(logits_a, logits_b).to(loss_a.dtype)
        counts = torch.where(ctx.progress < self.warm_up, torch.ones_like(differ), differ)
        loss = weighted_mean(loss_a, counts, self.floor) + weighted_mean(loss_b, counts, self.floor)
        some = counts.amax()
        return Terms(
            loss, logs={"differ": differ.mean()}, active={"a": some, "b": some}, kept={"a": counts, "b": counts}
        )

    def log_probs(self, nets: Nets, x: Tensor, ctx: Context) -> Tensor:
        """Those of the first network."""
        logits: Tensor = nets["a"](x)
        return logits.log_softmax(-1)
