from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.func import vmap

from labelnoise.errors import InputError
from labelnoise.methods import build
from labelnoise.methods.ce import CE
from labelnoise.methods.co_teaching import CoTeaching
from labelnoise.testing import CHECKS
from labelnoise.types import Context, DataSpec, Snapshot

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
    assert terms.kept["a"].mean().item() == pytest.approx(1 - forget)


def test_the_record_is_told_what_each_network_learns_from(nets, labelled) -> None:
    kept = CoTeaching(1 / 3).objective(nets, labelled(LABELS), at(20)).kept
    picks = {name: set(weight.nonzero().flatten().tolist()) for name, weight in kept.items()}
    assert picks == {"a": {1, 2, 0, 5}, "b": {4, 0, 1, 3}}


def test_the_official_preset_divides_twice_and_begins_the_ramp_at_its_second_value(nets, labelled) -> None:
    method = build("co_teaching", {"preset": "official", "forget": 1 / 3})
    assert method.objective(nets, labelled(LABELS), at(20)).loss.item() == pytest.approx(0.210524 + 0.346120, abs=2e-6)
    short = replace(method, forget=0.5, ramp=3)  # 0, 0.25, 0.5
    assert [short.objective(nets, labelled(LABELS), at(t)).kept["a"].sum() for t in (0, 1)] == [4, 3]


@pytest.mark.parametrize(("preset", "kept"), [({}, [3, 3]), ({"preset": "paper"}, [4, 3])])
def test_the_ramp_of_the_paper_is_there_one_epoch_later(nets, labelled, preset, kept) -> None:
    method = build("co_teaching", {**preset, "forget": 0.5, "ramp": 3})
    assert [method.objective(nets, labelled(LABELS), at(t)).kept["a"].sum() for t in (2, 3)] == kept


def test_an_estimated_rate_is_one_minus_the_mean_diagonal_of_the_anchor_matrix() -> None:
    T = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6]], dtype=torch.float64)
    posteriors = torch.eye(3, dtype=torch.float64).repeat(40, 1) @ T
    _, second = CoTeaching(rate="estimated").stages()
    assert second.before(Snapshot(posteriors, torch.zeros(120), 0.3))["rate"].item() == pytest.approx(0.3, abs=1e-12)


def test_an_estimated_rate_is_what_is_forgotten(nets, labelled) -> None:
    ctx = at(20)._replace(aux={"rate": torch.tensor(1 / 3, dtype=torch.float64)})
    loss = CoTeaching(0.9, rate="estimated").objective(nets, labelled(LABELS), ctx).loss
    assert loss.item() == pytest.approx(0.842097 + 1.384480, abs=2e-6)


def test_a_rate_is_estimated_by_networks_that_forget_nothing_and_start_anew(nets, labelled) -> None:
    first, second = CoTeaching(0.5, rate="estimated", warm_up=0.4).stages()
    assert (first.share, second.share, second.restart) == (0.4, 0.6, ("a", "b"))
    assert first.method.objective(nets, labelled(LABELS), at(20)).kept["a"].sum() == 6


def test_a_rate_that_is_to_be_estimated_cannot_be_told() -> None:
    assert CoTeaching(rate="estimated").informed(0.4) == CoTeaching(rate="estimated")


@pytest.mark.parametrize("check", ["packed_equals_alone", "state_round_trips", "learns_separable_blobs"])
def test_with_an_estimated_rate_it_keeps_the_contract(check: str) -> None:
    CHECKS[check](build("co_teaching", {"rate": "estimated"}))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"form": "cosine"}, "form must be linspace or paper, not 'cosine'"),
        ({"rate": "guessed"}, "rate must be given or estimated, not 'guessed'"),
        ({"forget": 1.5}, "forget must be a share between 0 and 1, not 1.5"),
        ({"ramp": -1}, "ramp and first are numbers of epochs"),
        ({"warm_up": 0.5}, "warm_up has no effect here, only with rate=estimated"),
        ({"warm_up": 1.0, "rate": "estimated"}, "warm_up must lie between 0 and 1, not 1.0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        build("co_teaching", settings)


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
    assert terms.kept["a"].mean().item() == pytest.approx(kept)  # 1 - 0.5 · 2/9 of six is five; 1 - 0.5 is three


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
