import pytest

from labelnoise.methods import METHODS, build
from labelnoise.testing import CHECKS


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
@pytest.mark.parametrize("name", list(METHODS))
def test_method(name, check):
    check(build(name))
