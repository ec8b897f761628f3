import hashlib
import math

import numpy as np
import pytest
import torch
from scipy import stats

from labelnoise.errors import InputError
from labelnoise.noise import expected_rate, instance_dependent, score_dependent
from labelnoise.noise import instance as module
from labelnoise.rng import normals, uniforms

N, CLASSES = 3000, 5
PIXELS = (uniforms(N * 12, "pixels") * 256).astype(np.uint8).reshape(N, 3, 2, 2)
Y = (uniforms(N, "labels") * CLASSES).astype(np.int64)


def one_by_one(x, y, rate, *, classes, seed, middle=0.0):
    """The definition, row by row, in doubles."""
    n, d = len(x), x[0].size
    q = stats.truncnorm.ppf(uniforms(n, seed, "noise-rate"), -rate / 0.1, (1 - rate) / 0.1, loc=rate, scale=0.1)
    coin, target = uniforms(n, seed, "noise-coin"), uniforms(n, seed, "noise-target")
    W = [normals(d * classes, seed, "noise-projection", c).numpy().reshape(d, classes) for c in range(classes)]
    given, P = [], np.zeros((n, classes))
    for i in range(n):
        a = (x[i].reshape(-1).astype(np.float64) - middle) @ W[y[i]]
        a[y[i]] = -np.inf
        weights = np.exp(a - a.max())
        P[i] = q[i] * weights / weights.sum()
        P[i, y[i]] = 1 - q[i]
        label, reached = y[i], 0.0
        if coin[i] < q[i]:
            for label in range(classes):
                reached += weights[label] / weights.sum()
                if target[i] < reached:
                    break
        given.append(label)
    return given, P


@pytest.mark.parametrize("rate", [0.1, 0.45])
@pytest.mark.parametrize("kind", [np.uint8, np.float32, np.float64])
def test_labels_are_those_of_the_definition_row_by_row(rate, kind):
    x = PIXELS if kind == np.uint8 else (PIXELS / 64 - 2).astype(kind)
    given, details = instance_dependent(x, Y, rate, classes=CLASSES, seed=7, details=True)
    labels, P = one_by_one(x, Y, rate, classes=CLASSES, seed=7)
    assert given.tolist() == labels
    np.testing.assert_allclose(details.P, P, rtol=1e-9, atol=1e-12)


def test_centred_inputs_have_their_mean_taken_off():
    middle = np.round(PIXELS.reshape(N, -1).mean(0) * 256) / 256
    given = instance_dependent(PIXELS, Y, 0.4, classes=CLASSES, seed=1, features="centred")
    assert given.tolist() == one_by_one(PIXELS, Y, 0.4, classes=CLASSES, seed=1, middle=middle)[0]


def test_labels_do_not_depend_on_the_chunks_they_are_drawn_in(monkeypatch):
    whole = instance_dependent(PIXELS, Y, 0.4, classes=CLASSES, seed=1)
    monkeypatch.setattr(module, "CHUNK", 100)
    assert (instance_dependent(PIXELS, Y, 0.4, classes=CLASSES, seed=1) == whole).all()


def test_labels_are_the_same_with_and_without_details():
    plain = instance_dependent(PIXELS, Y, 0.4, classes=CLASSES, seed=1)
    assert (instance_dependent(PIXELS, Y, 0.4, classes=CLASSES, seed=1, details=True)[0] == plain).all()


def test_sums_of_pixels_are_exact_in_whatever_order():
    W = normals(3072 * 10, 0, "noise-projection", 0).reshape(3072, 10).numpy()
    x = (uniforms(3072, "pixels") * 256).astype(np.uint8).astype(np.float64)
    assert [math.fsum(x * W[:, j]) for j in range(10)] == (x @ W).tolist() == (x[::-1] @ W[::-1]).tolist()


@pytest.mark.parametrize(
    ("rate", "mean"),
    [(0.1, 0.128760), (0.2, 0.205525), (0.3, 0.300444), (0.4, 0.400013), (0.45, 0.450002), (0.5, 0.5), (0.0, 0.0)],
)
def test_the_mean_rate_is_that_of_the_cut_normal(rate, mean):
    assert expected_rate(rate) == pytest.approx(mean, abs=1e-6)


@pytest.mark.parametrize("rate", [0.1, 0.2, 0.45])
def test_the_realised_rate_lies_in_its_band(rate):
    y = np.arange(50_000) % 10
    x = np.zeros((50_000, 1), np.uint8)
    wrong = (instance_dependent(x, y, rate, classes=10, seed=0) != y).mean()
    mean = expected_rate(rate)
    assert abs(wrong - mean) < 4 * math.sqrt(mean * (1 - mean) / 50_000)


def test_probabilities_are_those_of_rows_that_sum_to_one():
    _, details = instance_dependent(PIXELS, Y, 0.4, classes=CLASSES, seed=1, details=True)
    assert details.P.min() >= 0
    np.testing.assert_allclose(details.P.sum(1), 1, rtol=1e-12)
    np.testing.assert_allclose(details.rates, 1 - details.P[np.arange(N), Y])


def test_labels_are_drawn_from_the_probabilities():
    # Every row has the same input and class, so that shares are means of P.
    x, y = np.full((20_000, 3), 0.2), np.full(20_000, 1)
    given, details = instance_dependent(x, y, 0.4, classes=3, seed=2, details=True)
    for label, share in enumerate(details.P.mean(0)):
        assert abs((given == label).mean() - share) < 4 * math.sqrt(share * (1 - share) / 20_000)


def test_instance_noise_nests_across_rates():
    low, high = (instance_dependent(PIXELS, Y, rate, classes=CLASSES, seed=3) for rate in (0.2, 0.4))
    wrong = low != Y
    assert wrong.sum() > 500
    assert (low[wrong] == high[wrong]).all()


def test_with_two_classes_the_rate_does_not_depend_on_the_input():
    y = np.arange(1000) % 2
    first, second = (
        instance_dependent(x, y, 0.45, classes=2, seed=0)
        for x in (np.zeros((1000, 2)), PIXELS[:1000].reshape(1000, -1))
    )
    assert (first == second).all()


@pytest.fixture
def fixed(monkeypatch):
    """Rates of the rows, and one matrix (D, K) per true class, given by hand."""

    def fix(rates, projections=None):
        monkeypatch.setattr(module, "row_rates", lambda *_: np.array(rates))
        if projections is not None:
            W = torch.tensor(projections, dtype=torch.float64)
            monkeypatch.setattr(module, "normals", lambda n, *key: W[key[-1]].flatten())

    return fix


def test_probabilities_are_the_published_ones_and_differ_within_a_class(fixed):
    fixed([0.2, 0.4, 0.5, 0.1], [[[0, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, 2]], [[0, 1, 0], [1, 0, 0]]])
    x, y = np.array([[1.0, 0], [0, 1], [1, 1], [2, -1]]), np.array([0, 1, 2, 0])
    P = instance_dependent(x, y, 0.3, classes=3, seed=0, details=True)[1].P
    published = [[0.8, 0.146212, 0.053788], [0.047681, 0.6, 0.352319], [0.25, 0.25, 0.5], [0.9, 0.095257, 0.004743]]
    np.testing.assert_allclose(P, published, atol=1e-6)
    shares = P[[0, 3], 1:] / P[[0, 3], 1:].sum(1, keepdims=True)
    np.testing.assert_allclose(shares, [[0.731, 0.269], [0.953, 0.047]], atol=1e-3)


@pytest.mark.parametrize("seed", [0, 1])
def test_with_two_classes_the_probabilities_are_the_published_ones_whatever_the_input(fixed, seed):
    fixed([0.3, 0.4, 0.5, 0.45])
    x = normals(12, seed, "inputs").reshape(4, 3).numpy()
    P = instance_dependent(x, np.array([0, 1, 0, 1]), 0.4, classes=2, seed=seed, details=True)[1].P
    np.testing.assert_allclose(P, [[0.7, 0.3], [0.4, 0.6], [0.5, 0.5], [0.45, 0.55]])


def test_wrong_labels_are_likelier_under_their_own_rows_than_under_others_of_their_class():
    x, y = normals(5000 * 20, "inputs").reshape(5000, 20).numpy(), (uniforms(5000, "classes") * 7).astype(np.int64)
    given, details = instance_dependent(x, y, 0.4, classes=7, seed=3, details=True)
    rows = np.flatnonzero((y == 0) & (given != y))
    own, other = (
        np.log(details.P[some, given[rows]] / details.rates[some]).mean() for some in (rows, np.roll(rows, 1))
    )
    assert own > -1
    assert other < -3


def test_centring_makes_wrong_labels_depend_on_the_instance_more():
    # The share of a class's wrong labels that are its most frequent wrong one.
    x = np.clip(120 + 60 * stats.norm.ppf(uniforms(4000 * 64, "image") * 0.98 + 0.01), 0, 255).astype(np.uint8)
    y = np.arange(4000) % 10
    modal = {}
    for features in ("raw", "centred"):
        given = instance_dependent(x.reshape(4000, 64), y, 0.5, classes=10, seed=0, features=features)
        counts = [np.bincount(given[(y == c) & (given != y)], minlength=10) for c in range(10)]
        modal[features] = np.mean([count.max() / count.sum() for count in counts])
    assert modal["raw"] > 1.5 * modal["centred"]


@pytest.mark.parametrize("seed", [0, 1])
def test_the_score_decides_the_rate_with_two_classes_too(seed):
    x, y = PIXELS.reshape(N, -1) / 255, np.arange(N) % 2
    _, details = score_dependent(x, y, 0.3, classes=2, seed=seed, details=True)
    w = normals(12, seed, "noise-direction").numpy()
    score = x @ w
    z = (score - score.mean()) / score.std()
    offsets = np.log(details.rates / (0.5 - details.rates)) - 4 * z
    np.testing.assert_allclose(offsets, offsets[0], atol=1e-6)
    assert details.rates.max() > 0.45
    assert details.rates.min() < 0.05
    assert details.rates.mean() == pytest.approx(0.3, abs=1e-12)
    assert abs(details.realised - 0.3) < 4 * math.sqrt(0.21 / N)


@pytest.mark.parametrize("classes", [2, 5])
def test_score_noise_leaves_the_true_label_the_likeliest_everywhere(classes):
    y = np.arange(N) % classes
    _, details = score_dependent(PIXELS, y, 0.45, classes=classes, seed=0, details=True)
    assert (details.P.max(1) == details.P[np.arange(N), y]).all()


def test_score_noise_nests_across_rates():
    low, high = (score_dependent(PIXELS, Y, rate, classes=CLASSES, seed=3) for rate in (0.2, 0.4))
    wrong = low != Y
    assert (low[wrong] == high[wrong]).all()


def test_score_noise_reaches_every_other_class_equally():
    given = score_dependent(np.tile(PIXELS, (10, 1, 1, 1)), np.zeros(10 * N, int), 0.5, classes=4, seed=0)
    counts = np.bincount(given, minlength=4)[1:]
    assert np.abs(counts - counts.mean()).max() < 4 * math.sqrt(counts.sum() * 2 / 9)


@pytest.mark.parametrize("draw", [instance_dependent, score_dependent])
def test_inputs_that_are_all_alike_still_have_noise(draw):
    y = np.arange(1000) % 2
    assert abs((draw(np.ones((1000, 2)), y, 0.3, classes=2, seed=0) != y).mean() - 0.3) < 0.06


@pytest.mark.parametrize("draw", [instance_dependent, score_dependent])
def test_no_rate_means_no_noise(draw):
    assert (draw(PIXELS, Y, 0.0, classes=CLASSES, seed=0) == Y).all()


@pytest.mark.parametrize("draw", [instance_dependent, score_dependent])
def test_tensors_give_the_labels_of_arrays_as_tensors(draw):
    given = draw(torch.from_numpy(PIXELS), torch.from_numpy(Y), 0.4, classes=CLASSES, seed=0)
    assert given.dtype == torch.int64
    assert given.tolist() == draw(PIXELS, Y, 0.4, classes=CLASSES, seed=0).tolist()


@pytest.mark.parametrize(
    ("draw", "digest"),
    [
        (instance_dependent, "756c1159c71ad923c17d838b02fe4c11b21e8d3732f62d04837871446cf35c7a"),
        (score_dependent, "b21da9979625db60175c125fc207ae2a6a5a58c7b761c9145a38302c75dc5926"),
    ],
)
def test_labels_of_a_seed_are_the_same_for_ever(draw, digest):
    given = draw(PIXELS, Y, 0.4, classes=CLASSES, seed=0)
    assert hashlib.sha256(given.astype("<i8").tobytes()).hexdigest() == digest


@pytest.mark.parametrize("draw", [instance_dependent, score_dependent])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_inputs_that_are_no_numbers_are_refused_with_their_row(draw, bad):
    x = np.zeros((10, 3))
    x[7, 1] = bad
    with pytest.raises(InputError) as error:
        draw(x, np.arange(10) % 2, 0.2, classes=2, seed=0)
    assert str(error.value) == "x holds NaN or infinity in row 7; drop the row or fill it in"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rate": 1.0}, "a noise rate must be at least 0 and below 1, not 1.0"),
        ({"rate": math.nan}, "a noise rate must be at least 0 and below 1, not nan"),
        ({"y": Y[:10]}, "x must have one row for each of the 10 labels, not shape (3000, 3, 2, 2)"),
        ({"x": np.zeros(N)}, "x must have one row for each of the 3000 labels, not shape (3000,)"),
        ({"classes": 4}, "y holds 4 in row 0, but the classes are 0 to 3"),
        ({"features": "white"}, "features must be raw or centred, not 'white'"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence(arguments, message):
    wished = {"x": PIXELS, "y": Y, "rate": 0.4, "classes": CLASSES, "seed": 0} | arguments
    with pytest.raises(InputError) as error:
        instance_dependent(**wished)
    assert str(error.value) == message
