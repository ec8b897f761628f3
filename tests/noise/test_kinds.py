import pytest
import torch

from labelnoise.data import Dataset
from labelnoise.noise import parse


def test_the_expected_rate_knows_how_frequent_classes_are():
    y = torch.cat([torch.zeros(30), torch.ones(70)]).long()
    data = Dataset.from_arrays(torch.zeros(100, 1), y)
    noise = parse("asymmetric:0.4", 2)
    assert noise.rate == pytest.approx(0.2)
    assert noise.expected_rate(data, torch.arange(100)) == pytest.approx(0.12)
    assert noise.expected_rate(data, torch.arange(30)) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("text", "classes", "remarks"),
    [
        ("symmetric:0.4", 2, []),
        ("instance:0.3", 3, []),
        ("instance:0.3", 2, ["with two classes instance noise does not depend on the input; score does"]),
        ("pair:0.6", 3, ["noise 'pair:0.6' makes a wrong label likelier than the right one for some class"]),
    ],
)
def test_odd_noise_is_remarked_on(text, classes, remarks):
    assert parse(text, classes).remarks(classes) == remarks
