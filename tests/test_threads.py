import pytest
import torch

from labelnoise.threads import threads


def test_threads_are_as_many_as_asked_inside_and_as_before_outside():
    before = torch.get_num_threads()
    with threads(before + 1):
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before


def test_threads_are_as_before_also_after_an_error():
    before = torch.get_num_threads()
    with pytest.raises(ValueError, match="inside"), threads(before + 1):
        raise ValueError("inside")
    assert torch.get_num_threads() == before
