import pytest
import torch

from labelnoise.engine.execution import Execution
from labelnoise.engine.lanes import Alone, Stacked
from labelnoise.methods.ce import CE
from labelnoise.nets import build
from labelnoise.nets.base import Lowerable, Net
from labelnoise.types import DataSpec

LIKE = torch.zeros((), dtype=torch.float64)
SPEC = DataSpec((4,), 3, 30, lambda head: build("mlp", (4,), head))


def test_one_run_has_no_run_axis_and_a_pack_has():
    alone, stacked = Alone([CE()], SPEC, [5], LIKE), Stacked([CE()] * 2, SPEC, [5, 6], LIKE)
    shapes = {name: value.shape for name, value in alone.params.items()}
    assert {name: value.shape for name, value in stacked.params.items()} == {
        name: (2, *shape) for name, shape in shapes.items()
    }


def test_what_is_kept_comes_out_with_the_run_axis_first():
    alone, stacked = Alone([CE()], SPEC, [5], LIKE), Stacked([CE()] * 2, SPEC, [5, 6], LIKE)
    rows = torch.arange(6).reshape(2, 3)
    assert torch.equal(alone.by_run(alone.stacked([rows[0]])), rows[:1])
    assert torch.equal(stacked.by_run(stacked.stacked([rows[0], rows[1]])), rows)


def test_a_function_is_called_with_each_runs_own_networks():
    lanes = [Alone([CE()], SPEC, [5], LIKE), Alone([CE()], SPEC, [6], LIKE), Stacked([CE()] * 2, SPEC, [5, 6], LIKE)]
    x = torch.ones(7, 4, dtype=torch.float64)
    for lane in lanes:
        lane.current, lane.hypers = lane.methods, {}
    first, second, both = (
        lane.map(lambda _, nets, x: nets["net"](x), x if lane.runs is None else x.expand(2, -1, -1)) for lane in lanes
    )
    torch.testing.assert_close(both, torch.stack([first, second]), rtol=1e-12, atol=1e-12)


def test_matrices_of_a_pack_lie_transposed():
    stacked = Stacked([CE()] * 2, SPEC, [5, 6], LIKE)
    matrices = [value for value in stacked.params.values() if value.dim() == 3]
    assert matrices
    assert all(value.mT.is_contiguous() for value in matrices)


@pytest.mark.parametrize(("lane", "kind"), [(Alone, Lowerable), (Stacked, Net)])
def test_of_a_pack_classifiers_alone_may_compute_in_fewer_bits(monkeypatch, lane, kind):
    asked = []
    monkeypatch.setattr(Execution, "lower", lambda self, module, device, kind: asked.append(kind))
    lane([CE()], SPEC, [5], LIKE)
    assert asked == [kind]
