from importlib.machinery import PathFinder
from importlib.util import find_spec

import pytest

from labelnoise.methods.local import is_local


@pytest.mark.parametrize("name", ["sys", "os", "json", "numpy", "labelnoise"])
def test_what_is_built_in_or_installed_or_of_the_package_is_not_local(name):
    assert not is_local(find_spec(name))


@pytest.mark.parametrize(
    ("place", "local"), [("work/own_kit.py", True), ("work/own_kit/part.py", True), ("site-packages/own_kit.py", False)]
)
def test_a_module_is_local_unless_it_lies_among_installed_ones(tmp_path, place, local):
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_text("")
    spec = PathFinder.find_spec("own_kit", [str(tmp_path / place.split("/")[0])])
    assert is_local(spec) == local
