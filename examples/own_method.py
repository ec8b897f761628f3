"""A method of one's own in the comparison: soft bootstrapping.

python examples/own_method.py
labelnoise check examples/own_method.py
labelnoise train --methods ce,gce,examples/own_method.py
"""

from dataclasses import dataclass
from typing import ClassVar

from labelnoise import compare_methods
from labelnoise.methods import Method, hyper, register
from labelnoise.report.tables import markdown
from labelnoise.types import Batch, Context, Nets, Terms


@register("bootstrap")
@dataclass(frozen=True)
class Bootstrap(Method):
    """Trusts a label in part and its own prediction for the rest: -beta log p_y - (1 - beta) Σ_k p_k log p_k."""

    paper: ClassVar[str] = "Reed et al., Training deep neural networks on noisy labels with bootstrapping, 2015"

    beta: float = hyper(0.8, low=0.3, high=1.0)  # 1 is cross-entropy; --search looks between low and high

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Mean over the batch."""
        log_probs = nets["net"](batch.x).log_softmax(-1)
        label = log_probs.gather(1, batch.y[:, None]).squeeze(1)
        own = (log_probs.exp() * log_probs).sum(1)
        return Terms(-(self.beta * label + (1 - self.beta) * own).mean())


if __name__ == "__main__":
    comparison = compare_methods(
        "digits",
        settings={"noise": "symmetric:0.4", "methods": "ce,bootstrap", "seeds": 2, "train": {"epochs": 15}},
        out="runs/examples/own_method",
    )
    print(markdown(comparison.summary))
