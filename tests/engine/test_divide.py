"""Divided networks against whole ones; three threads stand for three processes."""

import threading
from copy import deepcopy

import pytest
import torch
from torch import nn

from labelnoise.engine import ranks
from labelnoise.engine.divide import divide
from labelnoise.losses.label_sample import every_label
from labelnoise.nets import Dropout
from labelnoise.nets.causal_generator import Generator

WORLD, ROWS = 3, 13  # of which two have four rows, and one five


@pytest.fixture
def together(monkeypatch):
    """Calls a function in three threads that are ranks 0, 1 and 2; what each returns."""
    here, barrier, table = threading.local(), threading.Barrier(WORLD, timeout=30), [None] * WORLD

    def exchanged(own):
        barrier.wait()
        table[here.rank] = own.detach().clone()
        barrier.wait()
        return list(table)

    def alone():
        return not hasattr(here, "rank")

    monkeypatch.setattr(ranks, "count", lambda: 1 if alone() else WORLD)
    monkeypatch.setattr(ranks, "rank", lambda: 0 if alone() else here.rank)
    monkeypatch.setattr(ranks, "gathered", lambda own, rows: torch.cat(exchanged(own)))
    monkeypatch.setattr(ranks, "summed", lambda own: sum(exchanged(own)))

    def call(function):
        found, problems = [None] * WORLD, []

        def one(rank):
            here.rank = rank
            try:
                found[rank] = function(rank)
            except Exception as problem:
                problems.append(problem)
                barrier.abort()

        threads = [threading.Thread(target=one, args=(rank,)) for rank in range(WORLD)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if problems:
            raise next((each for each in problems if not isinstance(each, threading.BrokenBarrierError)), problems[0])
        return found

    return call


def numbers(*size, seed=0):
    return torch.randn(size, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def network(*layers):
    torch.manual_seed(0)
    net = nn.Sequential(*layers).double()
    for module in net.modules():
        if isinstance(module, Dropout):
            module.seed = torch.tensor(7)
    return net


def with_dropout():
    return network(nn.Linear(4, 6), nn.Tanh(), Dropout(0.4), nn.Linear(6, 3))


def gradients(net, x, extra=()):
    """The loss that couples all rows, and its gradients by the input and by each weight."""
    x = x.clone().requires_grad_()
    out = net(x, *extra)
    leaves = out if isinstance(out, tuple) else (out,)
    loss = sum((each.flatten(1).cumsum(0) ** 2).logsumexp(0).sum() for each in leaves)
    return [loss.detach(), *torch.autograd.grad(loss, [x, *net.parameters()])]


def assert_same(found, expected):
    """Loss and gradient of the input on every process, and the means over processes of those of weights."""
    for own in found:
        torch.testing.assert_close(own[:2], expected[:2], rtol=0, atol=1e-11)
    means = [sum(each) / WORLD for each in zip(*(own[2:] for own in found), strict=True)]
    torch.testing.assert_close(means, expected[2:], rtol=0, atol=1e-11)


@pytest.mark.parametrize("pieces", [1, 3])
def test_a_divided_network_has_the_outputs_and_gradients_of_the_whole_one(together, pieces):
    x, whole = numbers(ROWS, 4), with_dropout()
    found = together(lambda _: gradients(divide(deepcopy(whole), pieces), x))
    assert_same(found, gradients(whole, x))


@pytest.mark.parametrize("pieces", [1, 3])
def test_labels_that_have_the_rows_several_times_over_are_divided_alike(together, pieces):
    torch.manual_seed(0)
    x, noise, whole = numbers(ROWS, 4), numbers(ROWS, 2, seed=1), Generator((4,), 3, 2, squashed=False).double()
    extra = (every_label(3, x), noise)
    found = together(lambda _: gradients(divide(deepcopy(whole), pieces), x, extra))
    assert_same(found, gradients(whole, x, extra))


def test_gradients_go_on_to_what_made_the_input_of_a_divided_network(together):
    x, first, second = numbers(ROWS, 4), with_dropout(), network(nn.Linear(3, 5))

    def both(make):
        return nn.Sequential(make(deepcopy(first)), make(deepcopy(second)))

    assert_same(together(lambda _: gradients(both(divide), x)), gradients(both(lambda net: net), x))


def test_a_parameter_that_all_processes_use_in_full_has_its_gradient_too(together):
    class Scaled(nn.Module):
        def __init__(self, net):
            super().__init__()
            self.net, self.scale = net, nn.Parameter(torch.tensor(2.0, dtype=torch.float64))

        def forward(self, x):
            return self.scale * self.net(x)

    x, net = numbers(ROWS, 4), with_dropout()
    found = together(lambda _: gradients(Scaled(divide(deepcopy(net))), x))
    assert_same(found, gradients(Scaled(deepcopy(net)), x))


def test_each_process_computes_its_own_rows_only(together):
    def rows(_):
        net, seen = with_dropout(), []
        net[0].register_forward_hook(lambda module, given, out: seen.append(len(out)))
        divide(net)(numbers(ROWS, 4))
        return seen

    assert together(rows) == [[4], [4], [5]]


def test_fewer_rows_than_processes_are_computed_by_each(together):
    x, net = numbers(2, 4), with_dropout()
    assert_same(together(lambda _: gradients(divide(deepcopy(net)), x)), gradients(net, x))


def test_in_eval_mode_all_processes_have_all_outputs(together):
    x, net = numbers(ROWS, 4), with_dropout().eval()
    with torch.no_grad():
        expected = net(x)
    for own in together(lambda _: divide(deepcopy(net), 3)(x).detach()):
        torch.testing.assert_close(own, expected, rtol=0, atol=1e-12)


def test_a_copy_of_a_divided_network_has_weights_of_its_own():
    net = divide(with_dropout(), 3)
    other = deepcopy(net)
    nn.init.zeros_(other[-1].weight)
    nn.init.zeros_(other[-1].bias)
    assert not other(numbers(ROWS, 4)).any()
    assert net(numbers(ROWS, 4)).any()


def test_names_of_weights_stay():
    assert divide(with_dropout(), 3, synchronised=True).state_dict().keys() == with_dropout().state_dict().keys()


@pytest.mark.parametrize("output", [lambda x: x.sum(), lambda x: x.shape])
def test_an_output_without_rows_is_an_error(together, output):
    class Odd(nn.Module):
        def forward(self, x):
            return output(x)

    with pytest.raises(TypeError, match="must return tensors of rows"):
        together(lambda _: divide(Odd())(numbers(ROWS, 4)))


@pytest.mark.parametrize(("pieces", "keeps"), [(1, True), (3, False)])
def test_pieces_keep_no_activations(pieces, keeps):
    net, kept = divide(with_dropout(), pieces), []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: kept.append(tuple(tensor.shape)), lambda _: None):
        out = net(numbers(ROWS, 4))
    assert ((ROWS, 6) in kept) == keeps
    assert len(kept) > 0 if keeps else kept == []
    assert out.requires_grad


def test_a_step_in_pieces_is_one_batch_to_running_statistics():
    x, net = numbers(ROWS, 4), network(nn.BatchNorm1d(4, momentum=0.3))
    divide(net, 3)(x).sum().backward()
    pieces = x[:4], x[4:8], x[8:]
    mean = sum(piece.mean(0) for piece in pieces) / 3
    var = sum(piece.var(0) for piece in pieces) / 3
    torch.testing.assert_close(net[0].running_mean, 0.3 * mean, rtol=0, atol=1e-12)
    torch.testing.assert_close(net[0].running_var, 0.7 + 0.3 * var, rtol=0, atol=1e-12)
    assert net[0].num_batches_tracked == 1
    assert net[0].momentum == 0.3


NORMS = {
    "1d": (lambda: nn.BatchNorm1d(4), (ROWS, 4)),
    "of sequences": (lambda: nn.BatchNorm1d(4), (ROWS, 4, 5)),
    "2d": (lambda: nn.BatchNorm2d(4), (ROWS, 4, 3, 2)),
    "without weights": (lambda: nn.BatchNorm1d(4, affine=False), (ROWS, 4)),
    "without statistics": (lambda: nn.BatchNorm1d(4, track_running_stats=False), (ROWS, 4)),
    "with a cumulative mean": (lambda: nn.BatchNorm1d(4, momentum=None), (ROWS, 4)),
}


@pytest.mark.parametrize(("make", "size"), NORMS.values(), ids=NORMS)
def test_synchronised_batchnorm_is_that_of_all_rows(together, make, size):
    x, whole = 3 + 2 * numbers(*size), network(make(), nn.Flatten(), nn.Linear(numbers(*size)[0].numel(), 3))

    def twice(net):
        found = gradients(net, x.flip(0)), gradients(net, x)
        return [*found[1], net.state_dict()]

    found, expected = together(lambda _: twice(divide(deepcopy(whole), synchronised=True))), twice(whole)
    assert_same([own[:-1] for own in found], expected[:-1])
    for own in found:
        torch.testing.assert_close(own[-1], expected[-1], rtol=0, atol=1e-12)


def test_synchronised_batchnorm_in_pieces_counts_once(together):
    def counted(_):
        net = divide(network(nn.BatchNorm1d(4, momentum=0.3), nn.Linear(4, 3)), 2, synchronised=True)
        gradients(net, numbers(ROWS, 4))
        return net[0].running_mean, net[0].num_batches_tracked

    x, bounds = numbers(ROWS, 4), ((0, 4), (4, 8), (8, 13))  # each in two
    means = [torch.cat([x[a:b][:2] for a, b in bounds]).mean(0), torch.cat([x[a:b][2:] for a, b in bounds]).mean(0)]
    for mean, count in together(counted):
        torch.testing.assert_close(mean, 0.3 * sum(means) / 2, rtol=0, atol=1e-12)
        assert count == 1


def test_synchronised_batchnorm_of_one_process_is_torchs():
    x, net = numbers(ROWS, 4), network(nn.BatchNorm1d(4), nn.Linear(4, 3))
    torch.testing.assert_close(gradients(divide(deepcopy(net), synchronised=True), x), gradients(net, x))


def test_synchronised_batchnorm_evaluates_by_running_statistics(together):
    x, net = numbers(ROWS, 4), network(nn.BatchNorm1d(4)).eval()
    expected = net(x)
    for own in together(lambda _: divide(deepcopy(net), synchronised=True)(x)):
        torch.testing.assert_close(own, expected, rtol=0, atol=1e-12)
