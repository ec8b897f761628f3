"""Inputs, given labels and, where known, true ones; data sets by name, splits and augmentation."""

from labelnoise.data import synthetic
from labelnoise.data.dataset import DATASETS, Dataset, Splits, load, split

__all__ = ["DATASETS", "Dataset", "Splits", "load", "split", "synthetic"]
