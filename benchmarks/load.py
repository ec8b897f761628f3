"""How long MNIST and CIFAR-10 take from the data root to the device, all checks included.

    python benchmarks/load.py [--device cpu]

Each is read in a process of its own, the second time of two, so that the file lies in the system's memory. A set that
is not in the data root is replaced by random pixels of the same size in a temporary one.
"""

import os
import subprocess
import sys
import tempfile
from unittest.mock import patch

import click
import numpy as np

from labelnoise.data.standard.cache import path_of, save
from labelnoise.data.standard.catalogue import CARDS, Card

MOST = {"mnist": 1.0, "cifar10": 2.0}  # seconds
CHILD = """
import sys, time
started = time.perf_counter()
import torch
from labelnoise.data import load
name, device = sys.argv[1:]
torch.zeros(1, device=device)
imported = time.perf_counter()
data = load(name, 0)
x, y = data.x.to(device), data.y_given.to(device)
if device != "cpu":
    torch.cuda.synchronize()
loaded = time.perf_counter()
print(f"{name}: {len(data)} rows of shape {data.shape}, {x.nbytes / 2**20:.0f} MiB, on {device} in "
      f"{loaded - imported:.2f} s; with the import of torch {loaded - started:.2f} s", end="")
"""


def stand_in(card: Card) -> None:
    """Random pixels and labels where the set would be."""
    rng = np.random.default_rng(0)
    parts = [rng.integers(0, 256, (rows, *card.shape), dtype=np.uint8) for rows in (card.train, card.test)]
    labels = [rng.integers(0, card.classes, len(part)) for part in parts]
    facts = {"train": card.train, "classes": [str(label) for label in range(card.classes)]}
    save(card, {"x": parts, "y": labels}, facts)


@click.command()
@click.option("--device", default="cpu")
def main(device: str) -> None:
    """Print one line for each set."""
    for name, most in MOST.items():
        with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ):
            real = path_of(CARDS[name]).exists()
            if not real:
                os.environ["LABELNOISE_DATA"] = folder
                stand_in(CARDS[name])
            command = [sys.executable, "-c", CHILD, name, device]
            for _ in range(2):
                told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            print(f"{told} (at most {most:g} s are allowed){'' if real else '; random pixels, not the real set'}")


if __name__ == "__main__":
    main()
