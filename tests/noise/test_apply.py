import hashlib
from dataclasses import replace

import numpy as np
import pytest
import torch

from labelnoise.data import Dataset, load
from labelnoise.errors import InputError
from labelnoise.noise import (
    CIFAR10_MAP,
    DIGIT_MAP,
    Noise,
    TransitionMatrix,
    asymmetric,
    corrupt,
    flip,
    identity,
    pair,
    parse,
    random_redraw,
    symmetric,
)
from labelnoise.rng import uniforms

N = 50_000
TEN = np.arange(N) % 10
UNEVEN = TransitionMatrix.from_rows([[0.7, 0.1, 0.2], [0.0, 0.9, 0.1], [0.45, 0.15, 0.4]])


def one_by_one(y, T, seed):
    """The definition, row by row."""
    coin, target = uniforms(len(y), seed, "noise-coin"), uniforms(len(y), seed, "noise-target")
    flipped = []
    for i, true in enumerate(y):
        label, others = true, [j for j in range(T.classes) if j != true]
        if coin[i] < 1 - T[true, true]:
            total, reached = sum(T[true, j] for j in others), 0.0
            for label in others:
                reached += T[true, label] / total
                if target[i] < reached:
                    break
        flipped.append(label)
    return flipped


@pytest.mark.parametrize("T", [UNEVEN, symmetric(3, 0.6), pair(3, 0.3), asymmetric(3, 0.5, {0: 2}), identity(3)])
def test_flip_follows_its_definition_row_by_row(T):
    y = np.arange(600) % 3
    assert flip(y, T, seed=4).tolist() == one_by_one(y.tolist(), T, 4)


@pytest.mark.parametrize(
    ("T", "rate"),
    [
        (symmetric(10, 0.4), 0.4),
        (random_redraw(10, 0.4), 0.36),
        (random_redraw(100, 0.4), 0.396),
        (pair(10, 0.3), 0.3),
        (asymmetric(10, 0.4, DIGIT_MAP), 0.2),
        (asymmetric(10, 0.4, CIFAR10_MAP), 0.2),
    ],
)
def test_the_realised_rate_lies_in_its_binomial_band(T, rate):
    y = np.arange(N) % T.classes
    realised = (flip(y, T, seed=0) != y).mean()
    assert abs(realised - rate) < 4 * np.sqrt(rate * (1 - rate) / N)


@pytest.mark.parametrize("T", [UNEVEN, symmetric(3, 0.5), random_redraw(3, 0.5), pair(3, 0.45)])
def test_the_matrix_is_recovered_from_true_and_given_labels(T):
    y = np.arange(3 * N) % 3
    given = flip(y, T, seed=1)
    counts = np.zeros((3, 3))
    np.add.at(counts, (y, given), 1)
    probs = np.asarray(T)
    assert (np.abs(counts / N - probs) <= 4 * np.sqrt(probs * (1 - probs) / N)).all()


@pytest.mark.parametrize(
    "build", [symmetric, random_redraw, pair, lambda classes, rate: asymmetric(classes, rate, DIGIT_MAP)]
)
def test_noise_nests_across_rates(build):
    low, high = (flip(TEN, build(10, rate), seed=3) for rate in (0.2, 0.4))
    wrong = low != TEN
    assert wrong.sum() > 4000
    assert (low[wrong] == high[wrong]).all()
    assert (high != TEN).sum() > wrong.sum()


@pytest.mark.parametrize("mapping", [DIGIT_MAP, CIFAR10_MAP])
def test_asymmetric_noise_never_leaves_its_map(mapping):
    given = flip(TEN, asymmetric(10, 0.4, mapping), seed=0)
    wrong = given != TEN
    assert {(int(i), int(j)) for i, j in zip(TEN[wrong], given[wrong], strict=True)} == set(mapping.items())


def test_sparse_noise_stays_within_its_pairs():
    # even to odd .6, odd to even .2: the heavier sparse noise of Wei & Liu 2021
    T = np.kron(np.eye(5), [[0.4, 0.6], [0.2, 0.8]])
    given = flip(TEN, TransitionMatrix.from_rows(T), seed=0)
    assert (given // 2 == TEN // 2).all()
    assert abs((given != TEN).mean() - 0.4) < 4 * np.sqrt(0.24 / N)


def test_flipped_labels_of_a_seed_are_the_same_for_ever():
    given = flip(TEN[:10_000], symmetric(10, 0.4), seed=0)
    assert given[:12].tolist() == [0, 8, 2, 4, 4, 4, 9, 7, 8, 0, 3, 0]
    assert (
        hashlib.sha256(given.astype("<i8").tobytes()).hexdigest()
        == "8d06f8fc94ee6071d6a6ec5aef6a7d748f4f2ccc761726f593fcde2ae744f0fb"
    )


def test_a_row_is_flipped_alike_whatever_comes_after_it():
    assert (flip(TEN[:100], symmetric(10, 0.4), seed=0) == flip(TEN, symmetric(10, 0.4), seed=0)[:100]).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64])
def test_arrays_come_back_as_arrays_of_their_type(dtype):
    given = flip(TEN.astype(dtype), symmetric(10, 0.4), seed=0)
    assert isinstance(given, np.ndarray)
    assert given.dtype == dtype


def test_tensors_come_back_as_tensors_with_the_same_labels():
    given = flip(torch.from_numpy(TEN), symmetric(10, 0.4), seed=0)
    assert isinstance(given, torch.Tensor)
    assert given.tolist() == flip(TEN, symmetric(10, 0.4), seed=0).tolist()


def test_flip_leaves_its_argument_alone():
    y = np.zeros(100, dtype=int)
    flip(y, symmetric(2, 0.5), seed=0)
    assert not y.any()


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array([0, 1, 3, 4]), "y holds 3 in row 2, but T has classes 0 to 2"),
        (np.array([0, -1]), "y holds -1 in row 1, but T has classes 0 to 2"),
        (np.zeros((4, 1), dtype=int), "y must be a vector of whole numbers, not int64 of shape (4, 1)"),
    ],
)
def test_labels_that_do_not_fit_are_refused(y, message):
    with pytest.raises(InputError) as error:
        flip(y, UNEVEN, seed=0)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("text", "T"),
    [
        ("none", identity(10)),
        ("symmetric:0.4", symmetric(10, 0.4)),
        ("random:0.4", random_redraw(10, 0.4)),
        ("pair:0.3", pair(10, 0.3)),
        ("asymmetric:0.3", asymmetric(10, 0.3, DIGIT_MAP)),
    ],
)
def test_a_noise_is_read_from_its_text(text, T):
    noise = parse(f" {text} ", 10, "digits")
    assert noise.definition == text
    assert torch.equal(noise.T.probs, T.probs)


def test_a_noise_matrix_is_read_from_a_file(tmp_path):
    path = tmp_path / "T.csv"
    path.write_text("\ufeff0.7, 0.1,0.2\n\n0,0.9,0.1\n0.45,0.15,0.4\n", encoding="utf-8")
    assert torch.equal(parse(f"matrix:{path}", 3).T.probs, UNEVEN.probs)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("symetric:0.4", "unknown noise 'symetric'; did you mean 'symmetric'?"),
        ("", "unknown noise ''; known are asymmetric, matrix, none, pair, random, symmetric"),
        ("symmetric", "noise 'symmetric' needs a rate, as in symmetric:0.4, not ''"),
        ("pair:many", "noise 'pair' needs a rate, as in pair:0.4, not 'many'"),
        ("random:1", "a noise rate must be at least 0 and below 1, not 1.0"),
        ("symmetric:nan", "a noise rate must be at least 0 and below 1, not nan"),
        ("none:0.4", "noise 'none' takes nothing after it, but '0.4' follows"),
        (
            "asymmetric:0.4",
            "asymmetric noise has no class map for data set 'moons', only for digits; use pair or matrix",
        ),
    ],
)
def test_a_bad_text_is_refused_with_a_sentence(text, message):
    with pytest.raises(InputError) as error:
        parse(text, 2, "moons")
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "1,0\n0,x\n",
            "line 2 of the noise matrix in PATH is not a row of numbers: could not convert string to float: 'x'",
        ),
        ("1,0\n1\n", "row 1 of the noise matrix in PATH has 1 entries, not 2"),
        ("1,0\n", "row 0 of the noise matrix in PATH has 2 entries, not 1"),
        ("", "T must be square with at least two classes, not of shape (0,)"),
        ("1,0\n0.5,0.4\n", "row 1 of T sums to 0.9, not to 1"),
        ("1,0,0\n0,1,0\n0,0,1\n", "the noise matrix in PATH is for 3 classes, but the data have 2"),
    ],
)
def test_a_bad_matrix_file_is_refused_with_a_sentence(tmp_path, content, message):
    path = tmp_path / "T.csv"
    path.write_text(content)
    with pytest.raises(InputError) as error:
        parse(f"matrix:{path}", 2)
    assert str(error.value) == message.replace("PATH", str(path))


@pytest.mark.parametrize("name", ["missing.csv", "folder", "image.png"])
def test_a_matrix_file_that_cannot_be_read_is_named(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "image.png").write_bytes(b"\x89PNG")
    with pytest.raises(InputError, match=rf"^the noise matrix .*{name} cannot be read: "):
        parse(f"matrix:{tmp_path / name}", 2)


DIGITS = load("digits", 0)


def test_a_corrupted_data_set_knows_the_labels_before_and_its_rate():
    noisy = corrupt(DIGITS, parse("symmetric:0.4", 10), seed=0)
    assert torch.equal(noisy.y_true, DIGITS.y_given)
    assert noisy.y_given.tolist() == flip(DIGITS.y_given, symmetric(10, 0.4), seed=0).tolist()
    assert abs(noisy.noise_rate - 0.4) < 4 * np.sqrt(0.24 / len(DIGITS))


def test_only_the_chosen_rows_are_corrupted_and_they_as_if_all_were():
    rows = torch.arange(0, len(DIGITS), 2)
    noise = parse("symmetric:0.4", 10)
    everywhere, chosen = corrupt(DIGITS, noise, seed=0), corrupt(DIGITS, noise, seed=0, rows=rows)
    assert torch.equal(chosen.y_given[rows], everywhere.y_given[rows])
    assert torch.equal(chosen.y_given[1::2], DIGITS.y_given[1::2])


def test_labels_before_are_taken_for_the_truth_where_none_is_known():
    data = Dataset.from_arrays(np.zeros((100, 1)), np.arange(100) % 2)
    noisy = corrupt(data, parse("symmetric:0.4", 2), seed=0)
    assert data.y_true is None
    assert torch.equal(noisy.y_true, data.y_given)


def test_a_known_truth_stays_and_noise_comes_on_top_of_noise():
    once = corrupt(DIGITS, parse("pair:0.3", 10), seed=0)
    twice = corrupt(once, parse("symmetric:0.4", 10), seed=1)
    assert torch.equal(twice.y_true, DIGITS.y_true)
    changed = (twice.y_given != once.y_given).double().mean().item()
    assert abs(changed - 0.4) < 4 * (0.4 * 0.6 / len(DIGITS)) ** 0.5


def test_the_same_noise_with_the_same_seed_does_not_undo_itself():
    noise = parse("symmetric:0.2", 10)
    twice = corrupt(corrupt(DIGITS, noise, seed=0), noise, seed=0)
    expected = 1 - (0.8 * 0.8 + 0.2 * 0.2 / 9)
    assert abs(twice.noise_rate - expected) < 4 * (expected * (1 - expected) / len(DIGITS)) ** 0.5


def test_no_noise_leaves_an_unknown_truth_unknown():
    unknown = replace(DIGITS, y_true=None)
    assert corrupt(unknown, parse("none", 10), seed=0) is unknown


def test_a_corrupted_data_set_shares_its_inputs():
    assert corrupt(DIGITS, parse("symmetric:0.4", 10), seed=0).x is DIGITS.x


def test_noise_for_another_number_of_classes_is_refused():
    with pytest.raises(InputError) as error:
        corrupt(DIGITS, Noise("pair:0.3", pair(3, 0.3)), seed=0)
    assert str(error.value) == "noise 'pair:0.3' has 3 classes, but data set 'digits' has 10"
