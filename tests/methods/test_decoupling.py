import pytest
import torch
from torch import Tensor
from torch.func import functional_call, vmap

from labelnoise.engine.executors import EXECUTORS
from labelnoise.errors import InputError
from labelnoise.methods import build
from labelnoise.methods.ce import CE
from labelnoise.methods.decoupling import Decoupling
from labelnoise.nets import Dropout
from labelnoise.testing import training
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


def test_the_record_is_told_that_both_learn_from_the_disagreement(nets, labelled) -> None:
    kept = Decoupling().objective(nets, labelled(LABELS), Context()).kept
    assert {name: weight.tolist() for name, weight in kept.items()} == {
        "a": [0, 0, 0, 1, 1, 1],
        "b": [0, 0, 0, 1, 1, 1],
    }


@pytest.mark.parametrize(("floor", "divisor"), [(0.1, 3), (0.5, 3), (1.0, 6)])
def test_the_sum_is_divided_by_no_less_than_the_floor(nets, labelled, floor: float, divisor: int) -> None:
    loss = Decoupling(floor).objective(nets, labelled(LABELS), Context()).loss.item()
    assert loss == pytest.approx(3 * (1.008967 + 2.147666) / divisor, abs=4e-6)


def test_the_official_preset_has_a_floor_of_a_tenth() -> None:
    assert build("decoupling", {"preset": "official"}) == Decoupling(0.1)


def test_in_the_warm_up_every_example_counts_whatever_the_predictions(twins, labelled) -> None:
    method, batch = Decoupling(warm_up=0.3), labelled(LABELS)
    early, late = (
        method.objective(twins, batch, Context(progress=torch.tensor(share, dtype=torch.float64)))
        for share in (0.2, 0.3)
    )
    expected = 2 * CE().objective({"net": twins["a"]}, batch, Context()).loss
    torch.testing.assert_close(early.loss, expected, rtol=1e-14, atol=0)
    assert (early.active["a"], late.loss, late.active["a"]) == (1, 0, 0)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_networks_that_agree_stay_bit_for_bit_with_a_warm_optimiser(executor) -> None:
    """Adam moves on a zero gradient, so after two epochs of disagreement a copy of one network must not be touched."""
    trained = training([Decoupling()] * 2, executor, seeds=(0, 1))
    phase = trained.phases[0]
    trained.begin(phase)
    trained.finish(phase._replace(end=2))
    for lane in trained.executor.lanes:
        for name, value in lane.params.items():
            if ".a." in name:
                lane.params[name.replace(".a.", ".b.")].data.copy_(value.data)
        for module in lane.module.modules():
            if isinstance(module, Dropout):
                module.rate = 0.0
    learnt = {f"weights|{name}" for name in trained.executor.lanes[0].params}
    state = trained.state()
    before = {name: state[name].clone() for name in state if name in learnt or name.startswith("optimiser|")}
    batch, _ = next(trained.loader.epoch(2, 20))
    terms = trained.executor.step(batch, (), {}, trained.clock(phase, 0, 4))
    assert terms.logs["differ"].tolist() == [0, 0]
    assert all(value.abs().max() > 0 for name, value in before.items() if "exp_avg" in name)
    assert all(torch.equal(value, trained.state()[name]) for name, value in before.items())


@pytest.mark.parametrize("settings", [{"floor": -0.1}, {"floor": 1.1}, {"warm_up": 2.0}])
def test_shares_out_of_range_are_refused(settings) -> None:
    with pytest.raises(InputError, match=r"are shares: they must lie in \[0, 1\]"):
        Decoupling(**settings)


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
