"""f-divergence maximisation: predictions are to depend on the given labels as much as an f-divergence can tell.

Fidelity: activations increase (three of the authors' code decrease). By default inputs meet their neighbours' labels in
one pass, after a warm-up; the preset `paper` draws both anew. Epochs are chosen by accuracy, not by divergence.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.base import log_softmax
from labelnoise.losses.divergences import named
from labelnoise.losses.f_divergence import correction_matrix, joint_term, product_term, variational_difference
from labelnoise.methods.base import Stage, hyper, register
from labelnoise.methods.ce import CE
from labelnoise.methods.correction import ESTIMATED, WithMatrix, bounded_inverse
from labelnoise.methods.paired import Paired
from labelnoise.nets.critic import Critic
from labelnoise.types import Batch, Context, DataSpec, Nets, Snapshot, Terms

Correction = Literal["none", "uniform", "sparse", "exact"]


@register("f_divergence")
@dataclass(frozen=True)
class FDivergence(WithMatrix, Paired):
    """No noise rates needed where noise is near uniform: -(E g(p_y) - alpha E f*(g(p_y'))), y' of another example."""

    paper: ClassVar[str] = "Wei and Liu, When optimizing f-divergence is robust with label noise, ICLR 2021"
    presets: ClassVar = {"paper": {"separate": True, "warm_up": 0.0}, "official": {"separate": True, "warm_up": 0.7}}

    divergence: str = "total_variation"
    alpha: float = hyper(1.0, low=0.5, high=5.0)  # above 2.5 where many classes are labelled as another one by majority
    warm_up: float = 0.3  # share of the epochs with cross-entropy
    bias_correction: Correction = "none"  # by the matrix T, estimated from anchor points after the warm-up or known
    learnt: bool = False  # the variational function is a small critic's instead of a fixed one

    def __post_init__(self) -> None:
        super().__post_init__()
        named(self.divergence)  # raises where there is none
        if self.bias_correction not in get_args(Correction):
            raise InputError(f"bias_correction must be {', '.join(get_args(Correction))}, not {self.bias_correction!r}")
        if not 0 <= self.warm_up < 1:
            raise InputError(f"warm_up must be at least 0 and below 1, not {self.warm_up}")
        if self.bias_correction != "none" and (self.learnt or (self.matrix == ESTIMATED and not self.warm_up)):
            raise InputError("a bias correction needs a fixed variational function, and a matrix or a warm-up")
        if self.bias_correction == "none" and self.matrix != ESTIMATED:
            raise InputError("the matrix is for a bias correction; set bias_correction to exact")

    @property
    def updates(self) -> tuple[str, ...]:
        """The critic before the network, where there is one."""
        return ("critic", "net") if self.learnt else ("",)

    def networks(self, spec: DataSpec) -> dict[str, Any]:
        """The classifier, and a critic if the variational function is learnt."""
        return super().networks(spec) | ({"critic": Critic(spec.classes)} if self.learnt else {})

    def stages(self) -> tuple[Stage, ...]:
        """Cross-entropy first, unless there is no warm-up."""
        before = None if self.bias_correction == "none" else self.estimate
        last = Stage("divergence", 1 - self.warm_up, self, before=before)
        return (Stage("warm-up", self.warm_up, CE(), trains=("net",), carry="best"), last) if self.warm_up else (last,)

    def estimate(self, snapshot: Snapshot) -> dict[str, Tensor]:
        """T, and the matrix that corrects by it; a T near to one without an inverse has its pseudo-inverse taken."""
        T = self.found(snapshot, "auto").double()
        exact = self.bias_correction == "exact"
        return {"T": T, "M": bounded_inverse(T) if exact else correction_matrix(T, self.bias_correction).to(T)}

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Minus the variational difference between pairs that belong together and pairs that do not."""
        logits = nets["net"](batch.x)
        others, labels = self.strangers(nets, logits, batch, ctx)
        log_probs = log_softmax(logits)
        apart = log_softmax(others) if self.separate else log_probs
        f, M = named(self.divergence), ctx.aux.get("M")
        if self.learnt:
            scores = nets["critic"](log_probs.exp(), batch.y), nets["critic"](apart.exp(), labels)
            joint, product = f.activation(scores[0]), f.composed(scores[1])
        else:
            joint, product = joint_term(log_probs, batch.y, f, M), product_term(apart, labels, f, M)
        value = variational_difference(joint, product, self.alpha)
        return Terms(-value, logs={"divergence": value.detach()})
