import pytest
import torch

from labelnoise.engine.step import Step, follow
from labelnoise.nets.mentor import Level, MeanLevel, Mentor


def test_a_mean_that_follows_levels_is_their_weighted_mean() -> None:
    step = Step({"level": Level().double(), "mean": MeanLevel().double()})
    state, seen = dict(step.named_buffers()), []
    for number in (4.0, 2.0, 8.0):
        seen.append(step.networks["mean"](step.networks["level"](torch.tensor(number)), 0.5).item())
        follow(state, {"mean": ("level", 0.5)})
    assert seen == pytest.approx([4.0, (4 / 4 + 2 / 2) / 0.75, (4 / 8 + 2 / 4 + 8 / 2) / 0.875])
    assert step.networks["mean"](torch.zeros(())).item() == pytest.approx(seen[-1])


def test_a_level_passes_no_gradient_to_what_is_noted() -> None:
    level, number = Level(), torch.tensor(3.0, requires_grad=True)
    level(number)
    assert (level.value.item(), level.value.requires_grad) == (3.0, False)


def test_a_level_notes_nothing_in_eval_mode() -> None:
    level = Level().eval()
    assert level(torch.tensor(3.0)).item() == 3.0
    assert level.value.item() == 0.0


def test_a_weight_is_that_of_an_example_alone() -> None:
    torch.manual_seed(0)
    mentor, losses, labels = Mentor(3), torch.rand(5), torch.tensor([0, 1, 2, 0, 1])
    together = mentor(losses, torch.tensor(0.4), labels, torch.tensor(0.5))
    assert together.shape == (5,)
    for i in range(5):
        alone = mentor(losses[i : i + 1], torch.tensor(0.4), labels[i : i + 1], torch.tensor(0.5))
        torch.testing.assert_close(alone[0], together[i])


def test_a_mentor_has_a_hidden_layer_of_twenty_and_labels_of_two_numbers() -> None:
    assert sum(param.numel() for param in Mentor(7).parameters()) == 7 * 2 + 5 * 20 + 20 + 20 + 1
