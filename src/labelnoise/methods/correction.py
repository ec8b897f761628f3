"""What the corrections by a transition matrix share: where T comes from, and the stages that this takes."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.correction import mixed_log_probs
from labelnoise.methods.base import Method, Stage, check_unused
from labelnoise.methods.ce import CE
from labelnoise.noise.grammar import read_matrix
from labelnoise.noise.matrix import TransitionMatrix, random_redraw
from labelnoise.transition import Quantile, estimate_anchor
from labelnoise.transition.anchor import check_quantile
from labelnoise.types import Context, DataSpec, Nets, Snapshot

ESTIMATED, SYMMETRIC = "estimated", "symmetric"
LEAST_KEPT = 0.01  # of the largest singular value; published noise keeps a tenth


def anchor_matrix(snapshot: Snapshot, quantile: Quantile) -> dict[str, Tensor]:
    """T from a first network's posteriors on the training set."""
    return {"T": estimate_anchor(snapshot.probs, snapshot.labels, quantile=quantile)}


def bounded_inverse(T: Tensor) -> Tensor:
    """T⁻¹ in float64; a direction in which an estimate keeps less than a hundredth is given up, not blown up."""
    inverse: Tensor = torch.linalg.pinv(T.double(), rtol=LEAST_KEPT)
    return inverse


@dataclass(frozen=True, kw_only=True)
class WithMatrix(Method):
    """A method that knows T: estimated by a first network, written in a setting, or read from a file."""

    words: ClassVar[tuple[str, ...]] = (ESTIMATED,)  # what stands for a matrix without being one

    matrix: str = ESTIMATED  # or a .csv file, or rows such as .9 .1; .2 .8

    def __post_init__(self) -> None:
        if ";" not in self.matrix and not self.matrix.endswith(".csv") and self.matrix not in self.words:
            raise InputError(f"matrix must be {', '.join(self.words)}, a .csv file or rows, not {self.matrix!r}")
        if ";" in self.matrix:
            self._rows()

    def networks(self, spec: DataSpec) -> dict[str, Any]:
        """One network; a known T must have its number of classes."""
        if self.matrix != ESTIMATED:
            self.known(spec.classes)
        return super().networks(spec)

    def settled(self) -> Self:
        """With the rows of a file instead of its path."""
        if self.matrix in self.words or ";" in self.matrix:
            return self
        rows = read_matrix(Path(self.matrix)).probs.tolist()
        return replace(self, matrix="; ".join(" ".join(map(str, row)) for row in rows))

    def known(self, classes: int) -> Tensor:
        """T (K, K) as the setting has it."""
        T = self._rows()
        if T.classes != classes:
            raise InputError(f"the setting matrix is for {T.classes} classes, but the data have {classes}")
        return T.probs

    def found(self, snapshot: Snapshot, quantile: Quantile) -> Tensor:
        """T, known or from a first network's posteriors on the training set."""
        if self.matrix == ESTIMATED:
            return anchor_matrix(snapshot, quantile)["T"]
        return self.known(snapshot.probs.shape[1]).to(snapshot.probs.device)

    def _rows(self) -> TransitionMatrix:
        try:
            return TransitionMatrix.from_rows([row.split() for row in self.settled().matrix.split(";")])
        except InputError as problem:
            raise InputError(f"the setting matrix cannot be used: {problem}") from None


@dataclass(frozen=True)
class Corrected(WithMatrix):
    """A loss corrected by T, which may also be symmetric with a free alpha: (1 - alpha) I + alpha / K."""

    words: ClassVar = (ESTIMATED, SYMMETRIC)

    alpha: float = 0.1  # of the symmetric matrix
    warm_up: float = 0.3  # share of the epochs for the network that T is estimated from
    quantile: Quantile = "auto"  # below which anchors are looked for
    noisy_validation: bool = True  # noisy labels are compared with p @ T rather than with p

    presets: ClassVar = {"smoothing": {"matrix": SYMMETRIC, "alpha": 0.1, "noisy_validation": False}}

    def __post_init__(self) -> None:
        if not 0 < self.warm_up < 1:
            raise InputError(f"warm_up must lie between 0 and 1, not {self.warm_up}")
        if not 0 <= self.alpha < 1:
            raise InputError(f"alpha must be at least 0 and below 1, not {self.alpha}")
        super().__post_init__()
        check_quantile(self.quantile)
        if self.matrix != SYMMETRIC:
            check_unused(self, "alpha", "matrix=symmetric")
        if self.matrix != ESTIMATED:
            check_unused(self, "warm_up", "matrix=estimated")
            check_unused(self, "quantile", "matrix=estimated")

    def stages(self) -> tuple[Stage, ...]:
        """Cross-entropy to estimate T, then a new network with the corrected loss; that alone where T is known."""
        if self.matrix != ESTIMATED:
            return (Stage("corrected", 1.0, self, before=self.estimate),)
        return (
            Stage("warm-up", self.warm_up, CE(), carry="best"),
            Stage("corrected", 1 - self.warm_up, self, before=self.estimate, restart=("net",)),
        )

    def estimate(self, snapshot: Snapshot) -> dict[str, Tensor]:
        """T, for `ctx.aux`."""
        return {"T": self.found(snapshot, self.quantile)}

    def known(self, classes: int) -> Tensor:
        """T (K, K) as the settings have it."""
        return random_redraw(classes, self.alpha).probs if self.matrix == SYMMETRIC else super().known(classes)

    def noisy_log_probs(self, nets: Nets, x: Tensor, ctx: Context) -> Tensor:
        """log(p @ T), or log p where validation is to use that."""
        log_probs = self.log_probs(nets, x, ctx)
        return mixed_log_probs(log_probs, ctx.aux["T"]) if self.noisy_validation and "T" in ctx.aux else log_probs
