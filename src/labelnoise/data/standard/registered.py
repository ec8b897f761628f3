"""The standard data sets by name, made of what lies in the data root."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import torch

from labelnoise.data.dataset import DATASETS, Dataset
from labelnoise.data.standard import clothing1m, imagenet, listed
from labelnoise.data.standard.cache import data_root, load
from labelnoise.data.standard.catalogue import CARDS, Card, find
from labelnoise.errors import InputError

HUMAN = {
    "aggregate": "aggre_label",
    "random1": "random_label1",
    "random2": "random_label2",
    "random3": "random_label3",
    "worst": "worse_label",
    "": "noisy_label",
}  # arrays of people's labels, as their authors call them
STREAMED = {
    "clothing1m": clothing1m.dataset,
    "clothing1m:balanced": clothing1m.balanced,
    "imagenet": imagenet.dataset,
}  # images that stay on disk; the data root has a list of them


@cache  # runs of one process share one copy of the images
def _made(name: str, _: Path) -> Dataset:
    card, variant = find(name), name.partition(":")[2]
    if card.images_of:
        return _relabelled(name, card, HUMAN[variant])
    if name in STREAMED:
        return STREAMED[name](load(card, *listed.NAMES).arrays)
    return _images(card)


def _images(card: Card) -> Dataset:
    facts, arrays = load(card, "x", "y")
    x, y = torch.from_numpy(arrays["x"]), torch.from_numpy(arrays["y"])
    train, rows = facts["train"], len(x)
    ids = (*(f"train/{row}" for row in range(train)), *(f"test/{row}" for row in range(rows - train)))
    encoding = {"kind": "images", "shape": list(x.shape[1:]), "resize": 0}
    test = torch.arange(train, rows)
    return Dataset(card.name, x, y, y, tuple(facts["classes"]), ids, test, encoding=encoding, known_as=card.name)


def _relabelled(name: str, card: Card, key: str) -> Dataset:
    # people's labels on the training rows; the test part stays as it is
    images = _made(card.images_of, data_root())
    labels = {each: torch.from_numpy(array) for each, array in load(card, "clean_label", key).arrays.items()}
    train = len(labels[key])
    if not torch.equal(labels["clean_label"], images.y_given[:train]):
        raise InputError(
            f"the labels of {card.name} in the data root belong to other images than those of {card.images_of} there; "
            f"make it again with `labelnoise data convert {card.name} PATH --force`"
        )
    return replace(images, name=name, known_as=name, y_given=torch.cat([labels[key], images.y_given[train:]]))


def _register(name: str, sentence: str) -> None:
    def build(_: int) -> Dataset:
        return _made(name, data_root())

    build.__doc__ = sentence
    DATASETS.register(name)(build)


for _card in CARDS.values():
    for _name, _sentence in _card.sentences.items():
        _register(_name, f"{_sentence}; see `labelnoise data info {_card.name}`.")
