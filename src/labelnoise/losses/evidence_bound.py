"""The negative evidence bound of CausalNL over a batch, in the forms of its paper and of its authors' code.

Yao et al., Instance-dependent label-noise learning under a structural causal model, NeurIPS 2021.
Fidelity: the defaults are the paper's, but for soft labels. Its weight of 0.01 on the sum over z is one of 0.02 here,
where the term is the divergence itself.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.losses.evidence import Distance, LabelPrior, gaussian_kl, label_prior, reconstruction_error
from labelnoise.losses.label_sample import LabelMode, matched, sampled_label
from labelnoise.types import Batch

Reduction = Literal["mean", "sum"]
CHOICES = {"y_mode": LabelMode, "distance": Distance, "prior_form": LabelPrior, "kl_reduction": Reduction}


class Generated(NamedTuple):
    """What generative networks make of M inputs and labels."""

    mean: Tensor  # (M, J), of z
    log_variance: Tensor  # (M, J)
    reconstruction: Tensor  # (M, ...)
    noisy_logits: Tensor  # (M, K), of the given label


Decoder = Callable[[Tensor, Tensor, Tensor], Generated]  # of inputs (B, ...), labels (M, K), noise of z (B, J)
Tensors = dict[str, Tensor]


def check_choices(settings: object, choices: Mapping[str, Any]) -> None:
    """An error where a setting is none of those that its type names."""
    for setting, kind in choices.items():
        if (value := getattr(settings, setting)) not in get_args(kind):
            raise InputError(f"{setting} must be {', '.join(get_args(kind))}, not {value!r}")


@dataclass(frozen=True, kw_only=True)
class EvidenceBound:
    """How labels are drawn and the terms of the bound computed: settings of a method."""

    y_mode: LabelMode = "gumbel_soft"  # or softmax, gumbel_st (one-hot), enumerate (all classes, exactly)
    tau: float = 1.0  # temperature of the labels drawn
    distance: Distance = "l1"  # or mse
    prior_form: LabelPrior = "softmax"  # or constant, sample
    kl_reduction: Reduction = "mean"  # or sum, over the batch

    def __post_init__(self) -> None:
        check_choices(self, CHOICES)
        if not self.tau > 0:
            raise InputError(f"tau must be above 0, not {self.tau}")
        if self.prior_form == "sample" and self.y_mode in ("gumbel_st", "enumerate"):
            raise InputError(f"one-hot labels have no entropy: prior_form sample does not go with y_mode {self.y_mode}")

    def terms(self, batch: Batch, logits: Tensor, generator: Decoder, uniforms: Tensor, noise: Tensor) -> Tensors:
        """Each term over the batch, without its weight, given the classifier's logits (B, K)."""
        label, weight = sampled_label(logits, uniforms, self.y_mode, self.tau)
        x, y, made = matched(batch.x, label), matched(batch.y, label), generator(batch.x, label, noise)
        of_rows = {
            "reconstruction": reconstruction_error(made.reconstruction, x, self.distance),
            "noisy_label": cross_entropy(made.noisy_logits, y),
            "gaussian_kl": gaussian_kl(made.mean, made.log_variance),
        }
        sums = {name: (weight * value).sum() for name, value in of_rows.items()}
        kl = {} if self.kl_reduction == "mean" else {"gaussian_kl": sums["gaussian_kl"]}
        prior = label_prior(logits, label, self.prior_form).mean()
        return {name: value / len(logits) for name, value in sums.items()} | kl | {"label_prior": prior}
