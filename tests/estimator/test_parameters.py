import numpy as np
import pytest

from labelnoise.errors import InputError
from labelnoise.estimator.parameters import number, plain, text, whole


@pytest.mark.parametrize(
    ("value", "kind"), [(np.int64(2), int), (np.float32(0.5), float), (np.str_("ce"), str), (np.bool_(True), bool)]
)
def test_numbers_of_numpy_become_plain(value, kind):
    assert type(plain(value)) is kind
    assert plain(value) == value


def test_what_is_plain_stays():
    assert plain("a") == "a"
    assert whole("epochs", None) is None
    assert (whole("epochs", np.int32(3)), number("rate", 1), text("method", np.str_("ce"))) == (3, 1.0, "ce")


@pytest.mark.parametrize(
    ("check", "value", "message"),
    [
        (whole, "3", "epochs must be a whole number, or None for what suits, not '3'"),
        (whole, 2.5, "whole number"),
        (whole, True, "whole number"),
        (number, "a", "epochs must be a number, not 'a'"),
        (number, None, "a number, not None"),
        (text, None, "epochs must be a text, not None"),
    ],
)
def test_other_kinds_are_refused_with_a_sentence(check, value, message):
    with pytest.raises(InputError, match=message):
        check("epochs", value)
