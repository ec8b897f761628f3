import numpy as np
import pytest

from labelnoise.data.standard.cifar_classes import (
    CIFAR10_CLASSES,
    CIFAR100_CLASSES,
    CIFAR100_SUPERCLASS,
    CIFAR100_SUPERCLASSES,
)


@pytest.mark.parametrize(
    ("names", "count"), [(CIFAR10_CLASSES, 10), (CIFAR100_CLASSES, 100), (CIFAR100_SUPERCLASSES, 20)]
)
def test_classes_are_in_alphabetical_order(names, count):
    assert len(set(names)) == count
    assert sorted(names) == list(names)


def test_every_superclass_has_five_classes():
    assert np.bincount(CIFAR100_SUPERCLASS).tolist() == [5] * 20


@pytest.mark.parametrize(
    ("superclass", "classes"),
    [
        ("aquatic_mammals", {"beaver", "dolphin", "otter", "seal", "whale"}),
        ("food_containers", {"bottle", "bowl", "can", "cup", "plate"}),
        ("people", {"baby", "boy", "girl", "man", "woman"}),
        ("trees", {"maple_tree", "oak_tree", "palm_tree", "pine_tree", "willow_tree"}),
        ("vehicles_1", {"bicycle", "bus", "motorcycle", "pickup_truck", "train"}),
        ("vehicles_2", {"lawn_mower", "rocket", "streetcar", "tank", "tractor"}),
    ],
)
def test_a_superclass_has_the_classes_of_its_definition(superclass, classes):
    number = CIFAR100_SUPERCLASSES.index(superclass)
    found = {name for name, coarse in zip(CIFAR100_CLASSES, CIFAR100_SUPERCLASS, strict=True) if coarse == number}
    assert found == classes


def test_superclasses_are_those_of_the_official_labels(real):
    labels = real("cifar100n.npz")
    assert (np.array(CIFAR100_SUPERCLASS)[labels["clean_label"]] == labels["clean_coarse_label"]).all()
