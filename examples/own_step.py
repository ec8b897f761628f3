"""A whole method of labelnoise in a training loop of one's own: co-teaching, two networks that choose for each other.

python examples/own_step.py
"""

import torch
from sklearn.datasets import load_digits
from torch import nn

import labelnoise
from labelnoise.noise import flip, symmetric

digits = load_digits()
x = torch.tensor(digits.data / 16, dtype=torch.float32)
true = torch.tensor(digits.target)
given = flip(true, symmetric(classes=10, rate=0.45), seed=0)  # nearly half of the labels are wrong
train, test = slice(0, 1200), slice(1200, None)
EPOCHS = 40


def net(outputs: int) -> nn.Module:
    """A new network; co-teaching makes two."""
    return nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, outputs))


def accuracy_of(step: nn.Module) -> float:
    """Train on the given labels; accuracy against the true ones on rows it has not seen."""
    torch.manual_seed(0)
    optimiser = torch.optim.Adam(step.parameters(), lr=3e-3)
    for epoch in range(EPOCHS):
        step.begin_epoch(epoch, EPOCHS)  # co-teaching forgets more from epoch to epoch
        for rows in torch.randperm(1200).split(64):
            optimiser.zero_grad()
            step(x[train][rows], given[train][rows]).backward()
            optimiser.step()
    return (step.predict(x[test]) == true[test]).float().mean().item()


steps = {
    "ce": labelnoise.step("ce", net=net, classes=10),
    "co_teaching": labelnoise.step("co_teaching", net=net, classes=10, forget=0.45),
}
accuracies = {name: accuracy_of(step) for name, step in steps.items()}
for name, accuracy in accuracies.items():
    print(f"{name:<12} {accuracy:.3f}")
