from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

import pytest
import torch
from functorch.compile import make_boxed_func
from torch import nn
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.utils import counters
from torch.nn import functional as F

from labelnoise import nets
from labelnoise.config import Optimiser
from labelnoise.engine import compiling
from labelnoise.engine.channels import Filled
from labelnoise.engine.compiling import PACKED, SEVERAL, Compiler
from labelnoise.engine.executors import Streams
from labelnoise.engine.memory import is_shortage
from labelnoise.methods import METHODS, build
from labelnoise.methods.base import Method, Stage
from labelnoise.testing import TRAIN, training, varied
from labelnoise.types import DataSpec, Terms


def trained(name, executor, compiler=None):
    found = training(varied(build(name, {})), executor=executor, train=TRAIN)
    if compiler:
        found.executor.compile(compiler)
    found.run()
    return found.executor.state()


@pytest.fixture(scope="module")
def compiler():
    """One for methods that follow each other, as in a comparison."""
    return Compiler("aot_eager")


@pytest.mark.filterwarnings("error:.*is not compiled")
@pytest.mark.parametrize(
    ("name", "executor"), [*((name, "packed") for name in METHODS), ("ce", "streams"), ("co_teaching", "streams")]
)
def test_compiled_training_equals_plain_training(name, executor, compiler):
    plain, compiled = trained(name, executor), trained(name, executor, compiler)
    for key, value in plain.items():
        torch.testing.assert_close(compiled[key], value, rtol=1e-9, atol=1e-10)


def test_a_graph_that_torch_would_break_is_told_of():
    @dataclass(frozen=True)
    class Broken(type(build("ce", {}))):
        def objective(self, nets, batch, ctx):
            torch._dynamo.graph_break()
            return super().objective(nets, batch, ctx)

    compiler = Compiler("aot_eager")
    for method, expectation in (
        (Broken(), pytest.warns(UserWarning, match="not compiled")),
        (build("gce", {}), nullcontext()),
    ):
        found = training([method], executor="packed", train=TRAIN, seeds=[0])
        found.executor.compile(compiler)
        counters.clear()
        with expectation:
            found.run()
    assert counters["stats"]["unique_graphs"] == 1  # of what came after it


@pytest.mark.filterwarnings("error:.*is not compiled")
@pytest.mark.parametrize("executor", ["packed", "streams"])
def test_more_functions_than_torch_keeps_are_compiled_anew(executor, monkeypatch):
    monkeypatch.setattr(compiling, "MOST", 2)
    compiler, forgotten = Compiler("aot_eager"), []
    monkeypatch.setattr(compiler, "_forget", lambda: forgotten.append(Compiler._forget(compiler)))
    for name in ("ce", "gce", "label_smoothing", "ce"):
        plain, compiled = trained(name, executor), trained(name, executor, compiler)
        for key, value in plain.items():
            torch.testing.assert_close(compiled[key], value, rtol=1e-9, atol=1e-10)
    assert forgotten


def test_runs_that_differ_in_numbers_alone_are_compiled_once():
    graphs = []
    for seeds in ([0], [0, 1, 2]):
        counters.clear()
        found = training([build("gce", {"q": 0.5 + 0.1 * seed}) for seed in seeds], train=TRAIN, seeds=seeds)
        found.executor.compile(Compiler("aot_eager"))
        found.run()
        graphs.append(counters["stats"]["unique_graphs"])
    assert graphs[0] == graphs[1]


@pytest.mark.filterwarnings("error:.*is not compiled")
def test_every_objective_and_prediction_of_every_stage_is_compiled(caplog):
    found = training([build("t_revision", {})], train=TRAIN, seeds=[0])
    compiler = Compiler("aot_eager")
    found.executor.compile(compiler)
    found.run()
    assert len(compiler.functions) == 8  # of three stages the objective, predictions, and of two those of given labels
    assert "recompile_limit" not in caplog.text  # beyond which torch would compile no more


@pytest.mark.filterwarnings("error:.*is not compiled")
@pytest.mark.parametrize("noisy", [False, True])
def test_compiled_predictions_are_the_plain_ones(noisy):
    plain, compiled = (training([build("forward", {})], train=TRAIN, seeds=[0]) for _ in range(2))
    compiler = Compiler("aot_eager")
    compiled.executor.compile(compiler)
    x = torch.rand(1, 7, *plain.spec.shape, dtype=torch.float64)
    for each in (plain, compiled):
        each.begin(each.phases[0])
    expected, found = (each.executor.log_probs(x, noisy=noisy) for each in (plain, compiled))
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    assert [what for *_, what in compiler.functions] == [f"prediction {noisy}"]


@dataclass(frozen=True)
class HeadLast(Method):
    """All is trained, and then the head alone, by the same objective."""

    def networks(self, spec):
        return {"body": spec.net(8), "net": nn.Linear(8, spec.classes)}

    def stages(self):
        return (Stage("all", 0.5, self), Stage("head", 0.5, self, trains=("net",)))

    def objective(self, nets, batch, ctx):
        return Terms(F.cross_entropy(nets["net"](nets["body"](batch.x)), batch.y))

    def log_probs(self, nets, x, ctx):
        return nets["net"](nets["body"](x)).log_softmax(-1)


@pytest.mark.parametrize("executor", ["streams", "packed"])
def test_networks_that_rest_in_a_stage_rest_when_compiled_too(executor):
    plain, compiled = (training([HeadLast(), HeadLast()], executor, seeds=(0, 1)) for _ in range(2))
    compiled.executor.compile(Compiler("aot_eager"))
    for each in (plain, compiled):
        each.run()
    for key, value in plain.executor.state().items():
        torch.testing.assert_close(compiled.executor.state()[key], value, rtol=1e-9, atol=1e-10)


def one_way(graph, inputs):
    return make_boxed_func(graph.forward)


def test_where_the_way_back_cannot_be_compiled_nothing_is():
    plain = trained("gce", "streams")
    with pytest.warns(UserWarning, match="gce is not compiled"):
        found = trained("gce", "streams", Compiler(aot_autograd(fw_compiler=one_way, bw_compiler=broken)))
    for key, value in plain.items():
        torch.testing.assert_close(found[key], value, rtol=1e-9, atol=1e-10)


def broken(graph, inputs):
    raise RuntimeError("no compiler is found")


def short(graph, inputs):
    raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


@pytest.mark.parametrize("executor", ["streams", "packed"])
def test_what_cannot_be_compiled_is_called_as_it_is(executor):
    plain = trained("gce", executor)
    with pytest.warns(UserWarning, match="gce is not compiled, for torch cannot: .*broken"):
        found = trained("gce", executor, Compiler(broken))
    for key, value in plain.items():
        torch.testing.assert_close(found[key], value, rtol=1e-9, atol=1e-10)


def test_what_cannot_be_compiled_for_another_shape_is_called_as_it_is():
    def broken_of_seven(graph, inputs):
        if any(each.shape[:1] == (7,) for each in inputs):
            raise RuntimeError("broken")
        return graph

    plain, compiled = (training([build("ce", {})], train=TRAIN, seeds=[0]) for _ in range(2))
    compiled.executor.compile(Compiler(broken_of_seven))
    for each in (plain, compiled):
        each.begin(each.phases[0])
    x = torch.rand(1, 16, *plain.spec.shape, dtype=torch.float64)
    compiled.executor.log_probs(x)
    with pytest.warns(UserWarning, match="ce is not compiled, for torch cannot: .*broken"):
        found = compiled.executor.log_probs(x[:, :7])
    torch.testing.assert_close(found, plain.executor.log_probs(x[:, :7]), rtol=1e-12, atol=1e-12)


def test_only_what_is_compiled_has_its_channels_filled(monkeypatch):
    filled, convolved = [], nn.Conv2d._conv_forward

    def noted(layer, x, *given):
        filled.append(x.shape)
        return convolved(layer, x, *given)

    monkeypatch.setattr(Filled, "_conv_forward", noted)
    spec = DataSpec((3, 8, 8), 3, 8, partial(nets.build, "wrn_28_2", (3, 8, 8)))
    runner = Streams([build("ce", {})], spec, [0], torch.zeros(()))
    for net in runner.lanes[0].module.networks.values():
        net.precision = torch.bfloat16  # as on a GPU
    runner.enter(0, Optimiser())
    x = torch.rand(1, 4, 3, 8, 8)
    runner.log_probs(x)
    assert filled == []
    runner.compile(Compiler("eager"))
    runner.log_probs(x)
    assert filled == [(4, 3, 8, 8)]


def test_a_compiler_that_is_short_of_memory_says_so():
    with pytest.raises(Exception, match="out of memory") as caught:
        trained("gce", "packed", Compiler(short))
    assert is_shortage(caught.value)


def test_the_compiler_knows_what_is_asked_of_it():
    assert set(PACKED) | set(SEVERAL) <= set(torch._inductor.list_options())


@pytest.mark.parametrize(
    ("name", "executor", "options"),
    [("co_teaching", "packed", PACKED), ("co_teaching", "streams", SEVERAL), ("ce", "streams", None)],
)
def test_streams_of_several_networks_share_kernels(name, executor, options, monkeypatch):
    asked = []
    monkeypatch.setattr(torch, "compile", lambda function, **given: asked.append(given["options"]) or function)
    trained(name, executor, Compiler())
    assert asked
    assert all(each == options for each in asked)
