import pytest
import torch
from torch._dynamo.utils import counters

from labelnoise.engine.compiling import Compiler
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


def trained(name, executor, compiled):
    torch._dynamo.reset()
    found = training(varied(build(name, {})), executor=executor, train=TRAIN)
    if compiled:
        compiler = Compiler("aot_eager")
        for lane in found.executor.lanes:
            lane.compiled = compiler
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
