"""How CausalNL thinks that an input and its given label came about: a cause z and the true label make both.

Yao et al., Instance-dependent label-noise learning under a structural causal model, NeurIPS 2021.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor, nn

from labelnoise.errors import InputError
from labelnoise.losses.evidence import reparametrised
from labelnoise.losses.evidence_bound import EvidenceBound, Generated, check_choices
from labelnoise.losses.label_sample import every_label, matched
from labelnoise.nets.causal_images import ImageDecoder, ImageTrunk, image_plan
from labelnoise.nets.causal_tables import TableDecoder, TableTrunk
from labelnoise.rng import Rng
from labelnoise.types import DataSpec

Noise = Literal["normal", "uniform"]
TInput = Literal["reconstruction", "input"]
Output = Literal["auto", "sigmoid", "linear"]
PLANE, LARGE = (2,), (224, 224)  # shapes of points, and of the largest images
POINT_WIDTH, TABLE_WIDTH = 5, 128
MOST = 20.0  # a log-variance either way: its exponential must stay finite


class LatentEncoder(nn.Module):
    """q(z | y, x): mean and log-variance, linear in the features of a trunk, then `activation`."""

    def __init__(self, trunk: ImageTrunk | TableTrunk, latent: int, activation: nn.Module) -> None:
        super().__init__()
        self.trunk, self.activation = trunk, activation
        self.mean, self.log_variance = nn.Linear(trunk.features, latent), nn.Linear(trunk.features, latent)

    def forward(self, x: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        """Both (B, J)."""
        features = self.trunk(x, label)
        mean, log_variance = (self.activation(head(features)) for head in (self.mean, self.log_variance))
        return mean, log_variance.clamp(-MOST, MOST)


class LabelDecoder(nn.Module):
    """P(given | y, x): logits, linear in the features of a trunk."""

    def __init__(self, trunk: ImageTrunk | TableTrunk, classes: int) -> None:
        super().__init__()
        self.trunk, self.head = trunk, nn.Linear(trunk.features, classes)

    def forward(self, x: Tensor, label: Tensor) -> Tensor:
        """(B, K)."""
        logits: Tensor = self.head(self.trunk(x, label))
        return logits


class Generator(nn.Module):
    """Z-encoder, X-decoder and T-decoder: convolutions for images of 28, 32 and 224 pixels, else small MLPs.

    `squashed` ends the reconstruction in a sigmoid, which suits inputs on [0, 1] and no others. `from_input` lets the
    T-decoder read the input itself, not its reconstruction.
    """

    row_wise: ClassVar[bool] = True  # processes that train together may share the rows

    def __init__(
        self, shape: tuple[int, ...], classes: int, latent: int, *, squashed: bool, from_input: bool = False
    ) -> None:
        super().__init__()
        self.classes, self.latent, self.from_input = classes, latent, from_input
        self.output = nn.Sigmoid() if squashed else nn.Identity()
        bent = nn.ELU() if shape == PLANE else nn.Identity()
        self.z_encoder = LatentEncoder(_trunk(shape, classes), latent, bent)
        self.x_decoder = _decoder(shape, latent + classes)
        self.t_decoder = LabelDecoder(_trunk(shape, classes), classes)

    def forward(self, x: Tensor, label: Tensor, noise: Tensor) -> Generated:
        """All of it for inputs (B, ...), labels (M, K) and the noise of z (B, J); M is B or a multiple of it."""
        x, noise, label = matched(x, label), matched(noise, label), label.to(x.dtype)  # labels are drawn in full floats
        mean, log_variance = self.z_encoder(x, label)
        guess = self.output(self.x_decoder(reparametrised(mean, log_variance, noise), label))
        return Generated(mean, log_variance, guess, self.t_decoder(x if self.from_input else guess, label))

    def expected(self, x: Tensor, label: Tensor) -> Generated:
        """The same with z at its mean."""
        made: Generated = self(x, label, x.new_zeros(len(x), self.latent))
        return made

    def transition(self, x: Tensor) -> Tensor:
        """P(given | true = i, x) in row i, (B, K, K), with z at its mean."""
        given = self.expected(x, every_label(self.classes, x)).noisy_logits.softmax(-1)
        return given.reshape(self.classes, len(x), self.classes).transpose(0, 1)


@dataclass(frozen=True, kw_only=True)
class Generative(EvidenceBound):
    """Which generative networks there are, and how the bound is computed with them: settings of a method."""

    latent: int = 0  # numbers in z; 0: the paper's, which is 1 for points, 100 for images of 224 pixels, else 25
    noise: Noise = "normal"  # or uniform: what z is drawn by
    t_input: TInput = "reconstruction"  # or input: what the T-decoder reads
    output: Output = "auto"  # of the reconstruction; auto: a sigmoid for images, which suits those on [0, 1] only

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choices(self, {"noise": Noise, "t_input": TInput, "output": Output})
        if self.latent < 0:
            raise InputError(f"latent must be a positive number, or 0 for the paper's, not {self.latent}")

    def generator(self, shape: tuple[int, ...], classes: int) -> Generator:
        """The networks for inputs of this shape."""
        squashed = self.output == "sigmoid" or (self.output == "auto" and len(shape) == 3)
        from_input = self.t_input == "input"
        return Generator(shape, classes, self._latent(shape), squashed=squashed, from_input=from_input)

    def drawn(self, spec: DataSpec, size: int, rng: Rng) -> dict[str, Tensor]:
        """What labels y (B, K) and causes z (B, J) are drawn by."""
        noise = rng.uniform if self.noise == "uniform" else rng.normal
        return {"y": rng.uniform(size, spec.classes), "z": noise(size, self._latent(spec.shape))}

    def _latent(self, shape: tuple[int, ...]) -> int:
        return self.latent or (1 if shape == PLANE else 100 if shape[1:] == LARGE else 25)


def _trunk(shape: tuple[int, ...], classes: int) -> ImageTrunk | TableTrunk:
    plan = image_plan(shape)
    return TableTrunk(shape, classes, _width(shape)) if plan is None else ImageTrunk(shape, classes, plan)


def _decoder(shape: tuple[int, ...], inputs: int) -> ImageDecoder | TableDecoder:
    plan = image_plan(shape)
    return TableDecoder(shape, inputs, _width(shape)) if plan is None else ImageDecoder(shape, inputs, plan)


def _width(shape: tuple[int, ...]) -> int:
    return POINT_WIDTH if shape == PLANE else TABLE_WIDTH
