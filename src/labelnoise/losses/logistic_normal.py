"""The Logistic-Normal likelihood: a smoothed label has normal logits, with a spread that depends on the input.

Englesson, Mehrpanah and Azizpour, Logistic-normal likelihoods for heteroscedastic label noise, TMLR 2023.
Fidelity: constants that no weight moves are left out, where the authors' code logs the density on the simplex: that is
`constants="simplex"`. Only λ/τ matters to the likelihood; τ alone acts through initialisation and learning rate. A
head whose c is 0 stays there, for the gradient is 0 too: never begin with zero weights.
"""

import math

from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.base import Loss, widened
from labelnoise.losses.label_logits import label_residual, log_volume
from labelnoise.losses.normal import normal_nll, scale_width

CONSTANTS = ("none", "gaussian", "simplex")
SMALLEST_FLOOR = 1e-3


def logistic_normal_nll(
    mu: Tensor,
    c: Tensor,
    target: Tensor,
    *,
    tau: float | Tensor,
    lam: float | Tensor,
    smoothing: float = 0.01,
    covariance: str = "full",
    dummy: bool = True,
) -> Tensor:
    """Minus the log-likelihood of each label, (B,), up to constants: 0 where mu meets the label and c is 0."""
    residual = label_residual(mu, target, tau=tau, smoothing=smoothing, dummy=dummy)
    return normal_nll(residual, widened(c), lam, covariance)


def check_settings(tau: float | Tensor, lam: float | Tensor, smoothing: float, covariance: str) -> None:
    """Refuse what makes no likelihood; inside a pack tau and lam are tensors, and were looked at before."""
    if not isinstance(tau, Tensor) and not 0 < tau < math.inf:
        raise InputError(f"the temperature must be a number above 0, not {tau}")
    if not isinstance(lam, Tensor) and not SMALLEST_FLOOR <= lam < math.inf:
        raise InputError(f"the floor must be a number of at least {SMALLEST_FLOOR}, not {lam}")
    if not 0 < smoothing < 1:
        raise InputError(f"smoothing must be above 0 and below 1, not {smoothing}")
    scale_width(covariance, 1)


class LogisticNormalLoss(Loss):
    """Labels as noisy points in logit space; an input whose label looks wrong widens its spread; for outputs (mu, c).

    `constants` adds what makes the value a density: of the label's logits ("gaussian") or on the simplex ("simplex").

    >>> import torch
    >>> mu, c, target = torch.tensor([[0.2, -0.1, 0.4]]), torch.tensor([[0.3, -0.5, 0.1]]), torch.tensor([1])
    >>> round(LogisticNormalLoss(tau=0.5, lam=0.5)((mu, c), target).item(), 4)
    9.9266
    """

    def __init__(
        self,
        tau: float = 0.5,
        lam: float = 0.5,
        smoothing: float = 0.01,
        *,
        covariance: str = "full",
        dummy: bool = True,
        constants: str = "none",
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        check_settings(tau, lam, smoothing, covariance)
        if constants not in CONSTANTS:
            raise InputError(f"constants must be 'none', 'gaussian' or 'simplex', not {constants!r}")
        self.tau, self.lam, self.smoothing = tau, lam, smoothing
        self.covariance, self.dummy, self.constants = covariance, dummy, constants

    def per_example(self, output: tuple[Tensor, Tensor], target: Tensor) -> Tensor:
        """The loss of each example, (B,), from mu (B, d) and c; d is K, or K - 1 without dummy class."""
        (mu, c), d = output, output[0].shape[-1]
        residual = label_residual(mu, target, tau=self.tau, smoothing=self.smoothing, dummy=self.dummy)
        loss = normal_nll(residual, widened(c), self.lam, self.covariance)
        if self.constants == "none":
            return loss
        scale = 1.0 if self.covariance == "identity" else self.lam
        gaussian = loss + d * (math.log(2 * math.pi) / 2 + math.log(scale))
        if self.constants == "gaussian":
            return gaussian
        volume = log_volume(target, d + 1, self.smoothing, self.dummy) - d * math.log(self.tau)
        return gaussian + volume + math.log(d + 1) / 2
