"""A pandas DataFrame with labels beside it, and noise that depends on the class: overlooked tumours.

    python examples/dataframe.py

Three in ten malignant cases are labelled benign, the others are right. The truth is known here and given as `y_true`,
so that accuracies are real ones; leave it out where you do not have it.
"""

from statistics import mean

import torch
from sklearn.datasets import load_breast_cancer

from labelnoise import compare_methods
from labelnoise.noise import TransitionMatrix, flip

cancer = load_breast_cancer(as_frame=True)
names = cancer.target_names  # malignant, benign
T = TransitionMatrix.from_rows([[0.7, 0.3], [0.0, 1.0]])  # T[i, j] = P(given j | true i)
given = flip(torch.tensor(cancer.target), T, seed=0)

cases = cancer.data.assign(scanner=["A" if n % 3 else "B" for n in range(len(cancer.data))])  # text is fine
cases.loc[::10, "mean area"] = None  # and so are missing values

comparison = compare_methods(
    cases,
    names[given],
    y_true=names[cancer.target],
    settings={"methods": "ce,gce,forward", "seeds": 3, "train": {"epochs": 20}},
    out="runs/examples/cancer",
)
summary = comparison.summary
print(f"{summary.noise_rate}; test accuracy against {summary.reference}:")
for row in summary.rows:
    print(f"  {row.label:<8} {mean(row.accuracies['selected']):.1%} over {row.runs} runs")

prediction = comparison.model().predict(cases.head(3))
for case, label, probs in zip(prediction.ids, prediction.labels, prediction.probs, strict=True):
    print(f"  case {case}: {label}, with probability {probs.max():.2f}")
