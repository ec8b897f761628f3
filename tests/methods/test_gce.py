from dataclasses import replace

import pytest
import torch
from torch.func import vmap

from labelnoise.errors import InputError
from labelnoise.methods import build
from labelnoise.methods.ce import CE
from labelnoise.methods.gce import GCE
from labelnoise.testing import CHECKS
from labelnoise.types import Context, Snapshot

LOGITS = [[2.0, -1.0, 0.5]] * 3


def test_objective_at_the_default_q_is_the_published_mean(table, labelled) -> None:
    loss = GCE().objective({"net": table(LOGITS)}, labelled([0, 1, 2]), Context()).loss
    assert loss.item() == pytest.approx((0.2220310944 + 1.2808228087 + 1.0063574198) / 3, abs=1e-9)


def test_small_q_tends_to_cross_entropy(table, labelled) -> None:
    nets, batch = {"net": table(LOGITS)}, labelled([0, 1, 2])
    near = GCE(q=1e-8).objective(nets, batch, Context()).loss
    torch.testing.assert_close(near, CE().objective(nets, batch, Context()).loss, rtol=1e-6, atol=0)


def test_objective_mapped_over_q_equals_the_loop(table, labelled) -> None:
    nets, batch = {"net": table(LOGITS)}, labelled([0, 1, 2])
    values = torch.tensor([0.1, 0.7, 1.0], dtype=torch.float64)
    mapped = vmap(lambda q: replace(GCE(), q=q).objective(nets, batch, Context()).loss)(values)
    looped = [GCE(q).objective(nets, batch, Context()).loss.item() for q in values.tolist()]
    assert mapped.tolist() == pytest.approx(looped, abs=1e-14)


def snapshot(progress: float) -> Snapshot:
    probs = torch.tensor([[0.6, 0.3, 0.1], [0.6, 0.3, 0.1], [0.25, 0.25, 0.5]], dtype=torch.float64)
    return Snapshot(probs, torch.tensor([0, 1, 2]), progress)


def test_q_of_one_is_the_mean_of_one_minus_p(table, labelled) -> None:
    loss = GCE(1.0).objective({"net": table(LOGITS)}, labelled([0, 1, 2]), Context()).loss
    assert loss.item() == pytest.approx((0.2144029654 + 0.9608874267 + 0.8247096079) / 3, abs=1e-9)


def test_truncation_counts_the_kept_examples_below_the_published_level(table, labelled) -> None:
    batch = labelled([0, 1, 2])._replace(rows=torch.tensor([3, 0, 1]))
    kept = torch.tensor([1.0, 0.0, 1.0, 1.0], dtype=torch.float64)
    terms = GCE(truncation=0.5).objective({"net": table(LOGITS)}, batch, Context(aux={"kept": kept}))
    level = 0.5491825618964884
    assert terms.loss.item() == pytest.approx((0.2220310944 - level + 1.2808228087 - level) / 3, abs=1e-9)
    assert terms.kept["net"].tolist() == [1, 1, 0]


@pytest.mark.parametrize(("progress", "kept"), [(0.0, [1, 1, 1]), (0.3, [1, 1, 1]), (0.4, [1, 0, 0]), (1.0, [1, 0, 0])])
def test_from_the_start_on_labels_of_at_most_k_are_left_out(progress: float, kept: list[int]) -> None:
    (stage,) = GCE(truncation=0.5, start=0.4).stages()
    for look in (stage.before, stage.refresh):
        assert look(snapshot(progress))["kept"].tolist() == kept


def test_without_truncation_nothing_is_looked_at_between_epochs() -> None:
    (stage,) = GCE().stages()
    assert stage.before is None
    assert stage.refresh is None


@pytest.mark.parametrize("check", ["packed_equals_alone", "state_round_trips", "learns_separable_blobs"])
def test_the_truncated_preset_keeps_the_contract(check: str) -> None:
    CHECKS[check](build("gce", {"preset": "truncated"}))


@pytest.mark.parametrize("settings", [{"truncation": 1.0}, {"truncation": -0.1}, {"start": 0.0}])
def test_settings_out_of_range_are_refused(settings) -> None:
    with pytest.raises(InputError, match="must be in"):
        build("gce", settings)
