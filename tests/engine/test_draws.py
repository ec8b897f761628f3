import pytest
import torch

from labelnoise.engine.draws import FEW, brought, source
from labelnoise.methods import build
from labelnoise.nets import build as net
from labelnoise.types import DataSpec

GPU = torch.device("cuda:0")  # it is only named here
SPEC = DataSpec((4,), 10, 300, lambda head: net("mlp", (4,), head))


@pytest.mark.parametrize(
    ("method", "size", "where"),
    [
        ("ce", 256, None),
        ("mixup", 256, "cpu"),
        ("noise_against_noise", FEW // 10, "cpu"),
        ("noise_against_noise", FEW // 10 + 1, "cuda:0"),
        ("heteroscedastic", 1, "cuda:0"),  # a thousand samples of twenty numbers
    ],
)
def test_few_numbers_are_drawn_by_the_host_and_many_by_the_device(method, size, where):
    found = source(build(method), SPEC, size, GPU)
    assert found == (where and torch.device(where))


def test_what_is_there_already_is_not_copied():
    drawn = torch.rand(3)
    assert brought(drawn, torch.device("cpu")) is drawn


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_what_the_host_has_drawn_arrives_as_it_was():
    drawn = torch.rand(45, 256)
    found = brought(drawn, GPU)
    assert found.device == GPU
    assert torch.equal(found.cpu(), drawn)
