from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.func import vmap

from labelnoise.methods.ce import CE
from labelnoise.methods.co_teaching import CoTeaching
from labelnoise.types import Context, DataSpec

LOGITS_A = [[3, 0, 0], [0, 2, 0], [0, 0, 0.5], [1.2, 1, 0], [0, 0, 4], [2, 0, 0]]
LOGITS_B = [[1, 0, 0], [0, 3, 0], [0, 0, 2], [0, 2.5, 0], [2, 0, 0], [0, 0, 1]]
LABELS = [0, 1, 2, 0, 2, 1]


def at(epoch: float) -> Context:
    return Context(epoch=torch.tensor(epoch, dtype=torch.float64))


@pytest.fixture
def nets(table):
    return {"a": table(LOGITS_A), "b": table(LOGITS_B)}


@pytest.mark.parametrize(("forget", "loss"), [(1 / 3, 0.842097 + 1.384480), (1 / 2, 0.376281 + 0.961971)])
def test_objective_is_the_published_sum(nets, labelled, forget: float, loss: float) -> None:
    terms = CoTeaching(forget).objective(nets, labelled(LABELS), at(20))
    assert terms.loss.item() == pytest.approx(loss, abs=2e-6)
    assert terms.logs["kept"].item() == pytest.approx(1 - forget)


def test_each_network_learns_from_the_others_picks_alone(nets, labelled) -> None:
    CoTeaching(1 / 3).objective(nets, labelled(LABELS), at(20)).loss.backward()
    learnt = {name: set(net.logits.grad.abs().sum(1).nonzero().flatten().tolist()) for name, net in nets.items()}
    assert learnt == {"a": {1, 2, 0, 5}, "b": {4, 0, 1, 3}}


def test_networks_do_not_share_a_gradient(nets, labelled) -> None:
    """Network a learns as it would alone from its mean loss over the picks of b."""
    CoTeaching(1 / 3).objective(nets, labelled(LABELS), at(20)).loss.backward()
    probs, one_hot = nets["a"].logits.detach().softmax(-1), torch.eye(3)[LABELS]
    picks = torch.tensor([1.0, 1, 1, 0, 0, 1])
    torch.testing.assert_close(nets["a"].logits.grad, picks[:, None] * (probs - one_hot) / 4)


@pytest.mark.parametrize(("forget", "epoch"), [(0.0, 20.0), (0.5, 0.0)])
def test_forgetting_nothing_gives_both_cross_entropies(nets, labelled, forget: float, epoch: float) -> None:
    batch = labelled(LABELS)
    loss = CoTeaching(forget).objective(nets, batch, at(epoch)).loss
    expected = sum(CE().objective({"net": net}, batch, Context()).loss for net in nets.values())
    torch.testing.assert_close(loss, expected, rtol=1e-14, atol=0)


def test_identical_networks_keep_their_own_small_losses(table, labelled) -> None:
    twins = {"a": table(LOGITS_A), "b": table(LOGITS_A)}
    loss = CoTeaching(1 / 3).objective(twins, labelled(LABELS), at(20)).loss
    assert loss.item() == pytest.approx(2 * 0.280456, abs=2e-6)


@pytest.mark.parametrize(("ramp", "kept"), [(10, 5 / 6), (3, 1 / 2)])
def test_share_forgotten_grows_over_the_ramp(nets, labelled, ramp: int, kept: float) -> None:
    terms = CoTeaching(0.5, ramp).objective(nets, labelled(LABELS), at(2))
    assert terms.logs["kept"].item() == pytest.approx(kept)  # 1 - 0.5 · 2/9 of six is five; 1 - 0.5 is three


def test_told_the_noise_rate_it_forgets_as_much() -> None:
    assert CoTeaching(ramp=5).informed(0.4) == CoTeaching(0.4, 5)


def test_objective_compares_examples() -> None:
    assert CoTeaching().coupled


def test_first_network_predicts(nets) -> None:
    log_probs = CoTeaching().log_probs(nets, torch.zeros(6, 4), Context())
    assert torch.equal(log_probs, nets["a"].logits.log_softmax(-1))


def test_networks_are_two_and_start_apart(spec: DataSpec) -> None:
    nets = CoTeaching().networks(spec)
    assert list(nets) == ["a", "b"]
    assert not torch.equal(nets["a"][0].weight, nets["b"][0].weight)


def test_objective_mapped_over_forget_equals_the_loop(nets, labelled) -> None:
    values, batch = torch.tensor([0.0, 0.2, 1 / 3, 0.5, 0.9], dtype=torch.float64), labelled(LABELS)

    def loss(forget: float | Tensor) -> Tensor:
        return replace(CoTeaching(), forget=forget).objective(nets, batch, at(7)).loss

    torch.testing.assert_close(vmap(loss)(values), torch.stack([loss(v) for v in values.tolist()]), rtol=1e-14, atol=0)
