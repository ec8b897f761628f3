import pickle
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from labelnoise.errors import InputError
from labelnoise.methods import build
from labelnoise.nets import make_head
from labelnoise.types import Context
from labelnoise.untold import (
    Maker,
    Rowless,
    Spec,
    Timeless,
    check_batch,
    check_call,
    check_network,
    check_peers,
    check_told,
    estimated,
)


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
        Maker(net)


def test_a_maker_that_takes_widths_only_is_told_how_to_take_heads():
    with pytest.raises(InputError, match=r"head may be a function .*make_head\(features, head\)"):
        build("logistic_normal").networks(Spec((4,), 3, 0, Maker(plain)))


def test_a_maker_that_takes_heads_serves_both():
    made = Maker(lambda head: make_head(4, head))
    assert made(3).out_features == 3
    assert isinstance(made(lambda features: nn.Identity()), nn.Identity)


def test_what_a_head_itself_refuses_is_left_as_it_is():
    spec = Spec((4,), 3, 0, Maker(lambda head: make_head(4, head)))
    with pytest.raises(InputError, match=r"^factors must be a number from 0 to the 3 classes, not 6"):
        build("heteroscedastic", {"factors": 6}).networks(spec)


def test_an_error_of_the_maker_itself_is_left_as_it_is():
    with pytest.raises(TypeError, match="missing 1 required positional"):
        Maker(nn.Linear)(3)


def test_something_that_is_no_network_is_refused():
    with pytest.raises(InputError, match="must return a torch module, not int"):
        Maker(lambda outputs: outputs)(3)


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


@pytest.mark.parametrize(
    ("probs", "labels"),
    [
        (torch.ones(100, 3) / 3, torch.zeros(90, dtype=torch.int64)),
        (torch.ones(4, 2) / 2, torch.zeros(4, dtype=torch.int64)),
        (torch.ones(4, 3) / 3, torch.zeros(4)),
        (torch.ones(0, 3), torch.zeros(0, dtype=torch.int64)),
    ],
)
def test_probabilities_and_labels_of_the_training_set_must_belong_together(probs, labels):
    with pytest.raises(InputError, match=r"probs must be \(N, 3\) and labels N whole numbers, not float32 of shape"):
        estimated(lambda snapshot: {"mean": snapshot.probs.mean(0)}, 3, 0.0, probs, labels)


def test_log_probabilities_in_place_of_probabilities_are_refused():
    with pytest.raises(InputError, match=r"take \.exp\(\)"):
        estimated(None, 3, 0.0, torch.zeros(4, 3).log_softmax(1), torch.zeros(4, dtype=torch.int64))


X, Y = torch.zeros(4, 2), torch.tensor([0, 1, 2, 0])


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (torch.ones(4, 3) / 3, r"float32 of shape \(4, 3\)"),
        (Y[:, None], r"int64 of shape \(4, 1\)"),
        (Y.float(), r"float32 of shape \(4,\)"),
        (Y == 0, r"bool of shape \(4,\)"),
        (Y[0], r"int64 of shape \(\)"),
        ([0, 1, 2, 0], "a list"),
    ],
)
def test_labels_must_be_one_whole_number_for_each_row(labels, told):
    with pytest.raises(InputError, match=rf"^labels must be a tensor \(B,\) of whole numbers, not {told}"):
        check_batch(labels)


def test_a_batch_without_rows_is_refused():
    with pytest.raises(InputError, match="no rows"):
        check_batch(Y[:0])


@pytest.mark.parametrize("rows", [torch.arange(3), torch.arange(4.0), torch.ones(4, dtype=torch.bool)])
def test_positions_must_be_as_many_whole_numbers_as_there_are_labels(rows):
    with pytest.raises(InputError, match=r"^rows must be 4 whole numbers"):
        check_batch(Y, rows)


def test_peers_must_be_batches_of_the_same_size():
    check_peers([(X, Y), (X, Y)], 4)
    with pytest.raises(InputError, match=r"^every peer must have the 4 rows of the batch, but one has 3"):
        check_peers([(X, Y), (X[:3], Y[:3])], 4)


class Answering(nn.Module):
    """Gives whatever it is told to make of its input."""

    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def forward(self, x):
        return self.answer(x)


def test_logits_are_taken_from_an_object_that_has_them():
    network = Maker(lambda outputs: Answering(lambda x: SimpleNamespace(loss=None, logits=x)))(3)
    assert network(X) is X


@pytest.mark.parametrize(("answer", "told"), [(lambda x: (x, x), "tuple"), (lambda x: {"logits": x}, "dict")])
def test_an_output_without_logits_is_refused(answer, told):
    network = Maker(lambda outputs: Answering(answer))(3)
    with pytest.raises(InputError, match=rf"must return logits, a tensor \(B, K\), not {told}; wrap it"):
        network(X)


def test_a_head_of_a_method_may_return_what_it_likes():
    network = Maker(lambda head: make_head(4, head))(lambda features: Answering(lambda x: (x, x)))
    assert network(X) == (X, X)


def test_lazy_layers_are_refused_until_they_have_weights():
    def run_once(outputs):
        network = nn.LazyLinear(outputs)
        network(X)
        return network

    with pytest.raises(InputError, match="run the network once before net returns it"):
        Maker(nn.LazyLinear)(3)
    assert Maker(run_once)(3).in_features == 2


def test_a_maker_is_pickled_with_the_function_in_it():
    again = pickle.loads(pickle.dumps(Maker(plain)))
    assert again(3).out_features == 3


@pytest.mark.parametrize(
    ("net", "message"),
    [
        (lambda outputs: nn.Linear(4, 7), r"shape \(2, 7\) for 2 rows and 3 classes"),
        (lambda outputs: nn.Linear(4, 1), r"shape \(2, 1\)"),
        (lambda outputs: nn.Linear(5, outputs), r"cannot take inputs of shape \(rows, 4\)"),
    ],
)
def test_a_network_of_other_inputs_or_outputs_is_refused(net, message):
    with pytest.raises(InputError, match=message):
        check_network(Spec((4,), 3, 0, Maker(net)))


def test_a_network_that_normalises_batches_is_refused_where_they_are_of_one_row():
    net = Maker(lambda outputs: nn.Sequential(nn.Linear(4, outputs), nn.BatchNorm1d(outputs)))
    check_network(Spec((4,), 3, 0, net, 2))
    with pytest.raises(InputError, match="cannot learn from a batch of one row; give more rows, or larger batches: "):
        check_network(Spec((4,), 3, 0, net, 1))


def test_a_network_that_fits_passes_and_nobody_s_random_numbers_change():
    before = torch.random.get_rng_state()
    check_network(Spec((4,), 3, 0, Maker(lambda outputs: nn.Linear(4, outputs).double())))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_maker_must_take_its_outputs_and_settings():
    check_call(lambda outputs, width: None, {"width": 3})
    with pytest.raises(InputError, match=r"net\(outputs, width=…\)"):
        check_call(plain, {"width": 3})
    with pytest.raises(InputError, match=r"net\(outputs\)"):
        check_call(lambda: None, {})
