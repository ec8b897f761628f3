"""f-divergence maximisation: predictions are to depend on the given labels as much as an f-divergence can tell.

Fidelity: activations increase (three of the authors' code decrease). By default inputs meet their neighbours' labels in
one pass, after a warm-up; the preset `paper` draws both anew. Epochs are chosen by accuracy, not by divergence.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import torch
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.base import log_softmax
from labelnoise.losses.divergences import named
from labelnoise.losses.f_divergence import correction_matrix, joint_term, product_term, variational_difference
from labelnoise.methods.base import Method, Stage, hyper, register
from labelnoise.methods.ce import CE
from labelnoise.methods.correction import anchor_matrix
from labelnoise.nets.critic import Critic
from labelnoise.types import Batch, Context, DataSpec, Nets, Snapshot, Terms

Correction = Literal["none", "uniform", "sparse", "exact"]


@register("f_divergence")
@dataclass(frozen=True)
class FDivergence(Method):
    """No noise rates needed where noise is near uniform: -(E g(p_y) - alpha E f*(g(p_y'))), y' of another example."""

    paper: ClassVar[str] = "Wei and Liu, When optimizing f-divergence is robust with label noise, ICLR 2021"
    presets: ClassVar = {"paper": {"separate": True, "warm_up": 0.0}, "official": {"separate": True, "warm_up": 0.7}}

    divergence: str = "total_variation"
    alpha: float = hyper(1.0, low=0.5, high=5.0)  # above 2.5 where many classes are labelled as another one by majority
    warm_up: float = 0.3  # share of the epochs with cross-entropy
    bias_correction: Correction = "none"  # by T, estimated from anchor points after the warm-up
    learnt: bool = False  # the variational function is a small critic's instead of a fixed one
    separate: bool = False  # inputs and labels of the second term come from two other batches

    def __post_init__(self) -> None:
        named(self.divergence)  # raises where there is none
        if self.bias_correction not in get_args(Correction):
            raise InputError(f"bias_correction must be {', '.join(get_args(Correction))}, not {self.bias_correction!r}")
        if not 0 <= self.warm_up < 1:
            raise InputError(f"warm_up must be at least 0 and below 1, not {self.warm_up}")
        if self.bias_correction != "none" and (self.learnt or not self.warm_up):
            raise InputError("a bias correction needs a warm-up and a variational function that is not learnt")

    @property
    def peers(self) -> int:
        """One batch for the inputs, another for the labels, if they are separate."""
        return 2 if self.separate else 0

    @property
    def updates(self) -> tuple[str, ...]:
        """The critic before the network, where there is one."""
        return ("critic", "net") if self.learnt else ("",)

    def networks(self, spec: DataSpec) -> dict[str, Any]:
        """The classifier, and a critic if the variational function is learnt."""
        return {"net": spec.net(spec.classes)} | ({"critic": Critic(spec.classes)} if self.learnt else {})

    def stages(self) -> tuple[Stage, ...]:
        """Cross-entropy first, unless there is no warm-up."""
        before = None if self.bias_correction == "none" else self.estimate
        last = Stage("divergence", 1 - self.warm_up, self, before=before)
        return (Stage("warm-up", self.warm_up, CE(), trains=("net",), carry="best"), last) if self.warm_up else (last,)

    def estimate(self, snapshot: Snapshot) -> dict[str, Tensor]:
        """T, and the matrix that corrects by it; a T without an inverse has its pseudo-inverse taken."""
        T = anchor_matrix(snapshot, "auto")["T"].double()
        paper_form = self.bias_correction != "exact"
        return {"T": T, "M": correction_matrix(T, self.bias_correction).to(T) if paper_form else torch.linalg.pinv(T)}

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Minus the variational difference between pairs that belong together and pairs that do not."""
        log_probs = log_softmax(nets["net"](batch.x))
        apart, labels = log_probs, batch.y.roll(1)  # a neighbour's label is an independent draw in a shuffled batch
        if self.separate:
            apart, labels = log_softmax(nets["net"](ctx.peers[0].x)), ctx.peers[1].y
        f, M = named(self.divergence), ctx.aux.get("M")
        if self.learnt:
            scores = nets["critic"](log_probs.exp(), batch.y), nets["critic"](apart.exp(), labels)
            joint, product = f.activation(scores[0]), f.composed(scores[1])
        else:
            joint, product = joint_term(log_probs, batch.y, f, M), product_term(apart, labels, f, M)
        value = variational_difference(joint, product, self.alpha)
        return Terms(-value, logs={"divergence": value.detach()})
