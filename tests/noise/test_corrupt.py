import hashlib
from dataclasses import replace

import numpy as np
import pytest
import torch

from labelnoise.data import Dataset, load
from labelnoise.errors import InputError
from labelnoise.noise import (
    DIGIT_MAP,
    annotate,
    annotators,
    asymmetric,
    corrupt,
    flip,
    instance_dependent,
    open_set,
    parse,
    published_instance,
    score_dependent,
    symmetric,
    vote,
)
from labelnoise.rng import uniforms

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


def test_rows_of_a_name_that_is_not_built_in_take_noise_too():
    assert corrupt(replace(DIGITS, known_as="unheard_of"), "pair:0.3", seed=0).noise_rate > 0.2


def test_noise_may_be_told_by_its_text():
    by_text = corrupt(DIGITS, "asymmetric:0.3", seed=1)
    assert torch.equal(by_text.y_given, flip(DIGITS.y_given, asymmetric(10, 0.3, DIGIT_MAP), seed=1))


def test_noise_for_another_number_of_classes_is_refused():
    with pytest.raises(InputError) as error:
        corrupt(DIGITS, parse("pair:0.3", 3), seed=0)
    assert str(error.value) == "noise 'pair:0.3' has 3 classes, but data set 'digits' has 10"


@pytest.mark.parametrize("text", ["symmetric:0.4", "instance:0.4", "score:0.4", "annotators:0.4", "open_set:0.4"])
def test_rows_that_may_not_change_stay(text):
    rows = torch.arange(0, len(DIGITS), 2)
    noisy = corrupt(DIGITS, parse(text, 10), seed=0, rows=rows)
    assert torch.equal(noisy.y_given[1::2], DIGITS.y_given[1::2])
    assert torch.equal(noisy.y_true[1::2], DIGITS.y_true[1::2])
    assert torch.equal(noisy.x[1::2], DIGITS.x[1::2])
    wrong = (noisy.y_given != noisy.y_true)[rows].double().mean().item()
    assert abs(wrong - 0.4) < 4 * (0.24 / len(rows)) ** 0.5


@pytest.mark.parametrize(
    ("text", "draw"),
    [("instance:0.4", instance_dependent), ("score:0.4", score_dependent)],
)
def test_noise_by_inputs_is_that_of_its_function(text, draw):
    noisy = corrupt(DIGITS, parse(text, 10), seed=3)
    assert torch.equal(noisy.y_given, draw(DIGITS.x, DIGITS.y_given, 0.4, classes=10, seed=3))


def test_published_draws_are_those_of_the_whole_training_set_in_its_order():
    test = torch.arange(5, len(DIGITS), 7)
    data, learnable = replace(DIGITS, test=test), np.setdiff1d(np.arange(len(DIGITS)), test)
    given = published_instance(DIGITS.x[learnable], DIGITS.y_given[learnable], 0.4, classes=10, seed=3)
    changed = torch.from_numpy(learnable[::2].copy())
    noisy = corrupt(data, "instance:0.4:published", seed=3, rows=changed)
    assert torch.equal(noisy.y_given[changed], given[::2])
    assert torch.equal(noisy.y_given[learnable[1::2]], DIGITS.y_given[learnable[1::2]])
    assert torch.equal(noisy.y_given[test], DIGITS.y_given[test])


def test_published_draws_come_on_top_of_others():
    again = corrupt(corrupt(DIGITS, "instance:0.4:published", seed=0), "instance:0.4:published", seed=0)
    assert 0.4 < again.noise_rate < 0.8


def test_noise_by_annotators_is_their_vote():
    y = DIGITS.y_given.numpy()
    given = vote(annotate(y, annotators(10, 0.3), seed=2), "aggregate", y_true=y, seed=2)
    assert corrupt(DIGITS, parse("annotators:0.3:aggregate", 10), seed=2).y_given.tolist() == given.tolist()


def test_exact_counts_hold_for_the_rows_that_may_change():
    rows = (DIGITS.y_given < 9).nonzero().squeeze(1)[:1000]
    noisy = corrupt(DIGITS, parse("pair:0.3:exact", 10), seed=0, rows=rows)
    for true in range(9):
        here = rows[DIGITS.y_given[rows] == true]
        assert (noisy.y_given[here] == true + 1).sum() == round(0.3 * len(here))


def test_open_set_noise_brings_inputs_of_another_data_set_without_a_true_class():
    moons, circles = load("moons", 5), load("circles", 5)
    noisy = corrupt(moons, parse("open_set:0.3:circles", 2), seed=5)
    x, replaced = open_set(moons.x, 0.3, circles.x, seed=5)
    assert torch.equal(noisy.x, x)
    assert torch.equal(noisy.y_given, moons.y_given)
    assert torch.equal(noisy.y_true, torch.where(replaced, -1, moons.y_true))
    assert noisy.noise_rate == replaced.double().mean()


PIXELS = Dataset.from_arrays(
    (uniforms(1000 * 12, "pixels") * 256).astype(np.uint8).reshape(1000, 3, 2, 2),
    (uniforms(1000, "labels") * 10).astype(np.int64),
    classes=tuple("0123456789"),
)
FOR_EVER = {
    "random:0.4": "61890d94f5719217",
    "symmetric:0.4:exact": "e759ce2a7f352c82",
    "sparse:high": "18f4fee26c09df98",
    "uniform:high:stated": "629eea4227ffa3ae",
    "instance:0.4:centred": "17b403bea35a477d",
    "instance:0.4:published": "541b3b52f8e28895",
    "annotators:0.4:random": "163819792d9cbe20",
    "annotators:0.4:worst": "8a2f99e0f42f266d",
    "open_set:0.4": "0781c995499b8a8f",
}


@pytest.mark.parametrize(("text", "digest"), FOR_EVER.items())
def test_what_a_seed_draws_is_the_same_for_ever(text, digest):
    noisy = corrupt(PIXELS, parse(text, 10), seed=0)
    content = hashlib.sha256(noisy.x.numpy().tobytes() + noisy.y_given.numpy().astype("<i8").tobytes())
    assert content.hexdigest()[:16] == digest
