"""A folder of images with one folder per class, a quarter of the images in a wrong one.

    python examples/images_folder.py

At its end it prints the files that the chosen model doubts most: a list to look through, no verdict.
"""

import shutil
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from sklearn.datasets import load_digits

from labelnoise import compare_methods
from labelnoise.noise import flip, symmetric
from labelnoise.report.tables import markdown

folder = Path("runs/examples/digits")
shutil.rmtree(folder, ignore_errors=True)

digits = load_digits()
given = flip(torch.tensor(digits.target), symmetric(classes=10, rate=0.25), seed=0).tolist()
for row, (pixels, true, label) in enumerate(zip(digits.images[:900], digits.target, given, strict=False)):
    place = folder / str(label) / f"{row:03}_is_{true}.png"  # a name is not looked at, only its folder
    place.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray((pixels * 15.9).astype(np.uint8)).save(place)

comparison = compare_methods(
    folder, settings={"methods": "ce,gce", "seeds": 2, "train": {"epochs": 30}}, out="runs/examples/digits_compared"
)
print(markdown(comparison.summary))

prediction = comparison.model().predict(folder)
labels = [prediction.classes.index(file.split("/")[0]) for file in prediction.ids]
belief = prediction.probs[range(len(labels)), labels]  # probability of the label that was given
doubted = [prediction.ids[row] for row in belief.argsort()[:10]]
print("Most doubted:", *doubted, sep="\n  ")
