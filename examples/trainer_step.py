"""A method of labelnoise in a Hugging Face Trainer: a thin model around it, and a callback that tells the epoch.

pip install transformers accelerate
python examples/trainer_step.py
"""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn
from transformers import EvalPrediction, Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

import labelnoise
from labelnoise.noise import flip, symmetric

digits = load_digits()
x = torch.tensor(digits.data / 16, dtype=torch.float32)
true = torch.tensor(digits.target)
given = flip(true, symmetric(classes=10, rate=0.45), seed=0)


def net(outputs: int) -> nn.Module:
    """A new network at each call."""
    return nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, outputs))


class Noisy(nn.Module):
    """A Trainer wants a loss and, to evaluate, scores of the classes."""

    def __init__(self, step: nn.Module) -> None:
        super().__init__()
        self.step = step

    def forward(self, x: Tensor, labels: Tensor) -> dict[str, Tensor]:
        """The method's objective; in eval mode with log-probabilities of the true classes."""
        loss = self.step(x, labels)
        return {"loss": loss} if self.training else {"loss": loss, "logits": self.step.log_probs(x)}


class Epochs(TrainerCallback):
    """Tells the method how far the training is; the other two are for methods that ask for them."""

    def on_epoch_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, model: Noisy, **others: object
    ) -> None:
        """Co-teaching forgets more from epoch to epoch."""
        model.step.begin_epoch(round(state.epoch), round(state.num_train_epochs))

    def on_pre_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, model: Noisy, **others: object
    ) -> None:
        """Leave networks alone that are not to learn from this batch."""
        model.step.mask_gradients()

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, model: Noisy, **others: object
    ) -> None:
        """Running means follow."""
        model.step.follow()


def rows(part: slice, labels: Tensor) -> list[dict[str, Tensor]]:
    """Examples as a Trainer takes them."""
    return [{"x": each, "labels": label} for each, label in zip(x[part], labels[part], strict=True)]


def accuracy_of(prediction: EvalPrediction) -> dict[str, float]:
    """Against the labels of the rows evaluated."""
    return {"accuracy": float(np.mean(prediction.predictions.argmax(-1) == prediction.label_ids))}


trainer = Trainer(
    model=Noisy(labelnoise.step("co_teaching", net=net, classes=10, forget=0.45)),
    args=TrainingArguments(
        output_dir="runs/examples/trainer",
        num_train_epochs=30,
        per_device_train_batch_size=64,
        learning_rate=1e-3,
        weight_decay=0.0,
        lr_scheduler_type="constant",
        use_cpu=True,
        disable_tqdm=True,
        report_to="none",
        save_strategy="no",
        logging_strategy="no",
        label_names=["labels"],
    ),
    train_dataset=rows(slice(0, 1200), given),
    eval_dataset=rows(slice(1200, None), true),
    compute_metrics=accuracy_of,
    callbacks=[Epochs()],
)
trainer.train()
accuracy = trainer.evaluate()["eval_accuracy"]
print(f"co_teaching  {accuracy:.3f}")
trainer.save_model()  # runs/examples/trainer/model.safetensors
