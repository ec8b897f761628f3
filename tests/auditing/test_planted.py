import numpy as np

from labelnoise.auditing.planted import plant_flips, plant_noise
from labelnoise.auditing.posterior import Channel
from labelnoise.auditing.shortlist import Shortlist

T = np.array([[0.7, 0.3, 0.0], [0.0, 1.0, 0.0], [0.05, 0.15, 0.8]])
CHANNEL = Channel(T, np.ones(3), np.zeros(3))
ROWS = 30000
TRUE = np.arange(ROWS) % 3
SHORTLIST = Shortlist(
    np.stack([TRUE, (TRUE + 1) % 3, (TRUE + 2) % 3], 1).astype(np.int32), np.full((ROWS, 3), 1 / 3, np.float32)
)
SURE = np.tile(np.float32([1, 0, 0]), (ROWS, 1))


def test_noise_is_drawn_by_the_channel():
    planted = plant_noise(SHORTLIST, SURE, CHANNEL, 0, "test")
    assert np.array_equal(planted.true, TRUE)
    counts = np.zeros((3, 3))
    np.add.at(counts, (planted.true, planted.labels), 3 / ROWS)
    np.testing.assert_allclose(counts, T, atol=0.015)
    assert (counts[T == 0] == 0).all()


def test_true_classes_are_drawn_from_the_posterior():
    half = np.tile(np.float32([0.5, 0.5, 0]), (ROWS, 1))
    planted = plant_noise(SHORTLIST, half, CHANNEL, 0, "test")
    assert abs((planted.true == TRUE).mean() - 0.5) < 0.015
    assert not (planted.true == (TRUE + 2) % 3).any()


def test_flips_are_wrong_and_lie_where_the_channel_errs():
    planted = plant_flips(SHORTLIST, SURE, CHANNEL, 0, "test")
    assert (planted.labels != planted.true).all()
    assert not (planted.true == 1).any()  # of this class no label is wrong
    assert abs(len(planted.rows) / ROWS - 0.5 / 3) < 0.01
    assert set(planted.labels[planted.true == 0]) == {1}


def test_a_clean_channel_still_plants_five_in_a_hundred():
    clean = Channel(np.full((3, 3), 1e-4) + np.eye(3) * (1 - 3e-4), np.ones(3), np.zeros(3))
    assert abs(len(plant_flips(SHORTLIST, SURE, clean, 0, "test").rows) / ROWS - 0.05) < 0.01


def test_the_key_names_the_draw():
    draws = [plant_flips(SHORTLIST, SURE, CHANNEL, 0, key).rows for key in ("a", "a", "b")]
    assert np.array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])
