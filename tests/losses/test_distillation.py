import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.losses.distillation import DistillationLoss, distilled


def double(values: object) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


TEACHER, STUDENT = double([[3.0, 1.0, 0.0]]), double([[1.0, 1.0, 0.0]])
PREDICTED = double([0.628532, 0.231224, 0.140244]), double([0.383652, 0.383652, 0.232697])


def test_value_is_the_published_one() -> None:
    assert distilled(STUDENT, TEACHER, 2.0).item() == pytest.approx(1.028142, abs=1e-6)


def test_gradient_is_half_the_difference_of_the_predictions() -> None:
    student = STUDENT.clone().requires_grad_()
    (grad,) = torch.autograd.grad(distilled(student, TEACHER, 2.0).sum(), student)
    assert grad[0].tolist() == pytest.approx([-0.122440, 0.076214, 0.046226], abs=1e-6)


def test_smoothing_on_the_student_smooths_the_teachers_predictions() -> None:
    teacher, student = PREDICTED
    expected = -((0.9 * teacher + 0.1 / 3) * student.log()).sum()
    assert distilled(STUDENT, TEACHER, 2.0, 0.1, "smoothing").item() == pytest.approx(expected.item(), abs=1e-5)


def test_forward_on_the_student_mixes_the_students_predictions() -> None:
    teacher, student = PREDICTED
    expected = -(teacher * (0.9 * student + 0.1 / 3).log()).sum()
    assert distilled(STUDENT, TEACHER, 2.0, 0.1, "forward").item() == pytest.approx(expected.item(), abs=1e-5)


@pytest.mark.parametrize("on_student", ["none", "smoothing", "forward"])
def test_alpha_counts_only_where_something_is_done_on_the_student(on_student: str) -> None:
    plain = distilled(STUDENT, TEACHER, 2.0)
    assert torch.equal(distilled(STUDENT, TEACHER, 2.0, 0.1, on_student), plain) == (on_student == "none")
    torch.testing.assert_close(distilled(STUDENT, TEACHER, 2.0, 0.0, on_student), plain, rtol=1e-14, atol=0)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 10), st.floats(0.5, 8))
def test_loss_is_cross_entropy_under_the_teachers_soft_labels(seed: int, K: int, temperature: float) -> None:
    rng = torch.Generator().manual_seed(seed)
    student, teacher = (3 * torch.randn(4, K, generator=rng, dtype=torch.float64) for _ in range(2))
    expected = cross_entropy(student / temperature, (teacher / temperature).softmax(-1))
    torch.testing.assert_close(distilled(student, teacher, temperature), expected, rtol=1e-12, atol=1e-12)
    assert (distilled(student, teacher, temperature) >= distilled(teacher, teacher, temperature) - 1e-12).all()


def test_log_probabilities_of_the_teacher_serve_as_its_logits() -> None:
    torch.testing.assert_close(distilled(STUDENT, TEACHER.log_softmax(-1), 2.0), distilled(STUDENT, TEACHER, 2.0))


def test_the_teacher_is_a_constant_to_the_gradient() -> None:
    teacher = TEACHER.clone().requires_grad_()
    assert not distilled(STUDENT, teacher, 2.0).requires_grad


def test_rescaling_multiplies_by_the_squared_temperature() -> None:
    plain, rescaled = (DistillationLoss(3.0, rescale=rescale)(STUDENT, TEACHER) for rescale in (False, True))
    torch.testing.assert_close(rescaled, 9 * plain)


def test_module_refuses_a_temperature_of_zero() -> None:
    with pytest.raises(InputError, match="temperature must be above 0, not 0"):
        DistillationLoss(0)


def test_module_refuses_an_unknown_change_of_the_student() -> None:
    with pytest.raises(InputError, match="'none', 'smoothing' or 'forward', not 'backward'"):
        DistillationLoss(on_student="backward")
