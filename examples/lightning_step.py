"""A method of labelnoise in Lightning: the module is its forward, and Lightning does the rest.

    pip install lightning
    python examples/lightning_step.py

Decoupling leaves its networks alone where they agree, hence `mask_gradients`; most methods do not need it.
"""

import lightning as L
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import labelnoise
from labelnoise.noise import flip, symmetric

digits = load_digits()
x = torch.tensor(digits.data / 16, dtype=torch.float32)
true = torch.tensor(digits.target)
given = flip(true, symmetric(classes=10, rate=0.3), seed=0)


def net(outputs: int) -> nn.Module:
    """A new network at each call."""
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, outputs))


class Noisy(L.LightningModule):
    """Any method of labelnoise whose training has one stage."""

    def __init__(self, method: str, **settings: float) -> None:
        super().__init__()
        self.step = labelnoise.step(method, net=net, classes=10, **settings)

    def on_train_epoch_start(self) -> None:
        """Tell the method how far the training is."""
        self.step.begin_epoch(self.current_epoch, self.trainer.max_epochs, int(self.trainer.num_training_batches))

    def training_step(self, batch: tuple[Tensor, Tensor], index: int) -> Tensor:
        """The method's objective, and whatever it logs."""
        loss = self.step(*batch)
        self.log_dict({"loss": loss, **self.step.logs})
        return loss

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Leave networks alone that are not to learn from this batch; in mixed precision gradients are unscaled now."""
        self.step.mask_gradients()

    def on_train_batch_end(self, outputs: object, batch: object, index: int) -> None:
        """Running means follow, in methods that have any."""
        self.step.follow()

    def validation_step(self, batch: tuple[Tensor, Tensor], index: int) -> None:
        """Accuracy against the true labels."""
        inputs, labels = batch
        self.log("accuracy", (self.step.predict(inputs) == labels).float().mean())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """By network, for some methods ask for a rate of their own."""
        return torch.optim.Adam(self.step.groups(), lr=1e-3)


L.seed_everything(0)
model = Noisy("decoupling", warm_up=0.5)
trainer = L.Trainer(
    max_epochs=20,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(
    model,
    DataLoader(TensorDataset(x[:1200], given[:1200]), batch_size=64, shuffle=True),
    DataLoader(TensorDataset(x[1200:], true[1200:]), batch_size=600),
)
accuracy = float(trainer.callback_metrics["accuracy"])
print(f"decoupling   {accuracy:.3f}")
