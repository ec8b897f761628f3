"""Logistic-Normal: labels as normal points in logit space, with a spread that depends on the input.

Fidelity: the authors' code also predicts the dummy class, so that an input whose mu is negative throughout counts as an
error; here it is dropped. That code smooths by 0.01, and on Clothing1M by 0.1 (preset `clothing1m`), where the paper
gives no number; on MNIST its figures agree better with 0.1. As in that code mu is divided by the temperature to
predict, which §3.4 of the paper leaves out.
Gradients are steep where the floor is small: temperature · C / floor² at the start, with C = 7 for ten classes.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from torch import Tensor, nn
from torch.nn.functional import pad

from labelnoise.losses.base import log_softmax, widened
from labelnoise.losses.label_logits import label_residual
from labelnoise.losses.logistic_normal import check_settings, logistic_normal_nll
from labelnoise.losses.residuals import squared_residuals
from labelnoise.methods.base import Method, hyper, register
from labelnoise.nets.heads import LogisticNormalHead
from labelnoise.types import Batch, Context, DataSpec, Nets, Terms

TINY = 1e-12  # a squared residual below which a label is met


@register("logistic_normal")
@dataclass(frozen=True)
class LogisticNormal(Method):
    """Doubts labels far from its prediction, by input: -log N(label's logits · temperature; mu, (c cᵀ + floor)²)."""

    paper: ClassVar[str] = (
        "Englesson, Mehrpanah and Azizpour, Logistic-normal likelihoods for heteroscedastic label noise, TMLR 2023"
    )
    presets: ClassVar = {"clothing1m": {"smoothing": 0.1}}

    temperature: float = hyper(0.5, low=0.1, high=1.0)
    floor: float = hyper(0.5, low=0.1, high=1.0, log=True)  # residuals below it are not attenuated; none for identity
    smoothing: float = 0.01
    covariance: str = "full"  # or diagonal, isotropic, identity
    dummy: bool = True  # a category that no label has, by which all classes are treated alike

    def __post_init__(self) -> None:
        check_settings(self.temperature, self.floor, self.smoothing, self.covariance)

    def networks(self, spec: DataSpec) -> dict[str, nn.Module]:
        """One network that returns mu and c."""
        head = partial(LogisticNormalHead, classes=spec.classes, covariance=self.covariance, dummy=self.dummy)
        return {"net": spec.net(head)}

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Mean negative log-likelihood, up to constants."""
        mu, c = nets["net"](batch.x)
        settings: dict[str, Any] = {"smoothing": self.smoothing, "covariance": self.covariance, "dummy": self.dummy}
        return Terms(logistic_normal_nll(mu, c, batch.y, tau=self.temperature, lam=self.floor, **settings).mean())

    def log_probs(self, nets: Nets, x: Tensor, ctx: Context) -> Tensor:
        """Those of mu / temperature over the K classes, for which c is not needed."""
        mu, _ = nets["net"](x)
        logits = widened(mu) / self.temperature
        return log_softmax(logits if self.dummy else pad(logits, (0, 1)))

    def examine(self, nets: Nets, batch: Batch, ctx: Context) -> dict[str, Tensor]:
        """Powers of ten of squared residuals in logit space, as they are and weighed by the learnt covariance."""
        mu, c = nets["net"](batch.x)
        residual = label_residual(mu, batch.y, tau=self.temperature, smoothing=self.smoothing, dummy=self.dummy)
        plain, weighted = squared_residuals(residual, c, self.floor, self.covariance)
        return {"residual": plain.clamp(min=TINY).log10(), "weighted": weighted.clamp(min=TINY).log10()}
