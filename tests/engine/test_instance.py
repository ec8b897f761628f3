from functools import partial

import pytest
import torch

from labelnoise.config import Optimiser
from labelnoise.data.dataset import Dataset
from labelnoise.data.loader import Loader, Task
from labelnoise.data.split import Splits
from labelnoise.engine.executors import EXECUTORS
from labelnoise.engine.instance import SHOWN, learns_transition, shown, transition
from labelnoise.methods import build
from labelnoise.nets import build as build_net
from labelnoise.types import Context, DataSpec


def scene(name, executor):
    x = torch.randn(60, 4, generator=torch.Generator().manual_seed(0))
    data = Dataset("made up", x, torch.arange(60) % 3, None, tuple("abc"))
    parts = Splits(*torch.arange(60).split([20, 5, 35]))
    loader = Loader([Task(data, parts, seed) for seed in (0, 1)])
    spec = DataSpec((4,), 3, loader.samples, partial(build_net, "mlp", (4,), settings={"widths": "5"}))
    runner = EXECUTORS[executor]([build(name)] * 2, spec, (0, 1), torch.zeros(()))
    runner.enter(0, Optimiser())
    return runner, loader, x[25 : 25 + SHOWN]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_the_first_test_rows_are_shown_with_what_each_run_makes_of_them(executor):
    runner, loader, x = scene("causal_nl", executor)
    found = shown(runner, loader)
    assert torch.equal(found["shown_x"], x.expand(2, SHOWN, 4))
    alone, _, _ = scene("causal_nl", "streams")
    for run, lane in enumerate(alone.lanes):
        nets, method = lane.module.eval().networks, lane.current[0]
        torch.testing.assert_close(found["shown_reconstruction"][run], method.reconstruct(nets, x, Context()))
        torch.testing.assert_close(found["shown_T"][run], method.instance_transition(nets, x, Context()))
    assert not torch.equal(found["shown_T"][0], found["shown_T"][1])


@pytest.mark.parametrize("executor", EXECUTORS)
def test_of_methods_that_learn_no_cause_nothing_is_shown(executor):
    runner, loader, _ = scene("co_teaching", executor)
    assert shown(runner, loader) == {}
    assert not learns_transition(runner.lanes[0])


def test_a_lane_reads_its_transition_without_a_graph_and_in_eval_mode():
    runner, _, x = scene("causal_nl", "streams")
    lane = runner.lanes[0]
    lane.module.train()
    found = transition(lane, x)
    assert found.shape == (SHOWN, 3, 3)
    assert not found.requires_grad
    assert not any(net.training for net in lane.module.networks.values())
