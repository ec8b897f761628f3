"""Networks by name, one family per file; every file of this folder is imported, so that no list has to be kept."""

from importlib import import_module
from pkgutil import iter_modules

from labelnoise.nets.base import NETS, Net, build, make_head, register
from labelnoise.nets.dropout import Dropout
from labelnoise.nets.heads import CentredLogits, HeteroscedasticHead, LogisticNormalHead, NoisyLogits

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = [
    "NETS",
    "CentredLogits",
    "Dropout",
    "HeteroscedasticHead",
    "LogisticNormalHead",
    "Net",
    "NoisyLogits",
    "build",
    "make_head",
    "register",
]
