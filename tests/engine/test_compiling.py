import pytest
import torch
from torch._dynamo.utils import counters

from labelnoise.engine.compiling import PACKED, Compiler
from labelnoise.engine.memory import is_shortage
from labelnoise.methods import build
from labelnoise.testing import TRAIN, training, varied

METHODS = [
    "ce",
    "gce",
    "co_teaching",
    "decoupling",
    "f_divergence",
    "logistic_normal",
    "mixup",
    "peer_loss",
    "t_revision",
]


def trained(name, executor, compiled, backend="aot_eager"):
    found = training(varied(build(name, {})), executor=executor, train=TRAIN)
    if compiled:
        found.executor.compile(Compiler(backend))
    found.run()
    return found.executor.state()


@pytest.mark.parametrize("executor", ["streams", "packed"])
@pytest.mark.parametrize("name", METHODS)
def test_compiled_training_equals_plain_training(name, executor):
    plain, compiled = (trained(name, executor, compiled) for compiled in (False, True))
    for key, value in plain.items():
        torch.testing.assert_close(compiled[key], value, rtol=1e-9, atol=1e-10)


def test_runs_that_differ_in_numbers_alone_are_compiled_once():
    counters.clear()
    trained("gce", "streams", compiled=True)
    assert counters["stats"]["unique_graphs"] == 1


def broken(graph, inputs):
    raise RuntimeError("no compiler is found")


def short(graph, inputs):
    raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


@pytest.mark.parametrize("executor", ["streams", "packed"])
def test_what_cannot_be_compiled_is_called_as_it_is(executor):
    plain = trained("gce", executor, compiled=False)
    with pytest.warns(UserWarning, match="gce is not compiled, for torch cannot: .*broken"):
        found = trained("gce", executor, compiled=True, backend=broken)
    for key, value in plain.items():
        torch.testing.assert_close(found[key], value, rtol=1e-9, atol=1e-10)


def test_a_compiler_that_is_short_of_memory_says_so():
    with pytest.raises(Exception, match="out of memory") as caught:
        trained("gce", "packed", compiled=True, backend=short)
    assert is_shortage(caught.value)


def test_the_compiler_knows_what_is_asked_of_it_for_packs():
    assert set(PACKED) <= set(torch._inductor.list_options())
