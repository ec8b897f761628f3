import pytest
import torch

from labelnoise.types import Batch, Context, DataSpec, Snapshot, Terms


def test_a_bare_context_stands_at_the_start_of_one_epoch():
    ctx = Context()
    assert (ctx.progress.item(), ctx.epoch.item(), ctx.epochs.item()) == (0.0, 0.0, 1.0)
    assert ctx.progress.dtype == ctx.epoch.dtype == ctx.epochs.dtype == torch.float64


def test_what_a_context_does_not_have_is_empty():
    ctx = Context()
    assert not any((ctx.peers, ctx.draws, ctx.memory, ctx.aux, ctx.update))


def test_terms_need_a_loss_only():
    terms = Terms(torch.ones(()))
    assert not any((terms.logs, terms.memory, terms.active, terms.kept))


def test_a_batch_is_mapped_over_runs_leaf_by_leaf():
    runs = Batch(torch.arange(6.0).view(2, 3), torch.zeros(2, 3), torch.zeros(2, 3))
    sums = torch.func.vmap(lambda batch: Terms(batch.x.sum()))(runs)
    assert sums.loss.tolist() == [3.0, 12.0]


@pytest.mark.parametrize("kind", [Batch, Context, DataSpec, Snapshot])
def test_what_a_method_sees_holds_no_true_labels(kind):
    assert not [name for name in kind._fields if "true" in name]
