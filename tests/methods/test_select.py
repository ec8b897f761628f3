import pytest
import torch
from torch.func import vmap

from labelnoise import methods
from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.methods.notation import from_text
from labelnoise.methods.select import (
    can_estimate,
    disagreement,
    forget_rate,
    keep_smallest,
    largest_kept,
    self_paced,
    weighted_mean,
)

LOGITS_A = [[3, 0, 0], [0, 2, 0], [0, 0, 0.5], [1.2, 1, 0], [0, 0, 4], [2, 0, 0]]
LOGITS_B = [[1, 0, 0], [0, 3, 0], [0, 0, 2], [0, 2.5, 0], [2, 0, 0], [0, 0, 1]]
A, B = torch.tensor(LOGITS_A, dtype=torch.float64), torch.tensor(LOGITS_B, dtype=torch.float64)
LABELS = torch.tensor([0, 1, 2, 0, 2, 1])

KEPT_OF_128 = {
    0.2: [128, 125, 122, 119, 116, 113, 110, 108, 105, 102, 102],
    0.3: [128, 123, 119, 115, 110, 106, 102, 98, 93, 89],
    0.4: [128, 122, 116, 110, 105, 99, 93, 88, 82, 76],
    0.45: [128, 121, 115, 108, 102, 96, 89, 83, 76, 70],
    0.5: [128, 120, 113, 106, 99, 92, 85, 78, 71, 64],
}


def epoch(number: float) -> torch.Tensor:
    return torch.tensor(number, dtype=torch.float64)


def places(weights: torch.Tensor) -> set[int]:
    return set(weights.nonzero().flatten().tolist())


@pytest.mark.parametrize(
    ("rate", "kept_a", "kept_b"), [(1 / 3, {4, 0, 1, 3}, {1, 2, 0, 5}), (1 / 2, {4, 0, 1}, {1, 2, 0})]
)
def test_keep_smallest_picks_the_published_examples(rate: float, kept_a: set[int], kept_b: set[int]) -> None:
    assert places(keep_smallest(cross_entropy(A, LABELS), rate)) == kept_a
    assert places(keep_smallest(cross_entropy(B, LABELS), rate)) == kept_b


@pytest.mark.parametrize(("rate", "loss_a", "loss_b"), [(1 / 3, 0.842097, 1.384480), (1 / 2, 0.376281, 0.961971)])
def test_mean_over_the_others_picks_is_the_published_one(rate: float, loss_a: float, loss_b: float) -> None:
    own, other = cross_entropy(A, LABELS), cross_entropy(B, LABELS)
    assert weighted_mean(own, keep_smallest(other, rate)).item() == pytest.approx(loss_a, abs=1e-6)
    assert weighted_mean(other, keep_smallest(own, rate)).item() == pytest.approx(loss_b, abs=1e-6)


def test_keep_smallest_keeps_ties_by_position() -> None:
    assert keep_smallest(torch.tensor([1.0, 0.5, 1.0, 1.0]), 0.5).tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize(("rate", "kept"), [(0.9, 1), (0.8, 2), (1.0, 1), (0.0, 10), (0.25, 7)])
def test_keep_smallest_counts_by_floor_without_rounding_slips_and_keeps_one(rate: float, kept: int) -> None:
    assert keep_smallest(torch.arange(10.0), rate).sum().item() == kept


@pytest.mark.parametrize(
    ("text", "can"),
    [
        ("co_teaching", True),
        ("causal_nl", True),
        ("mentor_net", True),
        ("mentor_net(mentor=learnt)", False),
        ("ce", False),
    ],
)
def test_which_methods_can_estimate_the_rate(text: str, can: bool) -> None:
    assert can_estimate(from_text(text)) == can


@pytest.mark.parametrize("n", [10, 128, 1000])
def test_a_rate_in_single_precision_keeps_as_many_as_the_same_number_written_out(n: int) -> None:
    rates = [hundredth / 100 for hundredth in range(100)]
    loss = torch.arange(float(n))
    kept = [keep_smallest(loss, torch.tensor(rate)).sum().item() for rate in rates]
    assert kept == [max(1, (100 - hundredth) * n // 100) for hundredth in range(100)]


def test_keep_smallest_passes_no_gradient() -> None:
    assert not keep_smallest(torch.rand(4, requires_grad=True), 0.5).requires_grad


def test_keep_smallest_has_the_dtype_of_the_loss() -> None:
    assert keep_smallest(torch.rand(4), torch.tensor(0.5, dtype=torch.float64)).dtype == torch.float32


def test_keep_smallest_leaves_out_nan_first() -> None:
    assert keep_smallest(torch.tensor([float("nan"), 3.0, 2.0]), 1 / 3).tolist() == [0, 1, 1]


def test_keep_smallest_mapped_over_rates_equals_the_loop() -> None:
    losses, rates = torch.rand(5, 8, generator=torch.Generator().manual_seed(0)), torch.linspace(0, 1, 5)
    mapped = vmap(keep_smallest)(losses, rates)
    assert torch.equal(mapped, torch.stack([keep_smallest(*pair) for pair in zip(losses, rates, strict=True)]))


def test_forget_rate_ramps_over_ten_epochs_and_stays() -> None:
    rates = [forget_rate(0.45, epoch(t)).item() for t in range(12)]
    expected = [0, 0.05, 0.10, 0.15, 0.20, 0.25, 0.30, 0.35, 0.40, 0.45, 0.45, 0.45]
    assert rates == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(("rate", "kept"), KEPT_OF_128.items())
def test_kept_of_a_batch_of_128_are_as_published(rate: float, kept: list[int]) -> None:
    losses = torch.arange(128.0)
    assert [keep_smallest(losses, forget_rate(rate, epoch(t))).sum().item() for t in range(len(kept))] == kept


def test_forget_rate_of_a_ramp_of_one_epoch_is_full_from_the_second() -> None:
    assert [forget_rate(0.3, epoch(t), 1).item() for t in range(3)] == [0, 0.3, 0.3]


def test_forget_rate_with_an_exponent_ramps_to_the_power_and_jumps_to_the_rate() -> None:
    rates = [forget_rate(0.45, epoch(t), exponent=2.0).item() for t in (0, 1, 9, 10)]
    assert rates == pytest.approx([0, 0.0225, 0.2025, 0.45], abs=1e-15)


def test_forget_rate_of_the_paper_is_full_after_as_many_epochs_as_the_ramp_has() -> None:
    rates = [forget_rate(0.45, epoch(t), form="paper").item() for t in (0, 1, 9, 10, 11)]
    assert rates == pytest.approx([0, 0.045, 0.405, 0.45, 0.45], abs=1e-15)


@pytest.mark.parametrize(
    ("exponent", "rates"), [(2.0, [0, 0.05, 0.2, 0.45, 0.5]), (0.5, [0, 0.05, 0.0707107, 0.0866025, 0.1])]
)
def test_forget_rate_of_the_paper_raises_the_epoch_to_the_exponent(exponent: float, rates: list[float]) -> None:
    found = [forget_rate(0.5, epoch(t), exponent=exponent, form="paper").item() for t in range(5)]
    assert found == pytest.approx(rates, abs=1e-7)


@pytest.mark.parametrize("form", ["linspace", "paper"])
def test_forget_rate_without_a_ramp_is_full_at_once(form) -> None:
    assert [forget_rate(0.3, epoch(t), 0, form=form).item() for t in (1, 2)] == [0.3, 0.3]


def test_forget_rate_mapped_over_rates_equals_the_loop() -> None:
    rates = torch.linspace(0, 1, 5, dtype=torch.float64)
    mapped = vmap(lambda rate: forget_rate(rate, epoch(3), exponent=0.5))(rates)
    looped = [forget_rate(rate, epoch(3), exponent=0.5).item() for rate in rates.tolist()]
    assert mapped.tolist() == pytest.approx(looped, rel=1e-14)


def test_self_paced_weights_are_one_up_to_the_level() -> None:
    losses = torch.tensor([0.2, 0.5, 0.7], requires_grad=True)
    assert self_paced(losses, 0.5).tolist() == [1, 1, 0]
    assert not self_paced(losses, 0.5).requires_grad


def test_largest_kept_is_the_level_at_which_self_paced_weights_are_the_smallest_losses() -> None:
    losses = torch.rand(20, generator=torch.Generator().manual_seed(0))
    for rate in (0.0, 0.3, 0.95):
        assert torch.equal(self_paced(losses, largest_kept(losses, rate)), keep_smallest(losses, rate))


def test_the_rules_are_public() -> None:
    for rule in (disagreement, forget_rate, keep_smallest, self_paced, weighted_mean):
        assert getattr(methods, rule.__name__) is rule


def test_disagreement_is_where_predictions_differ() -> None:
    assert places(disagreement(A, B)) == {3, 4, 5}


def test_mean_over_the_disagreement_is_the_published_one() -> None:
    differ = disagreement(A, B)
    assert weighted_mean(cross_entropy(A, LABELS), differ).item() == pytest.approx(1.008967, abs=1e-6)
    assert weighted_mean(cross_entropy(B, LABELS), differ).item() == pytest.approx(2.147666, abs=1e-6)


def test_weighted_mean_of_nothing_is_zero_with_zero_gradient() -> None:
    losses = torch.rand(4, requires_grad=True)
    mean = weighted_mean(losses, torch.zeros(4))
    assert mean.item() == 0
    assert torch.autograd.grad(mean, losses)[0].tolist() == [0, 0, 0, 0]


def test_weighted_mean_of_everything_is_the_mean() -> None:
    losses = torch.rand(7, dtype=torch.float64)
    torch.testing.assert_close(weighted_mean(losses, torch.ones(7)), losses.mean(), rtol=1e-14, atol=0)


def test_weighted_mean_with_a_floor_divides_by_no_less() -> None:
    losses, some = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([0.0, 1.0, 0.0, 0.0])
    assert weighted_mean(losses, some, floor=0.5).item() == 1.0  # 2 over half of four
    assert weighted_mean(losses, some, floor=0.1).item() == 2.0  # one example is more than a tenth
