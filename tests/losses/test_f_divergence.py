from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.divergences import DIVERGENCES, Divergence, named
from labelnoise.losses.f_divergence import (
    FDivergenceLoss,
    correction_matrix,
    joint_term,
    product_term,
    variational_difference,
)
from labelnoise.losses.gce import gce
from labelnoise.noise.matrix import sparse_pairs, uniform_off_diagonal


def double(values: object) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


class World:
    """Finitely many inputs, with their probabilities, those of their labels, and a network's predictions."""

    def __init__(self, inputs: list[float], posterior: object, predicted: object) -> None:
        self.inputs, self.posterior, self.log_probs = double(inputs), double(posterior), double(predicted).log()

    def difference(self, kind: Divergence, T: Tensor | None = None, M: Tensor | None = None) -> float:
        """The exact variational difference on clean labels, or on those that T makes of them."""
        posterior = self.posterior if T is None else self.posterior @ T
        prior = (self.inputs @ posterior).expand_as(posterior)
        joint, product = joint_term(self.log_probs, posterior, kind, M), product_term(self.log_probs, prior, kind, M)
        return (self.inputs @ (joint - product)).item()

    def bias(self, kind: Divergence, flows: Tensor) -> float:
        """Σ_j e_j (E g(h_j) - E f*(g(h_j)))."""
        probs = self.log_probs.exp()
        return (self.inputs @ (kind.activation(probs) - kind.composed(probs)) @ flows).item()


BINARY = World([0.2, 0.3, 0.5], [[0.1, 0.9], [0.4, 0.6], [0.8, 0.2]], [[0.2, 0.8], [0.45, 0.55], [0.7, 0.3]])
BINARY_FLOWS = [0.3, 0.1]  # into -1, into +1
UNIFORM = World(
    [0.4, 0.35, 0.25],
    [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]],
    [[0.7, 0.2, 0.1], [0.25, 0.6, 0.15], [0.2, 0.2, 0.6]],
)
UNIFORM_FLOWS = [0.1, 0.2, 0.05]
SPARSE = World(
    [0.3, 0.25, 0.25, 0.2],
    [[0.7, 0.1, 0.1, 0.1], [0.1, 0.6, 0.2, 0.1], [0.05, 0.15, 0.7, 0.1], [0.1, 0.1, 0.2, 0.6]],
    [[0.6, 0.2, 0.1, 0.1], [0.2, 0.5, 0.2, 0.1], [0.1, 0.2, 0.6, 0.1], [0.1, 0.1, 0.2, 0.6]],
)
PAIRS = sparse_pairs(4, 0.3, 0.1)
NAMES = list(DIVERGENCES)
every_divergence = pytest.mark.parametrize("kind", DIVERGENCES.values(), ids=NAMES)

# clean difference, noisy difference, bias
IN_BINARY = {
    "total_variation": (0.04253273, 0.02551964, 0),
    "jensen_shannon": (-0.03022149, -0.04774154, -0.02960864),
    "pearson": (0.03631250, -0.00833750, -0.03012500),
    "kl": (-0.00854485, -0.05046759, -0.04534068),
    "reverse_kl": (-0.05233612, -0.08073583, -0.04933416),
    "jeffrey": (0.02271919, -0.02213764, -0.03576916),
    "squared_hellinger": (-0.23443363, -0.26549085, -0.12483068),
    "neyman": (0.01326605, -0.01419676, -0.02215640),
}
IN_UNIFORM = {
    "total_variation": (0.06918586, 0.04497081, 0),
    "jensen_shannon": (0.02344379, 0.00087792, -0.01436054),
    "pearson": (0.12247250, 0.06503681, -0.01457031),
    "kl": (-0.02001395, -0.07785817, -0.06484911),
    "reverse_kl": (0.03863047, 0.00077400, -0.02433580),
    "jeffrey": (0.11505448, 0.05778715, -0.01699826),
    "squared_hellinger": (-0.06750193, -0.10390580, -0.06002955),
    "neyman": (0.07776408, 0.03949048, -0.01105617),
}
# clean difference, noisy difference, exact bias, bias of the authors' code
IN_SPARSE = {
    "total_variation": (0.07721818, 0.05706384, 0.01073293, 0),
    "jensen_shannon": (0.04773459, 0.02971459, 0.00107383, -0.01812105),
    "pearson": (0.15146063, 0.10592500, 0.01504863, -0.01832500),
    "kl": (-0.05298118, -0.10233843, -0.07054972, -0.18963253),
}
THEOREMS = [(BINARY, BINARY_FLOWS, *row) for row in IN_BINARY.items()]
THEOREMS += [(UNIFORM, UNIFORM_FLOWS, *row) for row in IN_UNIFORM.items()]
both_theorems = pytest.mark.parametrize(
    ("world", "flows", "name", "expected"), THEOREMS, ids=[f"{len(flows)}-{name}" for _, flows, name, _ in THEOREMS]
)


@both_theorems
def test_uniform_noise_scales_the_difference_and_adds_a_bias(
    world: World, flows: list[float], name: str, expected: tuple[float, ...]
) -> None:
    kind, T = named(name), uniform_off_diagonal(flows).probs
    clean, noisy, bias = world.difference(kind), world.difference(kind, T), world.bias(kind, double(flows))
    assert (clean, noisy, bias) == pytest.approx(expected, abs=1e-8)
    assert noisy == pytest.approx((1 - sum(flows)) * clean + bias, abs=1e-12)


@both_theorems
def test_both_corrections_undo_uniform_noise(
    world: World, flows: list[float], name: str, expected: tuple[float, ...]
) -> None:
    kind, T = named(name), uniform_off_diagonal(flows).probs
    clean = world.difference(kind)
    assert world.difference(kind, T, correction_matrix(T)) == pytest.approx(clean, abs=1e-12)
    scaled = (1 - sum(flows)) * clean  # the paper leaves the factor
    assert world.difference(kind, T, correction_matrix(T, "uniform")) == pytest.approx(scaled, abs=1e-12)


@pytest.mark.parametrize(("name", "expected"), IN_SPARSE.items())
def test_sparse_noise_adds_the_published_bias(name: str, expected: tuple[float, ...]) -> None:
    kind, T = named(name), PAIRS.probs
    clean, noisy = SPARSE.difference(kind), SPARSE.difference(kind, T)
    bias = 0.0
    probs = SPARSE.log_probs.exp()
    for i, j in ((0, 1), (2, 3)):
        inside = SPARSE.inputs * SPARSE.posterior[:, [i, j]].sum(1)  # the inputs whose label is of the pair
        for target, flow in ((i, 0.1), (j, 0.3)):
            g, composed = kind.activation(probs[:, target]), kind.composed(probs[:, target])
            bias += flow * (inside @ g - inside.sum() * (SPARSE.inputs @ composed)).item()
    assert (clean, noisy, bias) == pytest.approx(expected[:3], abs=1e-8)
    assert noisy == pytest.approx(0.6 * clean + bias, abs=1e-12)


@pytest.mark.parametrize(("name", "expected"), IN_SPARSE.items())
def test_the_exact_correction_undoes_sparse_noise_and_that_of_the_code_does_not(
    name: str, expected: tuple[float, ...]
) -> None:
    kind, T = named(name), PAIRS.probs
    official = SPARSE.difference(kind, T) - SPARSE.difference(kind, T, correction_matrix(T, "sparse"))
    assert SPARSE.difference(kind, T, correction_matrix(T)) == pytest.approx(expected[0], abs=1e-8)
    assert official == pytest.approx(expected[3], abs=1e-8)
    assert abs(official - expected[2]) > 0.01


@every_divergence
@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_exact_correction_undoes_any_noise(kind: Divergence, seed: int) -> None:
    noise = torch.randn(4, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).softmax(-1)
    T = 0.5 * torch.eye(4, dtype=torch.float64) + 0.5 * noise
    corrected = SPARSE.difference(kind, T, correction_matrix(T))
    assert corrected == pytest.approx(SPARSE.difference(kind), abs=1e-10)


def test_matrices_of_the_corrections_are_the_published_ones() -> None:
    T = uniform_off_diagonal(UNIFORM_FLOWS)
    assert torch.linalg.det(T.probs).item() == pytest.approx(0.4225, abs=1e-12)
    assert correction_matrix(T)[0].tolist() == pytest.approx([1.38461538, -0.30769231, -0.07692308], abs=1e-8)
    assert correction_matrix(T, "uniform")[0].tolist() == pytest.approx([0.9, -0.2, -0.05], abs=1e-12)
    assert correction_matrix(PAIRS, "sparse")[0].tolist() == pytest.approx([0.9, -0.3, -0.1, -0.3], abs=1e-12)


JOINT_LOGITS, JOINT_LABELS = double([[2.0, 0.0, -1.0], [0.0, 1.0, 0.5]]), torch.tensor([0, 2])
PRODUCT_LOGITS, PRODUCT_LABELS = double([[1.0, 1.0, 0.0], [-1.0, 0.0, 2.0]]), torch.tensor([1, 0])
OF_BATCH = [
    -0.13620756,
    -0.11137622,
    -0.32081613,
    -0.10306458,
    -0.18504461,
    -0.31821091,
    -0.13300917,
    -0.20606808,
]


@pytest.mark.parametrize(("name", "expected"), list(zip(NAMES, OF_BATCH, strict=True)))
def test_loss_of_two_small_batches_is_the_published_one(name: str, expected: float) -> None:
    kind = named(name)
    joint = joint_term(JOINT_LOGITS.log_softmax(-1), JOINT_LABELS, kind)
    product = product_term(PRODUCT_LOGITS.log_softmax(-1), PRODUCT_LABELS, kind)
    assert -variational_difference(joint, product).item() == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(
    ("activation", "composed", "expected"),
    [
        (lambda v: v, lambda v: v + v**2 / 4 + v**3 / 16, -0.31846000),
        (lambda v: -v.exp(), lambda v: -1 - v, 0.61022604),
        (lambda v: 1 - v.exp(), lambda v: (1 - v.exp()) / v.exp(), 0.64958305),
        (lambda v: 1 - v.exp(), lambda v: 2 - 2 * (1 - v).sqrt(), 1.10356745),
    ],
    ids=["jeffrey", "reverse_kl", "squared_hellinger", "neyman"],
)
def test_four_of_the_authors_forms_have_other_losses(activation, composed, expected) -> None:
    kind = replace(named("pearson"), activation=activation, composed=composed)
    joint = joint_term(JOINT_LOGITS.log_softmax(-1), JOINT_LABELS, kind)
    product = product_term(PRODUCT_LOGITS.log_softmax(-1), PRODUCT_LABELS, kind)
    assert -variational_difference(joint, product).item() == pytest.approx(expected, abs=1e-8)


@every_divergence
def test_descent_raises_the_probability_of_the_label_and_lowers_that_of_a_strangers(kind: Divergence) -> None:
    joint, product = (z.log_softmax(-1).requires_grad_() for z in (JOINT_LOGITS, PRODUCT_LOGITS))
    loss = -variational_difference(joint_term(joint, JOINT_LABELS, kind), product_term(product, PRODUCT_LABELS, kind))
    of_joint, of_product = torch.autograd.grad(loss, (joint, product))
    assert (of_joint[[0, 1], JOINT_LABELS] < 0).all()
    assert (of_product[[0, 1], PRODUCT_LABELS] > 0).all()


# perfect, uniform and constant predictions of ten balanced classes
OBJECTIVES = {
    "total_variation": (0.342717, 0, 0),
    "jensen_shannon": (0.317874, -0.002499, -0.024023),
    "pearson": (0.875000, -0.002500, -0.025000),
    "kl": (0.568909, -0.306570, -0.331091),
    "reverse_kl": (0.532121, -0.004837, -0.036788),
    "jeffrey": (0.866963, -0.002564, -0.033037),
    "squared_hellinger": (0.460292, -0.010008, -0.108616),
    "neyman": (0.553427, -0.002379, -0.015482),
}


@pytest.mark.parametrize(("name", "expected"), OBJECTIVES.items())
def test_objective_of_ten_classes_is_the_published_one(name: str, expected: tuple[float, ...]) -> None:
    constant = torch.zeros(10, 10)
    constant[:, 0] = 1
    worlds = (
        World([0.1] * 10, torch.eye(10).tolist(), p.tolist())
        for p in (torch.eye(10), torch.full((10, 10), 0.1), constant)
    )
    assert [world.difference(named(name)) for world in worlds] == pytest.approx(expected, abs=1e-6)


def test_alpha_weighs_the_product_and_keeps_the_dtype() -> None:
    joint, product = torch.tensor([1.0, 2.0]), torch.tensor([0.5, 1.5])
    difference = variational_difference(joint, product, torch.tensor(3.0, dtype=torch.float64))
    assert difference.item() == -1.5
    assert difference.dtype == torch.float32


@every_divergence
def test_prior_as_soft_labels_is_the_average_over_sampled_products(kind: Divergence) -> None:
    """Every cyclic shift of the labels is one sample, with the histogram of the batch; all together are the prior."""
    rng = torch.Generator().manual_seed(0)
    log_probs = torch.randn(8, 3, generator=rng, dtype=torch.float64).log_softmax(-1)
    target = torch.randint(3, (8,), generator=rng)
    prior = torch.eye(3, dtype=torch.float64)[target].mean(0)
    sampled = torch.stack([product_term(log_probs, target.roll(shift), kind).mean() for shift in range(8)])
    exact = product_term(log_probs, prior.expand(8, 3), kind).mean()
    assert sampled.std() > 1e-4
    assert sampled.mean().item() == pytest.approx(exact.item(), abs=1e-12)


def test_total_variation_of_a_linear_function_is_minus_half_the_peer_loss_of_mean_absolute_error() -> None:
    linear = replace(named("total_variation"), activation=lambda v: v / 2, composed=lambda v: v / 2)
    logits, other = JOINT_LOGITS, JOINT_LABELS.roll(1)
    log_probs = logits.log_softmax(-1)
    difference = joint_term(log_probs, JOINT_LABELS, linear) - product_term(log_probs, other, linear)
    peer = gce(logits, JOINT_LABELS, 1.0) - gce(logits, other, 1.0)
    torch.testing.assert_close(difference, -peer / 2, rtol=1e-12, atol=1e-14)


@every_divergence
def test_module_pairs_each_row_with_the_label_before_it(kind: Divergence) -> None:
    logits = double([[2.0, 0.0, -1.0], [0.0, 1.0, 0.5], [1.0, 1.0, 0.0], [-1.0, 0.0, 2.0]])
    target = torch.tensor([0, 2, 1, 0])
    probs = logits.softmax(-1)
    naive = [2 * kind.composed(probs[i, target[i - 1]]) - kind.activation(probs[i, target[i]]) for i in range(4)]
    module = FDivergenceLoss(kind.name, alpha=2.0, reduction="none")
    torch.testing.assert_close(module(logits, target), torch.stack(naive), rtol=1e-12, atol=1e-12)


def test_module_with_t_weighs_all_classes_by_its_inverse() -> None:
    T, kind = uniform_off_diagonal(UNIFORM_FLOWS), named("pearson")
    inverse, probs = T.inverse(), JOINT_LOGITS.softmax(-1)
    other = JOINT_LABELS.roll(1)
    naive = [
        sum(inverse[other[i], k] * kind.composed(probs[i, k]) for k in range(3))
        - sum(inverse[JOINT_LABELS[i], k] * kind.activation(probs[i, k]) for k in range(3))
        for i in range(2)
    ]
    loss = FDivergenceLoss("pearson", T=T)(JOINT_LOGITS, JOINT_LABELS)
    torch.testing.assert_close(loss, torch.stack(naive).mean(), rtol=1e-12, atol=0)


def test_module_refuses_an_unknown_divergence() -> None:
    with pytest.raises(InputError, match="unknown divergence 'pearsons'; did you mean 'pearson'"):
        FDivergenceLoss("pearsons")


def test_an_unknown_correction_is_refused() -> None:
    with pytest.raises(InputError, match="'exact', 'uniform' or 'sparse', not 'none'"):
        correction_matrix(PAIRS, "none")
