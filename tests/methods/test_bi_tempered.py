from dataclasses import replace

import pytest
import torch
from torch.func import vmap

from labelnoise.errors import InputError
from labelnoise.methods import build
from labelnoise.methods.bi_tempered import BiTempered
from labelnoise.methods.ce import CE
from labelnoise.types import Context

LOGITS = [[2.0, -1.0, 0.5]] * 3


@pytest.mark.parametrize(
    ("t1", "t2", "losses"),
    [(0.5, 2.0, (0.3119024458, 0.8418530372, 0.6648136455)), (0.9, 1.1, (0.2250638880, 2.4178837686, 1.4609380760))],
)
def test_objective_is_the_published_mean(table, labelled, t1, t2, losses) -> None:
    loss = BiTempered(t1, t2).objective({"net": table(LOGITS)}, labelled([0, 1, 2]), Context()).loss
    assert loss.item() == pytest.approx(sum(losses) / 3, abs=1e-9)


def test_the_official_preset_gives_the_published_values_after_five_steps(table, labelled) -> None:
    method = build("bi_tempered", {"preset": "official", "t1": 0.5, "t2": 2.0})
    loss = method.objective({"net": table(LOGITS)}, labelled([0, 1, 2]), Context()).loss
    assert loss.item() == pytest.approx((0.3118656017 + 0.8419035284 + 0.6648434466) / 3, abs=1e-9)


def test_both_temperatures_one_give_cross_entropy(table, labelled) -> None:
    nets, batch = {"net": table(LOGITS)}, labelled([0, 1, 2])
    found, plain = (method.objective(nets, batch, Context()).loss for method in (BiTempered(1.0, 1.0), CE()))
    torch.testing.assert_close(found, plain, rtol=1e-13, atol=0)


def test_prediction_is_the_published_tempered_softmax(table) -> None:
    log_probs = BiTempered(t2=2.0).log_probs({"net": table(LOGITS)}, torch.zeros(3, 4), Context())
    assert log_probs[0].exp().tolist() == pytest.approx([0.5096393191, 0.2015246551, 0.2888360258], abs=1e-9)


def test_objective_mapped_over_temperatures_equals_the_loop(table, labelled) -> None:
    nets, batch = {"net": table(LOGITS)}, labelled([0, 1, 2])
    t1, t2 = torch.tensor([[0.5, 1.0, 0.9], [1.0, 1.0, 4.0]], dtype=torch.float64)
    mapped = vmap(lambda a, b: replace(BiTempered(), t1=a, t2=b).objective(nets, batch, Context()).loss)(t1, t2)
    pairs = zip(t1.tolist(), t2.tolist(), strict=True)
    looped = [BiTempered(*pair).objective(nets, batch, Context()).loss.item() for pair in pairs]
    assert mapped.tolist() == pytest.approx(looped, abs=1e-13)


@pytest.mark.parametrize("settings", [{"t1": 2.0}, {"t2": -1.0}, {"normaliser": "fixed_point", "t2": 0.5}])
def test_settings_without_a_loss_are_refused(settings) -> None:
    with pytest.raises(InputError, match="must be"):
        build("bi_tempered", settings)
