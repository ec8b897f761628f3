"""How many images per second come from disk: JPEGs of 300 × 400 pixels, windows of 224 × 224 out of 256.

    python benchmarks/stream.py [--images 512] [--batch 32] [--repeats 3] [--workers 0,1,2]

The images are made in a temporary folder, so that they lie in the system's memory: decoding is measured, not the disk.
For each number of workers the first batch, which waits for them to start, is told apart; the rate is of the fastest
repeat. Nothing else is done with the batches, as if a GPU trained.
"""

import tempfile
import time
from pathlib import Path

import click
import numpy as np
import torch
from PIL import Image

from labelnoise.data.dataset import Dataset
from labelnoise.data.loader import Task
from labelnoise.data.pictures import Pictures
from labelnoise.data.split import Splits
from labelnoise.data.stream import Stream


def write(folder: Path, images: int) -> Pictures:
    """Images with soft shapes and some grain, about as large on disk as photographs."""
    rng = np.random.default_rng(0)
    for row in range(images):
        soft = Image.fromarray(rng.integers(0, 256, (12, 9, 3), np.uint8)).resize((300, 400), Image.Resampling.BICUBIC)
        grain = np.asarray(soft) + rng.normal(0, 6, (400, 300, 3))
        Image.fromarray(grain.clip(0, 255).astype(np.uint8)).save(folder / f"{row}.jpg", quality=85)
    return Pictures(folder, np.array([f"{row}.jpg".encode() for row in range(images)]))


def measure(task: Task, workers: int, batch: int, repeats: int) -> tuple[float, float]:
    """Seconds until the first batch, and images per second of the fastest epoch."""
    loader = Stream([task], workers=workers)
    began = time.perf_counter()
    next(loader.epoch(0, batch))
    first, fastest = time.perf_counter() - began, float("inf")
    for epoch in range(repeats):
        began = time.perf_counter()
        for _ in loader.epoch(epoch, batch):
            pass
        fastest = min(fastest, time.perf_counter() - began)
    return first, loader.samples / fastest


@click.command()
@click.option("--images", default=512)
@click.option("--batch", default=32)
@click.option("--repeats", default=3)
@click.option("--workers", default="0,1,2")
def main(images: int, batch: int, repeats: int, workers: str) -> None:
    """Print one line for each number of workers."""
    with tempfile.TemporaryDirectory() as name:
        pictures = write(Path(name), images)
        size = sum(path.stat().st_size for path in Path(name).iterdir()) / images
        print(f"{images} images of {size / 1024:.0f} KiB, batches of {batch}, torch {torch.__version__}", flush=True)
        data = Dataset("made", pictures, torch.arange(images) % 2, None, ("a", "b"))
        rows = torch.arange(images)
        task = Task(data, Splits(rows, rows[:1], rows[:1]), 0)
        alone = 0.0
        for number in map(int, workers.split(",")):
            first, rate = measure(task, number, batch, repeats)
            alone = alone or rate
            print(
                f"{number} workers: {rate:5.0f} images/s, {rate / alone:.2f} times the first; "
                f"first batch after {first:.2f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
