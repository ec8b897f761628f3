import numpy as np
import pytest

from labelnoise.data import DATASETS, augment
from labelnoise.data.standard.catalogue import CARDS, find
from labelnoise.errors import InputError

EACH = pytest.mark.parametrize("card", CARDS.values(), ids=CARDS)


@EACH
def test_every_name_of_a_card_can_be_given_as_data(card):
    assert set(card.names) <= set(DATASETS)


@EACH
def test_a_card_is_found_by_its_name_and_by_what_data_takes(card):
    assert {find(name).name for name in (card.name, *card.names)} == {card.name}


@EACH
def test_nothing_on_a_card_is_empty(card):
    words = (card.title, card.licence, card.url, card.files, card.checked, card.paper, *card.used_by)
    assert all(words)
    assert card.used_by
    assert card.url.startswith("http")


@EACH
def test_the_recommended_augmentation_fits_the_images(card):
    augment.check(card.augment, card.shape)
    assert len(card.augment.mean) == len(card.augment.std) == card.shape[0]


@pytest.mark.parametrize("name", ["mnist", "svhn"])
def test_digits_are_never_mirrored(name):
    assert not CARDS[name].augment.flip


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("mnist", [9_912_422, 28_881, 1_648_877, 4_542]),
        ("fashion_mnist", [26_421_880, 29_515, 4_422_102, 5_148]),
        ("svhn", [182_040_794, 64_275_384]),
        ("imagenet", [147_897_477_120, 6_744_924_160]),
    ],
)
def test_the_download_is_as_large_as_its_files(name, files):
    assert CARDS[name].download == sum(files)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("cifar10n:wurst", "unknown standard data set 'cifar10n:wurst'; did you mean 'cifar10n:worst'?"),
        ("minst", "unknown standard data set 'minst'; did you mean 'mnist'?"),
    ],
)
def test_a_misspelt_name_is_answered_with_its_neighbour(name, sentence):
    with pytest.raises(InputError) as problem:
        find(name)
    assert str(problem.value) == sentence


def test_what_cannot_be_downloaded_by_a_program_is_told_how_to_be_converted():
    assert "fetch" not in CARDS["clothing1m"].to_get
    assert CARDS["clothing1m"].to_get.endswith("type `labelnoise data convert clothing1m PATH`")
    assert CARDS["svhn"].to_get.startswith("type `labelnoise data fetch svhn`, or get train_32x32.mat")


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
def test_mean_and_std_are_those_of_the_real_training_images(real, name):
    counts, values = np.bincount(real(f"{name}.npz")["x_train"].ravel(), minlength=256), np.arange(256) / 255
    mean = np.average(values, weights=counts)
    std = np.average((values - mean) ** 2, weights=counts) ** 0.5
    found = CARDS[name].augment
    assert (round(mean, 4), round(std, 4)) == (found.mean[0], found.std[0])
