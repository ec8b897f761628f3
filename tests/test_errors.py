import pytest

from labelnoise.errors import InputError


def test_an_input_error_is_a_value_error_with_its_sentence():
    with pytest.raises(ValueError, match="rate must lie between 0 and 1") as caught:
        raise InputError("rate must lie between 0 and 1, not 2")
    assert str(caught.value) == "rate must lie between 0 and 1, not 2"
