"""From a CSV file with doubtful labels to predictions: scikit-learn's wines, a third of the labels made wrong.

    python examples/wine_csv.py

What it writes lies in runs/examples. The same without Python, once the files are there:

    labelnoise train --data runs/examples/wine.csv --methods ce,gce,co_teaching
"""

from pathlib import Path

import torch
from sklearn.datasets import load_wine

from labelnoise import compare_methods
from labelnoise.noise import flip, symmetric
from labelnoise.report.tables import markdown
from labelnoise.results.model import write_csv

folder = Path("runs/examples")
folder.mkdir(parents=True, exist_ok=True)

# 138 labelled wines in one file, 40 without a label in another; the truth is kept for the last line only.
wine = load_wine(as_frame=True)
given = flip(torch.tensor(wine.target), symmetric(classes=3, rate=1 / 3), seed=0)
table = wine.data.assign(label=wine.target_names[given]).sample(frac=1, random_state=0)
table[:138].to_csv(folder / "wine.csv", index=False)
table[138:].drop(columns="label").to_csv(folder / "new_wine.csv", index=False)

comparison = compare_methods(
    folder / "wine.csv",
    settings={"methods": {"ce": {}, "gce": {}, "co_teaching": {"forget": 0.3}}, "seeds": 5},
    out=folder / "wine",
)
print(markdown(comparison.summary))
print(*comparison.summary.notes, f"Report: {comparison.report}", sep="\n")

prediction = comparison.model().predict(folder / "new_wine.csv")
write_csv(prediction, folder / "new_wine_predicted.csv")
true = wine.target_names[wine.target[table.index[138:]]]
right = sum(map(str.__eq__, prediction.labels, true))
print(f"Of {len(true)} new wines, {right} are predicted right: {folder / 'new_wine_predicted.csv'}")
