"""Distillation: a student learns a teacher's softened predictions, and no labels.

Hinton, Vinyals and Dean, Distilling the knowledge in a neural network, 2015; under label noise Lukasik et al., Does
label smoothing mitigate label noise?, ICML 2020.
Fidelity: only the soft term, and no factor temperature², which the paper does not mention. What smoothing or correction
"on the student" means the paper leaves open: here the teacher's predictions are smoothed, or the student's mixed.
"""

from typing import Literal, get_args

from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.base import Loss, widened
from labelnoise.losses.smoothing import forward_smoothed, label_smoothed

OnStudent = Literal["none", "smoothing", "forward"]


def distilled(
    logits: Tensor,
    teacher_logits: Tensor,
    temperature: float | Tensor,
    alpha: float | Tensor = 0.0,
    on_student: OnStudent = "none",
) -> Tensor:
    """-Σ_k q_k log p_k of each example, (B,), q and p the softmax of the logits (B, K) over the temperature.

    On the student, "smoothing" has (1 - α) q_k + α/K for q_k, and "forward" (1 - α) p_k + α/K for p_k.
    """
    student = widened(logits) / temperature
    target = (widened(teacher_logits) / temperature).softmax(-1).detach()
    if on_student == "forward":
        return forward_smoothed(student, target, alpha)
    return label_smoothed(student, target, alpha if on_student == "smoothing" else 0.0)


class DistillationLoss(Loss):
    """Cross-entropy between the softened predictions of a teacher, given as its logits, and of the student.

    >>> import torch
    >>> student, teacher = torch.tensor([[1.0, 1.0, 0.0]]), torch.tensor([[3.0, 1.0, 0.0]])
    >>> round(DistillationLoss(temperature=2)(student, teacher).item(), 4)
    1.0281
    """

    def __init__(
        self,
        temperature: float = 2.0,
        alpha: float = 0.0,
        on_student: OnStudent = "none",
        rescale: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        if not temperature > 0:
            raise InputError(f"temperature must be above 0, not {temperature}")
        if on_student not in get_args(OnStudent):
            raise InputError(f"on_student must be 'none', 'smoothing' or 'forward', not {on_student!r}")
        if not 0 <= alpha < 1:
            raise InputError(f"alpha must be at least 0 and below 1, not {alpha}")
        if alpha and on_student == "none":
            raise InputError("alpha has no effect here, only with on_student='smoothing' or 'forward'; leave it out")
        self.temperature = temperature
        self.alpha = alpha
        self.on_student = on_student
        self.factor = temperature**2 if rescale else 1.0  # keeps gradients of the size they have at temperature 1

    def per_example(self, output: Tensor, target: Tensor) -> Tensor:
        """The loss of each example, (B,), from the logits (B, K) of the student and, as target, of the teacher."""
        return self.factor * distilled(output, target, self.temperature, self.alpha, self.on_student)
