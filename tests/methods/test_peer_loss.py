from dataclasses import replace
from itertools import product

import pytest
import torch
from torch import Tensor, nn
from torch.func import vmap

from labelnoise.errors import InputError
from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.methods import build
from labelnoise.methods.peer_loss import PeerLoss
from labelnoise.types import Batch, Context

LOG_H = torch.tensor([[0.7, 0.2, 0.1], [0.25, 0.6, 0.15], [0.2, 0.2, 0.6]], dtype=torch.float64).log()
PRIOR_X = torch.tensor([0.4, 0.35, 0.25], dtype=torch.float64)
CLEAN = torch.tensor([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]], dtype=torch.float64)
T = torch.tensor([[0.75, 0.2, 0.05], [0.1, 0.85, 0.05], [0.1, 0.2, 0.7]], dtype=torch.float64)


def batch(x: list[int], y: list[int]) -> Batch:
    return Batch(LOG_H[x], torch.tensor(y), torch.arange(len(x)))


NETS = {"net": nn.Identity()}
BATCH = batch([0, 1, 2, 0], [0, 1, 2, 2])
PEERS = (batch([2, 1, 0, 0], [1, 1, 1, 1]), batch([0, 0, 0, 0], [2, 0, 1, 0]))


def exact_risk(posterior: Tensor, alpha: float) -> float:
    """Expected peer loss when x, y'' and x' take all their values, each with its probability."""
    joint, prior_y = PRIOR_X[:, None] * posterior, PRIOR_X @ posterior
    apart = PRIOR_X[:, None] * prior_y
    risk = 0.0
    for x, y in product(range(3), repeat=2):
        pair, nothing = batch([x], [y]), (batch([0], [0]), batch([0], [0]))
        fit = PeerLoss(0.0, separate=True).objective(NETS, pair, Context(peers=nothing)).loss.item()
        blind = (
            PeerLoss(1.0, separate=True)
            .objective(NETS, pair, Context(peers=(batch([x], [0]), batch([0], [y]))))
            .logs["blind"]
            .item()
        )
        risk += joint[x, y].item() * fit - alpha * apart[x, y].item() * blind
    return risk


def test_inputs_come_from_the_first_peer_and_labels_from_the_second() -> None:
    terms = PeerLoss(0.5, separate=True).objective(NETS, BATCH, Context(peers=PEERS))
    fit = cross_entropy(BATCH.x, BATCH.y, 1e-5).mean()
    blind = cross_entropy(PEERS[0].x, PEERS[1].y, 1e-5).mean()
    assert terms.loss.item() == pytest.approx((fit - 0.5 * blind).item(), abs=1e-14)
    assert (terms.logs["fit"], terms.logs["blind"]) == (fit, blind)


def test_two_peers_are_declared_only_where_they_are_separate() -> None:
    assert (PeerLoss().peers, PeerLoss(separate=True).peers) == (0, 2)


def test_in_one_pass_each_input_meets_its_neighbours_label() -> None:
    terms = PeerLoss(0.5).objective(NETS, BATCH, Context())
    fit = cross_entropy(BATCH.x, BATCH.y, 1e-5).mean()
    blind = torch.stack([cross_entropy(BATCH.x[i : i + 1], BATCH.y[i - 1 : i or None][:1], 1e-5)[0] for i in range(4)])
    assert terms.loss.item() == pytest.approx((fit - 0.5 * blind.mean()).item(), abs=1e-14)


@pytest.mark.parametrize(("progress", "alpha"), [(0.0, 0.0), (0.4, 0.0), (0.55, 0.5), (0.7, 1.0), (1.0, 1.0)])
def test_alpha_rises_after_a_warm_up(progress: float, alpha: float) -> None:
    ctx = Context(progress=torch.tensor(progress, dtype=torch.float64))
    risen = PeerLoss(2.0, warm_up=0.4, ramp=0.3).objective(NETS, BATCH, ctx).loss
    assert risen.item() == pytest.approx(PeerLoss(2 * alpha).objective(NETS, BATCH, Context()).loss.item(), abs=1e-12)


def test_presets_are_those_of_paper_and_authors() -> None:
    assert build("peer_loss", {"preset": "paper"}) == PeerLoss(separate=True)
    assert build("peer_loss", {"preset": "official"}) == PeerLoss(separate=True, warm_up=0.4, ramp=0.6)


@pytest.mark.parametrize(("warm_up", "ramp"), [(-0.1, 0.2), (0.2, -0.1), (0.6, 0.5)])
def test_shares_must_fit_into_the_training(warm_up: float, ramp: float) -> None:
    with pytest.raises(InputError, match="must not be negative, nor above 1 together"):
        PeerLoss(warm_up=warm_up, ramp=ramp)


def test_alpha_of_zero_is_cross_entropy() -> None:
    loss = PeerLoss(0.0).objective(NETS, BATCH, Context()).loss
    assert loss.item() == pytest.approx(cross_entropy(BATCH.x, BATCH.y, 1e-5).mean().item(), abs=1e-14)


@pytest.mark.parametrize(("alpha", "clean", "noisy"), [(1.0, -0.45710716, -0.29711965), (0.5, 0.16983473, 0.32721487)])
def test_expected_risks_are_the_published_ones(alpha: float, clean: float, noisy: float) -> None:
    """1e-5 inside the logarithm shifts the published risks, which have none, by less than 1e-4."""
    assert exact_risk(CLEAN, alpha) == pytest.approx(clean, abs=1e-4)
    assert exact_risk(CLEAN @ T, alpha) == pytest.approx(noisy, abs=1e-4)


def test_uniform_noise_only_scales_the_risk() -> None:
    assert exact_risk(CLEAN @ T, 1.0) == pytest.approx(0.65 * exact_risk(CLEAN, 1.0), abs=1e-9)


def test_subtracted_term_is_bounded() -> None:
    hopeless = torch.tensor([[1e4, -1e4, 0.0]])
    peers = (
        Batch(hopeless, torch.tensor([0]), torch.tensor([0])),
        Batch(hopeless, torch.tensor([1]), torch.tensor([0])),
    )
    loss = PeerLoss(separate=True).objective(NETS, peers[0], Context(peers=peers)).loss
    assert loss.item() == pytest.approx(-11.5129, abs=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_objective_mapped_over_alpha_equals_the_loop(dtype: torch.dtype) -> None:
    own, peers = BATCH._replace(x=BATCH.x.to(dtype)), tuple(p._replace(x=p.x.to(dtype)) for p in PEERS)
    values = torch.tensor([0.0, 0.5, 2.0], dtype=torch.float64)
    mapped = vmap(
        lambda alpha: replace(PeerLoss(separate=True), alpha=alpha).objective(NETS, own, Context(peers=peers)).loss
    )(values)
    looped = [
        PeerLoss(alpha, separate=True).objective(NETS, own, Context(peers=peers)).loss for alpha in values.tolist()
    ]
    torch.testing.assert_close(mapped, torch.stack(looped))
    assert mapped.dtype == dtype
