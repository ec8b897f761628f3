import errno
import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from labelnoise.engine import checkpoint
from labelnoise.engine.checkpoint import Checkpointer, load, load_facts, of_runs, save
from labelnoise.engine.memory import is_shortage
from labelnoise.errors import InputError

TENSORS = {
    "weights|nets.teacher/net.w": torch.randn(3, 4, dtype=torch.float64),
    "optimiser||step": torch.tensor(7.0),
    "counts": torch.arange(5),
    "flags": torch.tensor([True, False]),
    "half": torch.randn(2, dtype=torch.bfloat16),
    "transposed": torch.randn(3, 4).t(),
    "broadcast": torch.ones(2, 1).expand(2, 3),
    "empty": torch.zeros(0, 3),
    "bad": torch.tensor([float("nan"), float("inf")]),
}
FACTS = {"position": [1, 2, 3], "failed": [0]}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deeper" / "checkpoint.safetensors"


def same(a, b):
    return a.dtype == b.dtype and torch.equal(a.nan_to_num(9), b.nan_to_num(9))


def test_what_was_saved_is_loaded_bit_for_bit(path):
    save(path, TENSORS, FACTS)
    tensors, facts = load(path)
    assert tensors.keys() == TENSORS.keys()
    assert all(same(value, tensors[name]) for name, value in TENSORS.items())
    assert facts == FACTS == load_facts(path)


def test_tensors_that_share_memory_are_saved_each(path):
    whole = torch.arange(6.0)
    save(path, {"a": whole, "b": whole[:3], "c": whole}, {})
    tensors, _ = load(path)
    assert torch.equal(tensors["b"], torch.arange(3.0))
    assert torch.equal(tensors["c"], whole)


def test_saving_leaves_one_file(path):
    for _ in range(2):
        save(path, TENSORS, FACTS)
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("dies_in", ["serialised", "fsync", "replace"])
def test_a_save_that_dies_leaves_the_old_checkpoint(path, monkeypatch, dies_in):
    def die(*_, **__):
        raise KeyboardInterrupt

    save(path, TENSORS, FACTS)
    owner = {"serialised": checkpoint, "fsync": os, "replace": Path}[dies_in]
    monkeypatch.setattr(owner, dies_in, die)
    with pytest.raises(KeyboardInterrupt):
        save(path, {"counts": torch.zeros(5)}, {"position": [9, 9, 9]})
    tensors, facts = load(path)
    assert torch.equal(tensors["counts"], TENSORS["counts"])
    assert facts == FACTS


def test_a_full_disk_is_one_sentence_and_leaves_the_old_checkpoint(path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    save(path, TENSORS, FACTS)
    monkeypatch.setattr(os, "fsync", full)
    sentence = (
        r"cannot write .*checkpoint.safetensors \(No space left on device\); free space and type the command again"
    )
    with pytest.raises(InputError, match=sentence):
        save(path, {}, {})
    assert load(path)[1] == FACTS


def test_a_full_disk_stops_no_training_and_is_warned_of_once(path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    warned, sync = [], os.fsync
    checkpointer = Checkpointer(path, warn=warned.append)
    checkpointer.save(TENSORS, FACTS)
    monkeypatch.setattr(os, "fsync", full)
    for _ in range(3):
        checkpointer.save({}, {})
    assert warned == [f"no space is left for {path}; training goes on, but cannot be taken up from here: free some"]
    assert checkpointer.load()[1] == FACTS
    monkeypatch.setattr(os, "fsync", sync)
    checkpointer.save({}, {"position": [4]})
    assert checkpointer.load()[1] == {"position": [4]}


def test_other_troubles_with_a_checkpoint_are_an_error(path, monkeypatch):
    def broken(_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(InputError, match="mend that and type the command again"):
        Checkpointer(path).save(TENSORS, FACTS)


def test_too_little_memory_for_a_checkpoint_is_an_error_and_no_end_of_the_process(path, monkeypatch):
    monkeypatch.setattr(checkpoint, "serialised", None)
    huge = torch.zeros(()).expand(2**45)
    monkeypatch.setattr(torch.Tensor, "contiguous", lambda self: huge)
    with pytest.raises(RuntimeError) as caught:
        save(path, {"large": torch.zeros(1)}, FACTS)
    assert is_shortage(caught.value)


def test_a_checkpoint_may_be_read_by_whom_the_umask_lets(path):
    save(path, TENSORS, FACTS)
    (path.parent / "plain").write_text("")
    assert path.stat().st_mode == (path.parent / "plain").stat().st_mode


def test_a_file_that_is_not_there_is_refused_with_advice(path):
    with pytest.raises(InputError, match=r"checkpoint.* cannot be read .*No such file.*; delete it to begin anew"):
        load(path)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.6, 0.99])
def test_a_truncated_checkpoint_is_refused_with_advice(path, share):
    save(path, TENSORS, FACTS)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(InputError, match=r"checkpoint.* cannot be read .* delete it to begin that training anew"):
        Checkpointer(path).load()


def test_a_safetensors_file_of_someone_else_is_refused(tmp_path):
    for number, metadata in enumerate(
        [None, {"format": "pt"}, {"facts": "not json"}, {"facts": "[3]"}, {"facts": "3"}]
    ):
        path = tmp_path / f"{number}.safetensors"
        save_file({"x": torch.zeros(1)}, path, metadata=metadata)
        with pytest.raises(InputError, match="cannot be read"):
            load(path)


def test_without_a_checkpoint_there_is_nothing_to_load(path):
    assert Checkpointer(path).load() is None
    assert Checkpointer(path).facts() == {}


def test_the_time_of_a_checkpoint_is_shared_by_its_runs():
    facts = {"position": (0, 2, 1), "failed": [[0, [1, 3]], [3, [1, 2]]], "seconds": 40.0}
    _, own = of_runs({"first_bad": torch.zeros(5)}, facts, range(3, 5))
    assert own == {"position": (0, 2, 1), "failed": [(0, [1, 2])], "seconds": 16.0}


def test_a_checkpointer_reads_the_facts_alone(path):
    Checkpointer(path).save(TENSORS, FACTS)
    assert Checkpointer(path).facts() == FACTS


@pytest.mark.parametrize(("every", "due"), [(0.0, True), (3600.0, False)])
def test_a_save_is_due_once_its_time_has_passed(path, every, due):
    checkpointer = Checkpointer(path, every)
    assert checkpointer.due is due
    checkpointer.save(TENSORS, FACTS)
    assert checkpointer.due is due
    assert checkpointer.load()[1] == FACTS


@pytest.mark.parametrize(("takes", "waits"), [(0.5, 30), (2.0, 60), (8.0, 240)])
def test_a_save_that_takes_long_is_made_less_often(path, monkeypatch, takes, waits):
    now = [0.0]
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(checkpoint, "save", lambda *_: now.__setitem__(0, now[0] + takes))
    checkpointer = Checkpointer(path)
    checkpointer.save(TENSORS, FACTS)
    now[0] = takes + waits - 0.01
    assert not checkpointer.due
    now[0] = takes + waits
    assert checkpointer.due
