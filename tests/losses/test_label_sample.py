import pytest
import torch
from torch.func import vmap

from labelnoise.losses.label_sample import every_label, gumbel_softmax, matched, sampled_label

LOGITS = torch.tensor([[1.0, 0.0, -1.0]], dtype=torch.float64)
UNIFORMS = torch.tensor([[0.5, 0.2, 0.9]], dtype=torch.float64)


def random(*size, seed=0):
    return torch.rand(size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize(
    ("tau", "expected"), [(1.0, [0.488095, 0.077332, 0.434573]), (0.5, [0.550110, 0.013809, 0.436081])]
)
def test_a_soft_label_is_the_published_one(tau, expected):
    assert gumbel_softmax(LOGITS, UNIFORMS, tau)[0].tolist() == pytest.approx(expected, abs=1e-6)


def test_the_largest_entry_is_drawn_with_the_probability_of_its_class():
    drawn = gumbel_softmax(LOGITS.expand(100_000, 3), random(100_000, 3))
    shares = drawn.argmax(-1).bincount() / 100_000
    torch.testing.assert_close(shares, LOGITS[0].softmax(-1).float(), rtol=0, atol=0.005)


def test_a_hard_label_is_one_hot_where_the_soft_one_is_largest():
    logits, uniforms = 3 * random(50, 4), random(50, 4, seed=1)
    hard, soft = (gumbel_softmax(logits, uniforms, hard=hard) for hard in (True, False))
    assert torch.equal(hard, torch.eye(4, dtype=torch.float64)[soft.argmax(-1)])


def test_a_hard_label_has_the_gradient_of_the_soft_one():
    logits, weights = random(5, 4).requires_grad_(), random(5, 4, seed=2)
    grads = [
        torch.autograd.grad((weights * gumbel_softmax(logits, random(5, 4, seed=1), hard=hard)).sum(), logits)[0]
        for hard in (True, False)
    ]
    torch.testing.assert_close(grads[0], grads[1], rtol=1e-12, atol=1e-15)
    assert grads[1].abs().min() > 0


def test_uniforms_at_the_edge_give_finite_labels_and_gradients():
    logits = torch.zeros(1, 3, requires_grad=True)
    label = gumbel_softmax(logits, torch.tensor([[0.0, 0.0, 1 - 2**-24]]))
    label[0, 2].backward()
    assert label.sum().item() == pytest.approx(1)
    assert logits.grad.isfinite().all()


def test_labels_of_half_precision_logits_are_at_least_single():
    assert gumbel_softmax(LOGITS.bfloat16(), UNIFORMS.bfloat16()).dtype == torch.float32


def test_every_label_lists_the_classes_one_after_the_other():
    assert every_label(3, torch.zeros(2, 7)).tolist() == [[1, 0, 0]] * 2 + [[0, 1, 0]] * 2 + [[0, 0, 1]] * 2


def test_rows_are_matched_with_as_many_labels_as_there_are():
    x = random(2, 1, 3)
    assert torch.equal(matched(x, torch.zeros(6, 3)), torch.cat([x, x, x]))
    assert matched(x, torch.zeros(2, 3)) is x


def test_enumerated_labels_have_the_probabilities_of_their_classes_as_weights():
    logits = random(4, 3)
    label, weight = sampled_label(logits, random(4, 3), "enumerate")
    expected = torch.stack([logits.softmax(-1)[b, k] for k in range(3) for b in range(4)])
    torch.testing.assert_close(weight, expected)
    assert torch.equal(label, every_label(3, logits))


@pytest.mark.parametrize("mode", ["softmax", "enumerate"])
def test_an_expectation_over_labels_has_the_gradient_of_the_expectation(mode):
    logits, value = random(4, 3).requires_grad_(), random(3, seed=1)  # of each class
    label, weight = sampled_label(logits, random(4, 3), mode)
    (grad,) = torch.autograd.grad((weight * (label @ value)).sum(), logits)
    probs = logits.detach().softmax(-1)
    torch.testing.assert_close(grad, probs * (value - (probs @ value)[:, None]), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("mode", ["gumbel_soft", "gumbel_st", "softmax"])
def test_one_label_per_row_sums_to_one_and_counts_once(mode):
    label, weight = sampled_label(random(6, 3), random(6, 3, seed=1), mode)
    torch.testing.assert_close(label.sum(-1), torch.ones(6, dtype=torch.float64))
    assert torch.equal(weight, torch.ones(6, dtype=torch.float64))


def test_softmax_labels_are_the_probabilities_whatever_is_drawn():
    logits = random(6, 3)
    torch.testing.assert_close(sampled_label(logits, random(6, 3, seed=1), "softmax").label, logits.softmax(-1))


@pytest.mark.parametrize("mode", ["gumbel_soft", "gumbel_st", "softmax", "enumerate"])
def test_labels_mapped_over_runs_equal_the_loop(mode):
    logits, uniforms = random(3, 5, 4), random(3, 5, 4, seed=1)
    mapped = vmap(lambda a, b: sampled_label(a, b, mode))(logits, uniforms)
    for run in range(3):
        for whole, own in zip(mapped, sampled_label(logits[run], uniforms[run], mode), strict=True):
            torch.testing.assert_close(whole[run], own, rtol=1e-14, atol=0)
