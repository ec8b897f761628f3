import pytest
import torch
from torch import Tensor
from torch.func import functional_call, vmap

from labelnoise.methods.decoupling import Decoupling
from labelnoise.types import Context, DataSpec

LOGITS_A = [[3, 0, 0], [0, 2, 0], [0, 0, 0.5], [1.2, 1, 0], [0, 0, 4], [2, 0, 0]]
LOGITS_B = [[1, 0, 0], [0, 3, 0], [0, 0, 2], [0, 2.5, 0], [2, 0, 0], [0, 0, 1]]
LABELS = [0, 1, 2, 0, 2, 1]


@pytest.fixture
def nets(table):
    return {"a": table(LOGITS_A), "b": table(LOGITS_B)}


@pytest.fixture
def twins(table):
    return {"a": table(LOGITS_A), "b": table(LOGITS_A)}


def test_objective_is_the_published_sum(nets, labelled) -> None:
    terms = Decoupling().objective(nets, labelled(LABELS), Context())
    assert terms.loss.item() == pytest.approx(1.008967 + 2.147666, abs=2e-6)
    assert terms.logs["differ"].item() == pytest.approx(0.5)


def test_only_the_disagreement_teaches(nets, labelled) -> None:
    Decoupling().objective(nets, labelled(LABELS), Context()).loss.backward()
    for net in nets.values():
        assert set(net.logits.grad.abs().sum(1).nonzero().flatten().tolist()) == {3, 4, 5}


def test_networks_that_differ_are_active(nets, labelled) -> None:
    assert Decoupling().objective(nets, labelled(LABELS), Context()).active == {"a": 1, "b": 1}


def test_networks_that_agree_have_no_loss_no_gradient_and_are_not_active(twins, labelled) -> None:
    terms = Decoupling().objective(twins, labelled(LABELS), Context())
    terms.loss.backward()
    assert terms.loss == 0
    assert terms.active == {"a": 0, "b": 0}
    assert all(torch.equal(net.logits.grad, torch.zeros(6, 3)) for net in twins.values())


def test_needs_are_declared() -> None:
    assert Decoupling().coupled
    assert Decoupling().skips


def test_first_network_predicts(nets) -> None:
    log_probs = Decoupling().log_probs(nets, torch.zeros(6, 4), Context())
    assert torch.equal(log_probs, nets["a"].logits.log_softmax(-1))


def test_networks_are_two_and_start_apart(spec: DataSpec) -> None:
    nets = Decoupling().networks(spec)
    assert list(nets) == ["a", "b"]
    assert not torch.equal(nets["a"][0].weight, nets["b"][0].weight)


def test_half_precision_logits_do_not_coarsen_the_mean(labelled) -> None:
    """In bfloat16 the number 257 would be rounded to 256."""

    class Constant(torch.nn.Module):
        def __init__(self, row: list[float]) -> None:
            super().__init__()
            self.row = torch.tensor(row, dtype=torch.bfloat16)

        def forward(self, x: Tensor) -> Tensor:
            return self.row.expand(len(x), -1)

    nets = {"a": Constant([1.0, 0.0, 0.0]), "b": Constant([0.0, 1.0, 0.0])}
    loss = Decoupling().objective(nets, labelled([2] * 257), Context()).loss
    assert loss.item() == pytest.approx(2 * 1.551445, abs=1e-5)


def test_runs_that_agree_and_runs_that_differ_can_be_mapped_together(nets, labelled) -> None:
    tables = torch.tensor([LOGITS_B, LOGITS_A], dtype=torch.float64)
    batch = labelled(LABELS)

    def terms(logits: Tensor) -> tuple[Tensor, Tensor]:
        second = {"a": nets["a"], "b": lambda x: functional_call(nets["b"], {"logits": logits}, (x,))}
        result = Decoupling().objective(second, batch, Context())
        return result.loss, result.active["b"]

    losses, active = vmap(terms)(tables)
    assert losses.tolist() == pytest.approx([1.008967 + 2.147666, 0.0], abs=2e-6)
    assert active.tolist() == [1, 0]
