import pytest
import torch
from torch import nn

from labelnoise.errors import InputError
from labelnoise.methods import build
from labelnoise.nets import make_head
from labelnoise.types import Context
from labelnoise.untold import Rowless, Spec, Timeless, check_told, estimated, factory


def plain(outputs):
    return nn.Linear(4, outputs)


def test_what_is_not_told_is_missed_only_when_asked_for():
    x, y = torch.zeros(2, 4), torch.zeros(2, dtype=torch.int64)
    batch = Rowless(x, y, y)
    assert batch.x is x
    assert batch.y is y
    with pytest.raises(InputError, match="rows"):
        _ = batch.rows


@pytest.mark.parametrize("time", ["progress", "epoch", "epochs"])
def test_a_context_without_epochs_keeps_missing_them_when_it_is_changed(time):
    ctx = Timeless(draws={"noise": torch.ones(1)})._replace(update="net")
    assert isinstance(ctx, Context)
    assert ctx.update == "net"
    with pytest.raises(InputError, match="begin_epoch"):
        getattr(ctx, time)


def test_shape_and_size_are_asked_for_by_methods_that_need_them():
    spec = Spec((), 3, 0, plain)
    assert set(build("ce").networks(spec)) == {"net"}
    with pytest.raises(InputError, match=r"give shape=, such as shape=\(3, 32, 32\)"):
        build("causal_nl").networks(spec)
    with pytest.raises(InputError, match="give train_size="):
        _ = spec.samples
    assert (Spec((4,), 3, 9, plain).shape, Spec((4,), 3, 9, plain).samples) == ((4,), 9)


@pytest.mark.parametrize("net", [nn.Linear(4, 3), "mlp"])
def test_a_network_in_place_of_its_maker_is_refused(net):
    with pytest.raises(InputError, match="a function that makes a new network"):
        factory(net)


def test_a_maker_that_takes_widths_only_is_told_how_to_take_heads():
    with pytest.raises(InputError, match=r"head may be a function .*make_head\(features, head\)"):
        build("logistic_normal").networks(Spec((4,), 3, 0, factory(plain)))


def test_a_maker_that_takes_heads_serves_both():
    made = factory(lambda head: make_head(4, head))
    assert made(3).out_features == 3
    assert isinstance(made(lambda features: nn.Identity()), nn.Identity)


def test_what_a_head_itself_refuses_is_left_as_it_is():
    spec = Spec((4,), 3, 0, factory(lambda head: make_head(4, head)))
    with pytest.raises(InputError, match=r"^factors must be a number from 0 to the 3 classes, not 6"):
        build("heteroscedastic", {"factors": 6}).networks(spec)


def test_an_error_of_the_maker_itself_is_left_as_it_is():
    with pytest.raises(TypeError, match="missing 1 required positional"):
        factory(nn.Linear)(3)


def test_something_that_is_no_network_is_refused():
    with pytest.raises(InputError, match="must return a torch module, not int"):
        factory(lambda outputs: outputs)(3)


def test_a_known_matrix_needs_no_rows_and_an_estimated_one_does():
    known, unknown = build("forward", {"matrix": ".9 .1; .2 .8"}), build("forward")
    torch.testing.assert_close(
        estimated(known.stages()[0].before, 2, 0.0)["T"].double(), torch.tensor([[0.9, 0.1], [0.2, 0.8]]).double()
    )
    assert estimated(unknown.stages()[1].before, 2, 0.3) is None
    assert estimated(unknown.stages()[0].before, 2, 0.0) == {}


@pytest.mark.parametrize(
    "estimate",
    [
        lambda snapshot: {"mean": snapshot.probs.mean(0)},  # of nothing, NaN
        lambda snapshot: {"each": snapshot.probs},  # nothing
        lambda snapshot: {"best": snapshot.probs.argmax(0)},  # raises
    ],
)
def test_an_estimate_made_of_nothing_counts_as_none(estimate):
    assert estimated(estimate, 3, 0.0) is None
    assert estimated(estimate, 3, 0.0, torch.full((4, 3), 1 / 3), torch.zeros(4, dtype=torch.int64))


def test_a_stage_that_has_not_looked_at_the_data_says_how():
    with pytest.raises(InputError, match=r"begin_stage\('corrected', probs, labels\)"):
        check_told(build("forward").stages()[1], False, 0, "")
