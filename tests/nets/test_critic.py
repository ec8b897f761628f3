import torch

from labelnoise.nets.critic import Critic


def test_a_score_is_that_of_a_pair_alone() -> None:
    critic, probs, labels = Critic(3).double(), torch.rand(5, 3).double(), torch.tensor([0, 1, 2, 0, 1])
    scores = critic(probs, labels)
    assert scores.shape == (5,)
    for i in range(5):
        torch.testing.assert_close(critic(probs[i : i + 1], labels[i : i + 1])[0], scores[i])


def test_it_begins_at_the_probability_of_the_label() -> None:
    probs = torch.tensor([[0.2, 0.3, 0.5]])
    assert [Critic(3)(probs, torch.tensor([label])).item() for label in range(3)] == probs[0].tolist()


def test_inputs_are_a_probability_and_a_mark_for_each_class() -> None:
    assert Critic(4, width=8).layers[0].weight.shape == (8, 8)
    assert sum(param.numel() for param in Critic(4, width=8).parameters()) == 8 * 8 + 8 + 8 + 1


def test_scores_stay_within_bounds() -> None:
    critic = Critic(3)
    with torch.no_grad():
        critic.layers[-1].bias.fill_(1e6)
    assert critic(torch.full((1, 3), 1 / 3), torch.tensor([0])).item() == 30
