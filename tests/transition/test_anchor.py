import numpy as np
import pytest
import torch
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.transition import estimate_anchor


def double(values: object) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


NOISY = double(
    [
        [0.55, 0.25, 0.20],
        [0.42, 0.48, 0.10],
        [0.40, 0.30, 0.30],
        [0.10, 0.80, 0.10],
        [0.20, 0.70, 0.10],
        [0.30, 0.40, 0.30],
        [0.05, 0.15, 0.80],
        [0.15, 0.10, 0.75],
        [0.30, 0.20, 0.50],
        [0.34, 0.33, 0.33],
    ]
)
T = double([[0.8, 0.2, 0.0], [0.1, 0.7, 0.2], [0.05, 0.15, 0.8]])
POSTERIORS = double([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.5, 0], [0.2, 0.3, 0.5], [0.9, 0.05, 0.05]])


def random_probs(samples: int, classes: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return (2 * torch.randn(samples, classes, generator=generator, dtype=torch.float64)).softmax(-1)


def naive(probs: Tensor, percentile: float) -> Tensor:
    """The rule by hand, with numpy's percentile."""
    rows = []
    for column in probs.numpy().T:
        allowed = np.flatnonzero(column < np.percentile(column, percentile, method="higher"))
        rows.append(probs[allowed[column[allowed].argmax()]])
    return torch.stack(rows)


def test_without_quantile_the_arg_max_rows_are_the_published_ones() -> None:
    expected = double([[0.55, 0.25, 0.20], [0.10, 0.80, 0.10], [0.05, 0.15, 0.80]])
    torch.testing.assert_close(estimate_anchor(NOISY, quantile=None), expected, rtol=1e-12, atol=0)


def test_with_quantile_the_rows_are_the_published_ones() -> None:
    expected = double([[0.40, 0.30, 0.30], [0.42, 0.48, 0.10], [0.30, 0.20, 0.50]])
    torch.testing.assert_close(estimate_anchor(NOISY, quantile=0.85), expected, rtol=1e-12, atol=0)


def test_posteriors_are_unchanged_by_the_call() -> None:
    probs = NOISY.clone()
    estimate_anchor(probs, quantile=0.85)
    assert torch.equal(probs, NOISY)


def test_exact_posteriors_with_anchors_give_t_exactly() -> None:
    torch.testing.assert_close(estimate_anchor(POSTERIORS @ T, quantile=None), T, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("quantile", [0.5, 0.85, 0.97, 0.999])
def test_quantile_agrees_with_a_naive_percentile(quantile: float) -> None:
    probs = random_probs(400, 5)
    torch.testing.assert_close(
        estimate_anchor(probs, quantile=quantile), naive(probs, 100 * quantile), rtol=1e-12, atol=0
    )


@pytest.mark.parametrize(("classes", "quantile"), [(20, 0.97), (21, None)])
def test_auto_is_97_percent_for_up_to_20_classes_and_arg_max_for_more(classes: int, quantile: float | None) -> None:
    probs = random_probs(500, classes)
    assert torch.equal(estimate_anchor(probs), estimate_anchor(probs, quantile=quantile))
    assert not torch.equal(estimate_anchor(probs, quantile=0.97), estimate_anchor(probs, quantile=None))


def test_rank_of_the_quantile_ignores_rounding() -> None:
    """0.07 * 100 is 7.000000000000001 in floating point, yet the rank is 7: six entries or fewer lie below."""
    probs = torch.stack([torch.linspace(0.1, 0.9, 101), torch.linspace(0.9, 0.1, 101)], 1).double()
    assert estimate_anchor(probs, quantile=0.07)[0, 0].item() == pytest.approx(probs[6, 0].item(), abs=1e-7)


def test_rows_sum_to_one_even_where_posteriors_do_not_quite() -> None:
    matrix = estimate_anchor(1.01 * NOISY)
    torch.testing.assert_close(matrix.sum(1), torch.ones(3, dtype=torch.float64), rtol=1e-14, atol=0)


def test_constant_column_falls_back_to_the_arg_max() -> None:
    probs = double([[0.5, 0.3, 0.2], [0.5, 0.4, 0.1], [0.5, 0.1, 0.4], [0.5, 0.2, 0.3]])
    assert torch.equal(estimate_anchor(probs, quantile=0.97)[0], probs[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_matrix_has_the_dtype_of_the_posteriors(dtype: torch.dtype) -> None:
    assert estimate_anchor(NOISY.to(dtype)).dtype == dtype


def test_labels_make_no_difference() -> None:
    assert torch.equal(estimate_anchor(NOISY, NOISY.argmax(1)), estimate_anchor(NOISY))


def test_posteriors_of_zero_and_one_keep_their_anchors_under_a_quantile() -> None:
    probs = torch.eye(3, dtype=torch.float64).repeat(50, 1)
    assert torch.equal(estimate_anchor(probs, quantile=0.97), torch.eye(3, dtype=torch.float64))


def test_a_class_whose_labels_are_mostly_wrong_has_an_anchor() -> None:
    flipped = double([[0.4, 0.6], [0.2, 0.8]])  # class 0 is never the most likely one
    probs = double([[1, 0], [0, 1], [0.5, 0.5]]) @ flipped
    torch.testing.assert_close(estimate_anchor(probs, quantile=None, strict=True), flipped, rtol=1e-12, atol=0)


@pytest.mark.parametrize(
    "column",
    [
        torch.full((60,), 0.3),  # constant
        torch.linspace(0, 1e-4, 60),  # not half a label in all
    ],
    ids=["constant", "never"],
)
def test_a_class_without_an_anchor_is_named_where_asked(column: Tensor) -> None:
    others = random_probs(60, 3) * (1 - column.double())[:, None]
    probs = torch.cat([others[:, :1], column.double()[:, None], others[:, 1:]], 1)
    with pytest.raises(InputError, match=r"class 1 has no anchor.*more examples of class 1"):
        estimate_anchor(probs, strict=True)


def test_two_classes_with_the_same_anchor_have_none() -> None:
    probs = double([[0.45, 0.45, 0.1], [0.3, 0.3, 0.4], [0.2, 0.2, 0.6], [0.1, 0.1, 0.8]])
    with pytest.raises(InputError, match="class 0 has no anchor"):
        estimate_anchor(probs, quantile=None, strict=True)


def test_a_class_of_less_than_three_percent_needs_the_arg_max() -> None:
    probs = torch.eye(2, dtype=torch.float64)[[0] * 99 + [1]]
    with pytest.raises(InputError, match=r"class 1 has no anchor.*quantile=None"):
        estimate_anchor(probs, strict=True)
    assert torch.equal(estimate_anchor(probs, quantile=None, strict=True), torch.eye(2, dtype=torch.float64))


def test_a_training_is_not_ended_by_a_class_without_an_anchor() -> None:
    untrained = torch.full((40, 4), 0.25)
    assert torch.equal(estimate_anchor(untrained), torch.full((4, 4), 0.25))


@pytest.mark.parametrize("quantile", [0.0, 97.0, -1.0, "most"])
def test_wrong_quantile_is_refused(quantile: float | str) -> None:
    with pytest.raises(InputError, match="quantile must be above 0 and at most 1, 'auto', or None"):
        estimate_anchor(NOISY, quantile=quantile)
