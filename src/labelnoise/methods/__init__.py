"""One method per file; every file of this folder is imported, so that no list has to be kept."""

from importlib import import_module
from pkgutil import iter_modules

from labelnoise.methods.base import METHODS, Method, Stage, build, hyper, register
from labelnoise.methods.select import disagreement, forget_rate, keep_smallest, self_paced, weighted_mean

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = [
    "METHODS",
    "Method",
    "Stage",
    "build",
    "disagreement",
    "forget_rate",
    "hyper",
    "keep_smallest",
    "register",
    "self_paced",
    "weighted_mean",
]
