"""Distillation: a teacher learns from the given labels by any method, and a student from its predictions alone.

Fidelity: only the soft term, without the factor temperature², as the paper has it; the teacher handed over is the best
on noisy validation. What smoothing or correction "on the student" means the paper leaves open: here the teacher's
predictions are smoothed, or the student's mixed, by alpha / K.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, get_args

from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.distillation import OnStudent, distilled
from labelnoise.methods.base import Method, Stage, check_unused, hyper, register
from labelnoise.methods.notation import from_text, to_text, told
from labelnoise.methods.wrapped import Wrapped
from labelnoise.rng import Rng
from labelnoise.types import Batch, Context, DataSpec, Nets, Terms


@register("distillation")
@dataclass(frozen=True)
class Distillation(Method):
    """A second network forgets what the first has memorised: -Σ_k softmax(z_teacher / t)_k log softmax(z / t)_k."""

    paper: ClassVar[str] = "Lukasik et al., Does label smoothing mitigate label noise?, ICML 2020"
    nested: ClassVar[tuple[str, ...]] = ("teacher",)
    presets: ClassVar = {
        "vanilla": {"teacher": "ce"},
        "smoothing_on_student": {"teacher": "ce", "on_student": "smoothing"},
        "forward_on_student": {"teacher": "ce", "on_student": "forward"},
        "forward_on_teacher": {"teacher": "forward(preset=smoothing)"},
    }

    teacher: str = "label_smoothing"  # a method by name, with settings in brackets: gce(q=0.5)
    temperature: float = hyper(2.0, low=1.0, high=8.0)
    on_student: OnStudent = "none"
    alpha: float = 0.1  # of what is done on the student
    share: float = 0.5  # of the epochs, for the teacher

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise InputError(f"share must lie between 0 and 1, not {self.share}")
        if self.on_student not in get_args(OnStudent):
            raise InputError(f"on_student must be none, smoothing or forward, not {self.on_student!r}")
        if not 0 <= self.alpha < 1:
            raise InputError(f"alpha must be at least 0 and below 1, not {self.alpha}")
        if isinstance(self.temperature, float) and not self.temperature > 0:  # in a pack it is a tensor
            raise InputError(f"temperature must be above 0, not {self.temperature}")
        if self.on_student == "none":
            check_unused(self, "alpha", "on_student=smoothing or forward")
        from_text(self.teacher)

    def networks(self, spec: DataSpec) -> dict[str, Any]:
        """The teacher's, under names that begin with `teacher.`, and the student."""
        return {**self._teacher.networks(spec), "net": spec.net(spec.classes)}

    def draws(self, spec: DataSpec, size: int, rng: Rng) -> dict[str, Tensor]:
        """What the teacher needs to predict: one row, which all examples share."""
        return self._teacher.draws(spec, 1, rng)

    def stages(self) -> tuple[Stage, ...]:
        """The teacher's stages, then the student's."""
        taught = [replace(stage, share=self.share * stage.share) for stage in self._teacher.stages()]
        best = replace(taught[-1], carry="best")
        return (*taught[:-1], best, Stage("student", 1 - self.share, self, trains=("net",)))

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Mean cross-entropy between the softened predictions of teacher and student."""
        teacher = self._teacher.log_probs(nets, batch.x, ctx).detach()
        loss = distilled(nets["net"](batch.x), teacher, self.temperature, alpha=self.alpha, on_student=self.on_student)
        return Terms(loss.mean())

    def informed(self, noise_rate: float) -> Self:
        """With a teacher that is told the rate."""
        return replace(self, teacher=told(self.teacher, noise_rate))

    def settled(self) -> Self:
        """With a teacher whose files are replaced by what is in them."""
        return replace(self, teacher=to_text(from_text(self.teacher).settled()))

    @property
    def _teacher(self) -> Method:
        return Wrapped("teacher.", from_text(self.teacher))
