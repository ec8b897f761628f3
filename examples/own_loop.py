"""A loss of labelnoise in a training loop of one's own: nothing else of the library is needed.

python examples/own_loop.py
"""

import torch
from sklearn.datasets import load_digits
from torch import nn

from labelnoise.losses import ForwardLoss, GCELoss
from labelnoise.noise import flip, symmetric

digits = load_digits()
x = torch.tensor(digits.data / 16, dtype=torch.float32)
true = torch.tensor(digits.target)
T = symmetric(classes=10, rate=0.5)
given = flip(true, T, seed=0)  # half of the labels are wrong
train, test = slice(0, 1200), slice(1200, None)


def accuracy_of(loss: nn.Module) -> float:
    """Train a small network on the given labels; accuracy against the true ones on rows it has not seen."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(40):
        for rows in torch.randperm(1200).split(64):
            optimiser.zero_grad()
            loss(net(x[train][rows]), given[train][rows]).backward()
            optimiser.step()
    return (net(x[test]).argmax(1) == true[test]).float().mean().item()


losses = {"cross-entropy": nn.CrossEntropyLoss(), "GCELoss": GCELoss(q=0.7), "ForwardLoss": ForwardLoss(T)}
accuracies = {name: accuracy_of(loss) for name, loss in losses.items()}
for name, accuracy in accuracies.items():
    print(f"{name:<14} {accuracy:.3f}")
