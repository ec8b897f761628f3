import pytest
import torch

from labelnoise.crossfit.watch import Watch, margin
from labelnoise.data.loader import Chunk, Part
from labelnoise.data.split import Splits
from labelnoise.engine.observer import EpochResult
from labelnoise.sweep.run import Display

SPLITS = [
    Splits(torch.tensor([2, 3]), torch.tensor([0, 1]), torch.tensor([4])),
    Splits(torch.tensor([0, 1]), torch.tensor([2, 3]), torch.tensor([4])),
]
GIVEN = torch.tensor([0, 1, 2, 0, 0])


class Talker:
    """Stands for networks: in epoch e run r says softmax(table[e, r, row])."""

    def __init__(self, epochs):
        self.table = torch.randn(epochs, 2, 5, 3, generator=torch.Generator().manual_seed(0))
        self.epoch = 0

    def log_probs(self, x):
        runs = torch.arange(2)[:, None]
        return self.table[self.epoch][runs, x.long().squeeze(-1)].log_softmax(-1)


class Server:
    """Stands for a loader: an input is the number of its row."""

    device, seeds, shape = torch.device("cpu"), [0, 1], (1,)

    @property
    def parts(self):
        rows = torch.stack([split.validation for split in SPLITS])
        return {"validation": Part(rows, GIVEN[rows], None)}

    def chunks(self, part, size):
        rows = torch.stack([getattr(split, part) for split in SPLITS])
        for some in rows.split(1, dim=1):
            yield Chunk(some[..., None].float(), GIVEN[some], None)


def watched(epochs):
    talker = Talker(epochs)
    watch = Watch(talker, Server(), Display())
    for epoch in range(epochs):
        talker.epoch = epoch
        measures = {run: {"train/loss": run + epoch, "validation/accuracy_given": 0.5 * run} for run in range(2)}
        watch.finished_epoch(EpochResult("train", epoch, measures, {}))
    return talker.table, watch


def test_a_margin_is_the_label_s_logit_above_the_largest_other():
    logits = torch.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 1.0]])
    assert margin(logits.log_softmax(-1), torch.tensor([0, 2])).tolist() == pytest.approx([1.0, -4.0], abs=1e-6)


def test_a_margin_is_a_number_where_probabilities_are_zero():
    assert margin(torch.tensor([[0.0, -torch.inf, -torch.inf]]), torch.tensor([1])).isfinite().all()


def agreement(said):
    # of mean predictions (2, 5, 3) with the labels of rows that each run leaves aside
    guesses = said.argmax(-1)
    aside = [guesses[0, 0], guesses[0, 1], guesses[1, 2], guesses[1, 3]]
    return sum(int(guess) == int(label) for guess, label in zip(aside, GIVEN, strict=False))


def test_predictions_are_means_up_to_the_epoch_that_agrees_best_by_networks_that_left_the_row_aside():
    table, watch = watched(13)
    means = [table[: epoch + 1].softmax(-1).mean(0) for epoch in range(13)]
    said = max(reversed(means), key=agreement)  # of equals the last
    expected = torch.stack([said[0, 0], said[0, 1], said[1, 2], said[1, 3], said[:, 4].mean(0)])
    assert len([mean for mean in means if agreement(mean) < agreement(said)]) > 0
    torch.testing.assert_close(watch.predictions(SPLITS, 5), expected)


def test_one_epoch_is_enough():
    table, watch = watched(1)
    torch.testing.assert_close(watch.predictions(SPLITS, 5)[0], table[0, 0, 0].softmax(-1))


def test_margins_are_means_over_all_epochs_of_the_networks_that_learn():
    table, watch = watched(4)
    learner = [1, 1, 0, 0]  # of rows 0 to 3
    for row, run in enumerate(learner):
        each = []
        for epoch in range(4):
            logits = table[epoch, run, row].tolist()
            own = logits.pop(int(GIVEN[row]))
            each.append(own - max(logits))
        assert watch.margins(SPLITS, 5)[row].item() == pytest.approx(sum(each) / 4, abs=1e-5)
    assert watch.margins(SPLITS, 5)[4].isnan()


def test_the_history_has_means_over_the_networks():
    _, watch = watched(2)
    assert watch.history == [
        {"epoch": 1, "train_loss": 0.5, "validation_accuracy": 0.25},
        {"epoch": 2, "train_loss": 1.5, "validation_accuracy": 0.25},
    ]
