from dataclasses import dataclass

import pytest
import torch
from torch import nn

from labelnoise.engine.step import Given, Step, checked, chosen, follow, objective, owner, prediction
from labelnoise.errors import InputError
from labelnoise.methods.base import Method
from labelnoise.types import Batch, Terms


def two():
    return Step({"net": nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)), "teacher.net": nn.Linear(2, 3)})


@dataclass(frozen=True)
class Echo(Method):
    """Returns what it was given."""

    def objective(self, nets, batch, ctx):
        return Terms(torch.zeros(()), logs=ctx, kept=batch)

    def log_probs(self, nets, x, ctx):
        return ("true", nets, x, ctx)

    def noisy_log_probs(self, nets, x, ctx):
        return ("given", nets, x, ctx)


def test_networks_keep_the_names_their_method_gave_them():
    assert list(two().networks) == ["net", "teacher.net"]


def test_a_call_is_the_function_on_the_networks():
    step = two()
    assert step(lambda nets, *args: (list(nets), args), 1, "x") == (["net", "teacher.net"], (1, "x"))


def test_every_parameter_and_buffer_belongs_to_its_network():
    step = two()
    owners = {owner(name): name for name, _ in (*step.named_parameters(), *step.named_buffers())}
    assert set(owners) == {"net", "teacher.net"}
    own = {id(tensor) for tensor in step.networks["teacher.net"].parameters()}
    assert {id(p) for name, p in step.named_parameters() if owner(name) == "teacher.net"} == own


@pytest.mark.parametrize(("trains", "expected"), [(("net",), [True, False]), (("teacher.net", "net"), [True, True])])
def test_train_only_puts_the_others_in_eval_mode(trains, expected):
    step = two().eval()
    step.train_only(trains)
    assert [net.training for net in step.networks.values()] == expected
    assert step.networks["net"][1].training == expected[0]


def test_an_objective_gets_everything_in_its_place():
    batch, peer = (Batch(*torch.full((3, 1), value)) for value in (1.0, 2.0))
    draws, memory, aux = ({kind: torch.zeros(())} for kind in ("draws", "memory", "aux"))
    time = (torch.tensor(0.25), torch.tensor(2.0), torch.tensor(8.0))
    terms = objective(Echo(), {}, Given(batch, (peer,), draws, memory, aux), time=time, update="critic")
    assert terms.kept is batch
    assert terms.logs.peers == (peer,)
    assert (terms.logs.draws, terms.logs.memory, terms.logs.aux) == (draws, memory, aux)
    assert [float(terms.logs.progress), float(terms.logs.epoch), float(terms.logs.epochs)] == [0.25, 2.0, 8.0]
    assert terms.logs.update == "critic"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (torch.zeros(()), "the objective of method 'Echo' gives a Tensor; let it return Terms(loss)"),
        (
            Terms(torch.zeros(3)),
            "the loss of method 'Echo' has shape (3,); make it one number, such as by .mean()",
        ),
        (Terms(0.5), "the loss of method 'Echo' is a float; make it a tensor of one number"),
    ],
)
def test_what_is_no_loss_of_one_number_is_refused(given, sentence):
    with pytest.raises(InputError) as caught:
        checked(Echo(), given)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(("noisy", "which"), [(False, "true"), (True, "given")])
def test_a_prediction_is_of_true_or_of_given_labels(noisy, which):
    x, draws, aux = torch.zeros(1), {"d": torch.zeros(1)}, {"T": torch.zeros(1)}
    kind, _, inputs, ctx = prediction(Echo(), {}, x, draws, aux, noisy=noisy)
    assert kind == which
    assert inputs is x
    assert (ctx.draws, ctx.aux) == (draws, aux)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ((), ()),
        (("net",), ("net",)),
        (("teacher.",), ("teacher.net", "teacher.T")),
        (("net", "teacher.T"), ("net", "teacher.T")),
    ],
)
def test_networks_are_chosen_by_name_or_by_how_their_names_begin(wanted, found):
    networks = ("net", "teacher.net", "teacher.T", "teachers")
    assert set(chosen(wanted, networks)) == set(found)


def test_a_follower_moves_towards_its_network_and_counts_as_it_counts():
    step = Step({"teacher.net": nn.BatchNorm1d(2), "mean": nn.BatchNorm1d(2), "other": nn.BatchNorm1d(2)})
    nets, fill = step.networks, torch.nn.init.constant_
    for name, number in (("teacher.net", 8.0), ("mean", 4.0), ("other", 2.0)):
        fill(nets[name].weight, number)
        fill(nets[name].running_mean, number)
    nets["teacher.net"].num_batches_tracked += 5
    weights = {name: value.detach() for name, value in (*step.named_parameters(), *step.named_buffers())}
    follow(weights, {"mean": ("teacher.net", 0.75)})
    for name, number in (("teacher.net", 8.0), ("mean", 5.0), ("other", 2.0)):
        assert nets[name].weight.tolist() == nets[name].running_mean.tolist() == [number, number]
    assert [net.num_batches_tracked.item() for net in nets.values()] == [5, 5, 0]
