"""What is noted while networks train: what they say of rows left aside, and how they take to those they learn from."""

from collections.abc import Iterator, Sequence
from math import nan

import torch
from torch import Tensor

from labelnoise.data.loader import Loader
from labelnoise.data.split import Splits
from labelnoise.engine.evaluate import rows_at_once
from labelnoise.engine.executors import Executor
from labelnoise.engine.observer import EpochResult
from labelnoise.sweep.run import Display

LEAST = -50.0  # of a log-probability, so that a difference of two is a number


def margin(log_probs: Tensor, labels: Tensor) -> Tensor:
    """How far the logit of each label (...,) is above the largest other one of (..., K)."""
    kept = log_probs.clamp_min(LEAST)
    place = labels.unsqueeze(-1)
    own, others = kept.gather(-1, place).squeeze(-1), kept.scatter(-1, place, -torch.inf)
    return own - others.max(-1).values


class Watch:
    """Looks on at a training of folds.

    A prediction is the mean over all epochs up to the one at which these means agree best with the given labels of the
    rows left aside: later ones have learnt wrong labels by heart, single ones waver. A margin is the mean of all.
    """

    def __init__(self, executor: Executor, loader: Loader, display: Display, *, margins: bool = True) -> None:
        self.executor, self.loader, self.display = executor, loader, display
        self._wants_margins = margins  # else nobody asks the networks about rows they learn from
        self.history: list[dict[str, float]] = []
        self._margins: Tensor = torch.zeros((), device=loader.device)  # (R, rows learnt from), sum over epochs
        self._sums: dict[str, Tensor] = {}  # of predictions by part, (R, n, K)
        self._best, self._means = -1.0, self._sums

    def stepped(self, epoch: int, step: int, steps: int) -> None:
        """A step is done."""
        self.display.tick(epoch, step, steps)

    def judged(self, epoch: int, share: float) -> None:
        """So much of an evaluation is done."""
        self.display.judge(epoch, share)

    def finished_epoch(self, result: EpochResult) -> None:
        """Add what the networks say now."""
        runs = list(result.measures.values())
        means = {
            name: sum(run.get(name, nan) for run in runs) / max(len(runs), 1)
            for name in ("train/loss", "validation/accuracy_given")
        }
        loss, accuracy = means.values()
        self.history.append({"epoch": result.epoch + 1, "train_loss": loss, "validation_accuracy": accuracy})
        if self._wants_margins:
            learnt = [margin(log_probs, labels) for log_probs, labels in self._said("train")]
            self._margins = self._margins + torch.cat(learnt, dim=1)
        self._add_predictions()

    def margins(self, splits: Sequence[Splits], rows: int) -> Tensor:
        """Of each row, over all epochs and all networks that learn from it; NaN where none does."""
        means = self._margins.cpu() / len(self.history)
        return _mean([(split.train, own) for split, own in zip(splits, means, strict=True)], rows)

    def predictions(self, splits: Sequence[Splits], rows: int) -> Tensor:
        """Probabilities (n, K) of each row by the networks that leave it aside."""
        each = [
            (getattr(split, part), own)
            for part, means in self._means.items()
            for split, own in zip(splits, means.cpu(), strict=True)
        ]
        return _mean(each, rows)

    def _add_predictions(self) -> None:
        for part in ("validation", "test"):
            if pieces := [log_probs.exp() for log_probs, _ in self._said(part)]:
                probs = torch.cat(pieces, dim=1)
                self._sums[part] = self._sums[part] + probs if part in self._sums else probs
        given = self.loader.parts["validation"].y_given
        agreement = float((self._sums["validation"].argmax(-1) == given).double().mean())
        if agreement >= self._best:
            self._best = agreement
            self._means = {part: total / len(self.history) for part, total in self._sums.items()}

    def _said(self, part: str) -> Iterator[tuple[Tensor, Tensor]]:
        # log-probabilities (R, b, K) and given labels (R, b), piece by piece
        for chunk in self.loader.chunks(part, rows_at_once(self.loader)):
            yield self.executor.log_probs(chunk.x), chunk.y_given


def _mean(each: Sequence[tuple[Tensor, Tensor]], rows: int) -> Tensor:
    # of values (n, ...) of some rows each
    total = each[0][1].new_zeros(rows, *each[0][1].shape[1:])
    count = total.new_zeros(rows, *(1 for _ in total.shape[1:]))
    for places, values in each:
        total.index_add_(0, places, values)
        count.index_add_(0, places, count.new_ones(len(places), *count.shape[1:]))
    return total / count
