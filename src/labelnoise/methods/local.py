"""Modules of the user's own: neither of the package nor installed."""

import sysconfig
from importlib.machinery import ModuleSpec
from pathlib import Path

INSTALLED = [Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "platstdlib", "purelib", "platlib")]
FOREIGN = {"site-packages", "dist-packages"}  # of a user or a system, which sysconfig does not name


def is_local(spec: ModuleSpec) -> bool:
    """Whether a module, or a folder of modules, is the user's own."""
    if spec.name.partition(".")[0] == "labelnoise" or spec.origin in ("built-in", "frozen"):
        return False
    places = [spec.origin] if spec.origin else list(spec.submodule_search_locations or ())
    paths = [Path(place).resolve() for place in places]
    return not any(FOREIGN & {*path.parts} or any(map(path.is_relative_to, INSTALLED)) for path in paths)
