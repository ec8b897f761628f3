from dataclasses import replace

import pytest
import torch
from torch.func import vmap

from labelnoise.methods.ce import CE
from labelnoise.methods.gce import GCE
from labelnoise.types import Context

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
