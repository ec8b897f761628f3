"""Inputs, given labels and, where known, true ones; data sets by name or of one's own, splits and augmentation."""

from labelnoise.data import synthetic
from labelnoise.data.dataset import DATASETS, Dataset, load
from labelnoise.data.own import Inputs, is_own, read, read_inputs
from labelnoise.data.split import Splits, split
from labelnoise.data.standard import registered

__all__ = [
    "DATASETS",
    "Dataset",
    "Inputs",
    "Splits",
    "is_own",
    "load",
    "read",
    "read_inputs",
    "registered",
    "split",
    "synthetic",
]
