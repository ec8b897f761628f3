from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from torch import nn

from labelnoise.errors import InputError
from labelnoise.losses.divergences import DIVERGENCES
from labelnoise.losses.f_divergence import correction_matrix, joint_term, product_term
from labelnoise.methods import build
from labelnoise.methods.ce import CE
from labelnoise.methods.f_divergence import FDivergence
from labelnoise.testing import CHECKS, TRAIN, Silent, training
from labelnoise.types import Batch, Context, Snapshot

NETS = {"net": nn.Identity()}
# loss of joint logits [2,0,-1] (label 0), [0,1,.5] (label 2) and product logits [1,1,0] (label 1), [-1,0,2] (label 0)
PUBLISHED = {
    "total_variation": -0.13620756,
    "jensen_shannon": -0.11137622,
    "pearson": -0.32081613,
    "kl": -0.10306458,
    "reverse_kl": -0.18504461,
    "jeffrey": -0.31821091,
    "squared_hellinger": -0.13300917,
    "neyman": -0.20606808,
}


def batch(logits, labels):
    return Batch(torch.tensor(logits, dtype=torch.float64), torch.tensor(labels), torch.arange(len(labels)))


JOINT = batch([[2.0, 0, -1], [0, 1, 0.5]], [0, 2])
PEERS = (batch([[1.0, 1, 0], [-1, 0, 2]], [0, 0]), batch([[0.0, 0, 0], [0, 0, 0]], [1, 0]))
PRIOR = torch.tensor([0.3, 0.25, 0.25, 0.2], dtype=torch.float64)
CLEAN = torch.tensor([[7, 1, 1, 1], [1, 6, 2, 1], [0.5, 1.5, 7, 1], [1, 1, 2, 6]], dtype=torch.float64) / 10
H = torch.tensor([[6, 2, 1, 1], [2, 5, 2, 1], [1, 2, 6, 1], [1, 1, 2, 6]], dtype=torch.float64) / 10
RANDOM = torch.randn(10, 10, generator=torch.Generator().manual_seed(0), dtype=torch.float64) / 100
SPARSE_LOW = torch.tensor(np.kron(np.eye(5), [[0.7, 0.3], [0.1, 0.9]]))
SPARSE_HIGH = torch.tensor(np.kron(np.eye(5), [[0.4, 0.6], [0.2, 0.8]]))
UNIFORM_HIGH = 0.41 * torch.eye(10).double() + torch.tensor([5, 7, 4, 5, 6, 4, 6, 7, 8, 7]).double() / 100
SPARSE = torch.tensor([[0.7, 0.3, 0, 0], [0.1, 0.9, 0, 0], [0, 0, 0.7, 0.3], [0, 0, 0.1, 0.9]], dtype=torch.float64)


def exact_value(divergence, posterior, aux):
    """The variational difference when x, y and y' take all their values, each with its probability."""
    method, value = FDivergence(divergence, separate=True, warm_up=0.0), 0.0
    marginal = PRIOR @ posterior
    for x, y in product(range(4), repeat=2):
        pair = Batch(H[x : x + 1].log(), torch.tensor([y]), torch.zeros(1))
        ctx = Context(peers=(pair, pair), aux=aux)
        both = -method.objective(NETS, pair, ctx).loss.item()
        composed = (
            -(FDivergence(divergence, 2.0, separate=True, warm_up=0.0).objective(NETS, pair, ctx).loss.item()) - both
        )
        value += (PRIOR[x] * posterior[x, y] * (both - composed) + PRIOR[x] * marginal[y] * composed).item()
    return value


@pytest.mark.parametrize(("divergence", "loss"), PUBLISHED.items())
def test_objective_is_the_published_one(divergence, loss) -> None:
    method = FDivergence(divergence, separate=True)
    found = method.objective(NETS, JOINT, Context(peers=PEERS)).loss
    assert found.item() == pytest.approx(loss, abs=1e-8)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_belonging_together_is_rewarded_and_its_opposite_punished(divergence) -> None:
    better = JOINT._replace(x=JOINT.x + torch.tensor([[1.0, 0, 0], [0, 0, 1]]))
    worse = (PEERS[0]._replace(x=PEERS[0].x + torch.tensor([[0.0, 1, 0], [1, 0, 0]])), PEERS[1])
    method = FDivergence(divergence, separate=True)
    loss = method.objective(NETS, JOINT, Context(peers=PEERS)).loss
    assert method.objective(NETS, better, Context(peers=PEERS)).loss < loss
    assert method.objective(NETS, JOINT, Context(peers=worse)).loss > loss


def test_in_one_pass_each_input_meets_its_neighbours_label() -> None:
    shared = FDivergence("pearson").objective(NETS, JOINT, Context()).loss
    neighbours = (JOINT, batch([[0.0, 0, 0], [0, 0, 0]], [2, 0]))
    apart = FDivergence("pearson", separate=True).objective(NETS, JOINT, Context(peers=neighbours)).loss
    torch.testing.assert_close(shared, apart)


@pytest.mark.parametrize(
    ("divergence", "clean", "noisy"),
    [
        ("total_variation", 0.07721818, 0.05706384),
        ("jensen_shannon", 0.04773459, 0.02971459),
        ("pearson", 0.15146063, 0.10592500),
        ("kl", -0.05298118, -0.10233843),
    ],
)
def test_the_exact_correction_gives_the_clean_value_under_sparse_noise(divergence, clean, noisy) -> None:
    assert exact_value(divergence, CLEAN, {}) == pytest.approx(clean, abs=1e-8)
    assert exact_value(divergence, CLEAN @ SPARSE, {}) == pytest.approx(noisy, abs=1e-8)
    corrected = {"M": correction_matrix(SPARSE)}
    assert exact_value(divergence, CLEAN @ SPARSE, corrected) == pytest.approx(clean, abs=1e-8)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_the_uniform_correction_leaves_the_clean_value_but_for_a_factor(divergence) -> None:
    e = torch.tensor([0.1, 0.2, 0.05, 0.05], dtype=torch.float64)
    T = 0.6 * torch.eye(4).double() + e
    corrected = exact_value(divergence, CLEAN @ T, {"M": correction_matrix(T, "uniform")})
    assert corrected == pytest.approx(0.6 * exact_value(divergence, CLEAN, {}), abs=1e-12)


@pytest.mark.parametrize("correction", ["uniform", "sparse", "exact"])
def test_a_matrix_without_an_inverse_does_not_end_the_training(correction) -> None:
    method = FDivergence(bias_correction=correction)
    aux = method.estimate(Snapshot(torch.full((12, 4), 0.25).double(), torch.zeros(12), 0.3))
    assert aux["M"].isfinite().all()


def climbed(start, joint, product, steps=1000):
    """How many of ten inputs, one of each class, a free table of logits gets right by plain gradient ascent."""
    logits = start.clone()
    for _ in range(steps):
        logits.requires_grad_()
        (gradient,) = torch.autograd.grad(joint(logits.log_softmax(-1)) - product(logits.log_softmax(-1)), [logits])
        logits = (logits + 20 * gradient).detach()
    return (logits.argmax(1) == torch.arange(10)).sum().item()


def ten_points(kind, T, *, start=RANDOM, alpha=1.0, M=None, steps=1000):
    """The same for the exact expectations of a divergence when labels are noisy by T."""
    return climbed(
        start,
        lambda log_probs: joint_term(log_probs, T, kind, M).mean(),
        lambda log_probs: alpha * product_term(log_probs, T.mean(0).expand(10, 10), kind, M).mean(),
        steps,
    )


@pytest.mark.parametrize("name", DIVERGENCES)
def test_maximised_on_clean_labels_every_divergence_ends_at_the_bayes_classifier(name) -> None:
    assert ten_points(DIVERGENCES[name], torch.eye(10).double()) == 10


@pytest.mark.parametrize(
    ("activation", "composed"),
    [
        (lambda v: -v.exp(), lambda v: -1 - v),
        (lambda v: 1 - v.exp(), lambda v: (1 - v.exp()) / v.exp()),
        (lambda v: 1 - v.exp(), lambda v: 2 - 2 * (1 - v).sqrt()),
    ],
    ids=["reverse_kl", "squared_hellinger", "neyman"],
)
def test_three_of_the_authors_forms_unlearn_clean_labels(activation, composed) -> None:
    found = climbed(
        4 * torch.eye(10).double(),
        lambda log_probs: activation(log_probs.exp()).diagonal().mean(),
        lambda log_probs: composed(log_probs.exp()).mean(),
    )
    assert found == 0


@pytest.mark.parametrize("noise", [SPARSE_LOW, UNIFORM_HIGH], ids=["sparse low", "uniform high"])
def test_every_divergence_ends_at_the_bayes_classifier_where_the_true_class_is_the_likeliest_label(noise) -> None:
    assert [ten_points(kind, noise) for kind in DIVERGENCES.values()] == [10] * 8


def test_under_heavy_sparse_noise_all_but_squared_hellinger_lose_the_classes_that_are_mostly_mislabelled() -> None:
    found = {name: ten_points(kind, SPARSE_HIGH) for name, kind in DIVERGENCES.items()}
    assert found == dict.fromkeys(DIVERGENCES, 5) | {"squared_hellinger": 10}


@pytest.mark.parametrize(
    ("name", "steps", "right"),
    [
        ("total_variation", 3000, 5),
        ("jensen_shannon", 3000, 5),
        ("pearson", 3000, 10),
        ("kl", 20_000, 5),
        ("reverse_kl", 3000, 5),
        ("jeffrey", 3000, 10),
        ("squared_hellinger", 3000, 10),
        ("neyman", 3000, 5),
    ],
)
def test_under_heavy_sparse_noise_some_divergences_leave_the_right_answer(name, steps, right) -> None:
    found = ten_points(DIVERGENCES[name], SPARSE_HIGH, start=4 * torch.eye(10).double(), steps=steps)
    assert found == right


@pytest.mark.parametrize("name", DIVERGENCES)
def test_under_heavy_sparse_noise_the_exact_correction_finds_every_class(name) -> None:
    assert ten_points(DIVERGENCES[name], SPARSE_HIGH, M=correction_matrix(SPARSE_HIGH)) == 10


@pytest.mark.parametrize(("alpha", "right"), [(1.0, 5), (2.0, 5), (3.0, 10), (5.0, 10)])
def test_under_heavy_sparse_noise_total_variation_needs_a_large_alpha(alpha, right) -> None:
    assert ten_points(DIVERGENCES["total_variation"], SPARSE_HIGH, alpha=alpha, steps=6000) == right


def test_a_known_matrix_needs_no_warm_up() -> None:
    method = FDivergence(matrix=".7 .3; .1 .9", bias_correction="exact", separate=True, warm_up=0.0)
    (only,) = method.stages()
    aux = only.before(Snapshot(torch.full((12, 2), 0.5).double(), torch.zeros(12), 0.0))
    torch.testing.assert_close(aux["M"], torch.tensor([[0.9, -0.3], [-0.1, 0.7]]).double() / 0.6)


def test_a_warm_up_comes_first_and_can_be_left_out() -> None:
    first, second = FDivergence(warm_up=0.2).stages()
    assert (first.method, first.share, second.share) == (CE(), 0.2, 0.8)
    assert len(FDivergence(warm_up=0.0).stages()) == 1


def test_a_correction_estimates_the_matrix_after_the_warm_up() -> None:
    _, second = FDivergence(bias_correction="exact").stages()
    posteriors = torch.cat([torch.eye(4).repeat(30, 1), torch.full((40, 4), 0.25)]).double()
    aux = second.before(Snapshot(posteriors @ SPARSE, torch.zeros(160), 0.3))
    torch.testing.assert_close(aux["M"] @ aux["T"], torch.eye(4).double())


def test_presets_are_those_of_paper_and_authors() -> None:
    assert build("f_divergence", {"preset": "paper"}) == FDivergence(separate=True, warm_up=0.0)
    assert build("f_divergence", {"preset": "official", "divergence": "kl"}).warm_up == 0.7


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
@pytest.mark.parametrize(
    "settings", [{"learnt": True}, {"separate": True, "warm_up": 0.0}, {"bias_correction": "exact"}], ids=str
)
def test_variants_keep_the_contract(settings, check) -> None:
    check(build("f_divergence", {"divergence": "jensen_shannon", **settings}))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"divergence": "jensen"}, "jensen"),
        ({"bias_correction": "some"}, "bias_correction must be none, uniform, sparse, exact, not 'some'"),
        ({"warm_up": 1.0}, "warm_up must be at least 0 and below 1, not 1.0"),
        ({"warm_up": 0.0, "bias_correction": "exact"}, "a fixed variational function, and a matrix or a warm-up"),
        ({"learnt": True, "bias_correction": "exact"}, "a bias correction needs a fixed variational function"),
        ({"matrix": ".9 .1; .2 .8"}, "the matrix is for a bias correction; set bias_correction to exact"),
        ({"matrix": "symmetric", "bias_correction": "exact"}, "matrix must be estimated, a .csv file or rows"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence(settings, message) -> None:
    with pytest.raises(InputError, match=message):
        FDivergence(**settings)


@pytest.mark.parametrize("divergence", ["total_variation", "kl"])
def test_a_learnt_function_does_not_undo_the_warm_up(divergence) -> None:
    observer = Silent()
    training(
        [FDivergence(divergence, learnt=True)], seeds=[0], train=replace(TRAIN, epochs=20), observer=observer
    ).run()
    assert observer.results[-1].measures[0]["test/accuracy_true"] > 0.95
