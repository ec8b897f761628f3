"""What one process can show; exchanges between two are in test_distributed.py."""

import pytest
import torch
import torch.distributed as dist

from labelnoise.engine import ranks
from labelnoise.engine.interrupt import Interrupt

TOLD = {"RANK": "1", "WORLD_SIZE": "4", "MASTER_ADDR": "127.0.0.1"}


def test_without_torchrun_there_is_one_process():
    assert (ranks.started(), ranks.count(), ranks.rank()) == (1, 1, 0)
    assert type(ranks.interrupt()) is Interrupt


def test_torchrun_says_how_many_it_has_started(monkeypatch):
    for name, value in TOLD.items():
        monkeypatch.setenv(name, value)
    assert ranks.started() == 4
    assert ranks.count() == 1  # until they have joined


@pytest.mark.parametrize("value", [None, ""])
@pytest.mark.parametrize("name", TOLD)
def test_what_a_cluster_says_for_ends_of_its_own_is_not_torchrun(monkeypatch, name, value):
    for told, said in TOLD.items():
        monkeypatch.setenv(told, said)
    if value is None:
        monkeypatch.delenv(name)
    else:
        monkeypatch.setenv(name, value)
    assert ranks.started() == 1


@pytest.mark.parametrize("rows", [0, 1, 5, 12, 13])
@pytest.mark.parametrize("parts", [1, 2, 3, 5])
def test_parts_hold_every_row_once_and_differ_by_one_row_at_most(rows, parts):
    found = ranks.bounds(rows, parts)
    assert [row for part in found for row in range(rows)[part]] == list(range(rows))
    sizes = [part.stop - part.start for part in found]
    assert max(sizes) - min(sizes) <= 1


def test_another_groups_processes_are_not_ours(monkeypatch, tmp_path):
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/meeting", rank=0, world_size=1)
    try:
        monkeypatch.setattr(dist, "get_world_size", lambda: 8)
        assert ranks.count() == 1
    finally:
        dist.destroy_process_group()


def test_empty_rows_need_no_exchange():
    assert ranks.gathered(torch.zeros(3, 0), 7).shape == (7, 0)


@pytest.mark.parametrize(
    ("problem", "loss"),
    [
        (RuntimeError("[pair.cc:547] Connection closed by peer [127.0.0.1]:31"), True),
        (dist.DistBackendError("NCCL error"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
    ],
)
def test_the_loss_of_a_process_is_told_from_other_errors(problem, loss):
    assert ranks.is_loss(problem) == loss
