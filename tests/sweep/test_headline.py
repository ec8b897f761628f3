import pytest

from labelnoise.config import Job, Named, Train
from labelnoise.sweep.headline import headline, listed, network


def facts(classes):
    return {
        "name": "mine",
        "rows": 100,
        "shape": (1, 28, 28),
        "classes": classes,
        "parts": {"train": 70, "validation": 10, "test": 20},
    }


def test_the_line_tells_of_data_network_and_training():
    job = Job(net=Named("resnet18", {"stem": "imagenet"}), train=Train(epochs=1, batch=128))
    assert headline(job, facts(("yes", "no, never"))) == (
        'mine: 100 rows of 1 × 28 × 28 inputs, 2 classes (yes, "no, never"); 70 to train on, 10 for noisy validation, '
        "20 for the test; network resnet18 (stem=imagenet), 1 epoch, batches of 128"
    )


def test_of_many_classes_the_first_ten_are_named():
    assert "11 classes (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …);" in headline(Job(), facts(tuple(map(str, range(11)))))


def test_only_a_name_with_a_comma_is_in_quotes():
    assert listed(["größe, 3", "iris setosa", "iris virginica"]) == '"größe, 3", iris setosa, iris virginica'


@pytest.mark.parametrize(
    ("net", "told"),
    [
        (Named("resnet18"), "resnet18"),
        (Named("resnet18", {"stem": None}), "resnet18"),
        (Named("resnet18", {"stem": "imagenet"}), "resnet18 (stem=imagenet)"),
        (Named("of_my_own", {"depth": 3, "wide": True}), "of_my_own (depth=3, wide=True)"),
    ],
    ids=["no settings", "a default", "another stem", "not registered here"],
)
def test_a_network_is_named_with_the_settings_that_are_not_the_usual_ones(net, told):
    assert network(net) == told
