import os
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest
import torch
from PIL import Image

from labelnoise.comparing import compare_methods
from labelnoise.config import Augment, Split, Train
from labelnoise.data import stream
from labelnoise.data.dataset import DATASETS, Dataset
from labelnoise.data.loader import Loader, Task
from labelnoise.data.pictures import Pictures
from labelnoise.data.split import split
from labelnoise.data.stream import Share, Stream, make_loader, usual_workers
from labelnoise.errors import InputError

ROWS, SIDE = 40, 12
AUGMENT = Augment(crop=2, flip=True, mean=(0.1, 0.2, 0.3), std=(0.5, 0.25, 2.0))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """PNG files, which hold their pixels exactly."""
    place = tmp_path_factory.mktemp("pictures")
    for row, pixels in enumerate(np.random.default_rng(0).integers(0, 256, (ROWS, SIDE, SIDE, 3), np.uint8)):
        Image.fromarray(pixels).save(place / f"{row}.png")
    return place


@pytest.fixture(scope="module")
def on_disk(folder):
    return dataset(Pictures(folder, np.array([f"{row}.png".encode() for row in range(ROWS)]), size=SIDE, resize=SIDE))


@pytest.fixture(scope="module")
def cut(on_disk):
    """The same files, of which windows are cut out."""
    return dataset(Pictures(on_disk.x.folder, on_disk.x.paths, size=8, resize=SIDE))


def dataset(x):
    y = torch.arange(len(x)) % 4
    return Dataset("pictures", x, y, (y + 1) % 4, tuple("abcd"))


def pixels(data):
    """What PIL reads, (N, 3, side, side)."""
    images = [np.asarray(Image.open(data.x.folder / name)) for name in data.x.names]
    return torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2).contiguous()


def tasks(data, *seeds):
    return [Task(data, split(data, Split(), seed), seed) for seed in seeds]


def flat(steps):
    return [tensor for first, peers in steps for batch in (first, *peers) for tensor in batch]


def assert_equal(ours, theirs):
    assert len(ours) == len(theirs) > 0
    assert all(map(torch.equal, ours, theirs))


@pytest.mark.parametrize("balanced", [0, 9])
def test_batches_of_whole_images_are_bit_for_bit_those_of_the_loader_in_memory(on_disk, balanced):
    in_memory = dataset(pixels(on_disk))
    streamed = Stream(tasks(on_disk, 0, 5), AUGMENT, balanced=balanced, workers=0)
    loaded = Loader(tasks(in_memory, 0, 5), AUGMENT, balanced=balanced)
    assert_equal(flat(streamed.epoch(3, 8, peers=2)), flat(loaded.epoch(3, 8, peers=2)))


@pytest.mark.parametrize("part", ["train", "validation", "test"])
def test_chunks_of_whole_images_are_bit_for_bit_those_of_the_loader_in_memory(on_disk, part):
    streamed = list(Stream(tasks(on_disk, 0, 5), AUGMENT, workers=0).chunks(part, 3))
    loaded = list(Loader(tasks(dataset(pixels(on_disk)), 0, 5), AUGMENT).chunks(part, 3))
    assert_equal([tensor for chunk in streamed for tensor in chunk], [tensor for chunk in loaded for tensor in chunk])


def test_windows_are_cut_at_random_in_training_and_in_the_middle_in_evaluation(cut):
    loader, whole = Stream(tasks(cut, 0), workers=0), pixels(cut)
    seen = Counter()
    for epoch in range(20):
        for batch, _ in loader.epoch(epoch, 8):
            for x, row in zip(batch.x[0], loader.parts["train"].rows[0, batch.rows[0]], strict=True):
                image = whole[row].float() / 255
                seen.update(
                    (top, left)
                    for top in range(5)
                    for left in range(5)
                    if torch.equal(x, image[:, top : top + 8, left : left + 8])
                )
    drawn = 20 * loader.steps(8) * 7  # batches of 7
    assert sum(seen.values()) == drawn
    chi_squared = sum((seen[top, left] - drawn / 25) ** 2 / (drawn / 25) for top in range(5) for left in range(5))
    assert chi_squared < 52.6  # the 0.1 % point of 24 degrees of freedom, with a little to spare
    middle = torch.cat([chunk.x[0] for chunk in loader.chunks("test", 3)])
    assert torch.equal(middle, whole[loader.parts["test"].rows[0], :, 2:10, 2:10].float() / 255)


def part(process):
    """One of two processes, with nothing where the windows of the other would be."""

    def own(rows):
        return slice(0, rows // 2) if process == 0 else slice(rows // 2, rows)

    def whole(windows, rows):
        every = windows.new_zeros(rows, *windows.shape[1:])
        every[own(rows)] = windows
        return every

    return Share(2, own, whole)


def test_two_processes_read_each_window_once(cut):
    alone, first, second = (Stream(tasks(cut, 0, 5), workers=0, share=share) for share in (None, part(0), part(1)))
    for serve in (
        lambda loader: flat(loader.epoch(2, 7, peers=1))[::3],
        lambda loader: [c.x for c in loader.chunks("train", 5)],
    ):
        expected, *both = (serve(loader) for loader in (alone, first, second))
        assert_equal([one + other for one, other in zip(*both, strict=True)], expected)
        assert all(
            each.any() and not torch.equal(each, whole)
            for own in both
            for each, whole in zip(own, expected, strict=True)
        )


def test_fewer_windows_than_processes_are_read_by_each(cut):
    shared = Stream(tasks(cut, 0), workers=0, share=part(0)).chunks("test", 1)
    assert_equal([c.x for c in shared], [c.x for c in Stream(tasks(cut, 0), workers=0).chunks("test", 1)])


def test_packed_runs_are_served_what_they_are_served_alone(cut):
    together = flat(Stream(tasks(cut, 0, 5, 9), AUGMENT, workers=0).epoch(2, 8, peers=1))
    for run, seed in enumerate((0, 5, 9)):
        alone = flat(Stream(tasks(cut, seed), AUGMENT, workers=0).epoch(2, 8, peers=1))
        assert_equal([tensor[run] for tensor in together], [tensor[0] for tensor in alone])


def test_an_epoch_taken_up_later_goes_on_as_it_would_have(cut):
    loader = Stream(tasks(cut, 0), AUGMENT, workers=0)
    whole, rest = list(loader.epoch(3, 8, peers=1)), list(loader.epoch(3, 8, peers=1, start=2))
    assert_equal(flat(rest), flat(whole[2:]))


def test_windows_change_with_epoch_step_seed_and_peer(tmp_path, cut):
    # one image under all names
    names = [f"{row}.png" for row in range(ROWS)]
    for name in names:
        (tmp_path / name).symlink_to(cut.x.folder / "0.png")
    same = dataset(Pictures(tmp_path, np.array(list(map(str.encode, names))), size=8, resize=SIDE))
    loader = Stream(tasks(same, 0, 1), workers=0)
    steps = [step for epoch in (0, 1) for step in loader.epoch(epoch, 7, peers=1)]
    seen = [tuple(batch.x[run].flatten().tolist()) for step in steps for batch in (step[0], *step[1]) for run in (0, 1)]
    assert len(set(seen)) == len(seen) == 2 * loader.steps(7) * 2 * 2


def test_workers_change_nothing_and_leave_an_iteration_in_good_order(cut):
    own, others = (Stream(tasks(cut, 0, 5), AUGMENT, workers=workers) for workers in (0, 2))
    next(others.epoch(0, 8))  # left after its first step
    assert_equal(flat(others.epoch(1, 8, peers=1)), flat(own.epoch(1, 8, peers=1)))
    assert_equal([chunk.x for chunk in others.chunks("test", 3)], [chunk.x for chunk in own.chunks("test", 3)])
    assert_equal(flat(others.epoch(2, 8, start=1)), flat(own.epoch(2, 8, start=1)))


def test_images_that_several_runs_are_evaluated_on_are_read_once(on_disk, monkeypatch):
    asked = []
    real = stream.read_windows
    monkeypatch.setattr(
        stream, "read_windows", lambda files, *rest, **cut: asked.extend(files) or real(files, *rest, **cut)
    )
    kept = Dataset("kept", on_disk.x, on_disk.y_given, None, on_disk.classes, test=torch.arange(6))
    list(Stream(tasks(kept, 0, 1, 2), workers=0).chunks("test", 4))
    assert sorted(asked) == sorted(on_disk.x.files(range(6)))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_damaged_image_is_named_in_one_sentence_whoever_reads_it(tmp_path, cut, workers):
    for name in cut.x.names:
        (tmp_path / name).symlink_to(cut.x.folder / name)
    (task,) = tasks(dataset(Pictures(tmp_path, cut.x.paths, size=8, resize=SIDE)), 0)
    damaged = tmp_path / cut.x.names[task.splits.train[5]]
    damaged.unlink()
    damaged.write_bytes(b"no image")
    with pytest.raises(InputError) as error:
        list(Stream([task], workers=workers).epoch(0, 8))
    assert str(error.value) == f"{damaged} cannot be read as an image; mend it or replace it"


def test_an_iteration_cannot_go_on_once_another_has_begun(cut):
    loader = Stream(tasks(cut, 0), workers=0)
    first = loader.epoch(0, 4)
    next(first)
    next(loader.chunks("test", 4))
    with pytest.raises(RuntimeError, match="another iteration over streamed images has begun"):
        next(first)


def test_streaming_leaves_torchs_own_random_numbers_alone(cut):
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    list(Stream(tasks(cut, 0), AUGMENT, workers=0).epoch(0, 8))
    assert torch.equal(torch.rand(3), expected)


def test_runs_must_share_their_images(cut):
    other = dataset(Pictures(cut.x.folder, cut.x.paths, size=8, resize=SIDE))
    with pytest.raises(InputError, match="the runs in a pack must share their images; load the data set once for all"):
        Stream([*tasks(cut, 0), *tasks(other, 1)])


def test_the_kind_of_loader_follows_from_the_inputs(cut):
    train = Train(augment=AUGMENT, balanced=3)
    streamed, loaded = (make_loader(tasks(data, 0), train) for data in (cut, dataset(torch.rand(ROWS, 3, 8, 8))))
    assert isinstance(streamed, Stream)
    assert not isinstance(loaded, Stream)
    for loader in (streamed, loaded):
        assert (loader.settings, loader.balanced, loader.shape) == (AUGMENT, 3, (3, 8, 8))


@pytest.mark.parametrize(("cores", "workers"), [(1, 1), (2, 1), (8, 7), (64, 16)])
def test_a_core_is_left_for_the_training(monkeypatch, cores, workers):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    assert usual_workers() == workers


@pytest.fixture
def registered(cut, monkeypatch):
    monkeypatch.setattr(stream, "usual_workers", lambda: 0)
    DATASETS.register("streamed_for_a_test")(lambda _: cut)
    yield "streamed_for_a_test"
    DATASETS.forget("streamed_for_a_test")


@pytest.mark.parametrize("method", ["ce", "peer_loss", "forward"])
def test_methods_train_on_streamed_images(registered, tmp_path, method):
    train = {"epochs": 2, "batch": 8, "balanced": 5, "augment": {"flip": True}}
    settings = {"methods": method, "seeds": 2, "noise": "none", "net": "lenet5_same", "train": train}
    compared = compare_methods(registered, settings=settings, out=tmp_path / "runs", device="cpu")
    assert not compared.failed
    assert len(compared.summary.rows) == 1
    assert compared.model().classes == tuple("abcd")


SCRIPT = """
# no `if __name__ == "__main__"`: a worker must not run this again
import sys
from pathlib import Path
import numpy as np, torch
from labelnoise.config import Split
from labelnoise.data.dataset import Dataset
from labelnoise.data.loader import Task
from labelnoise.data.pictures import Pictures
from labelnoise.data.split import split
from labelnoise.data.stream import Stream
from labelnoise.engine.interrupt import Interrupt
paths = np.array([f"{row}.png".encode() for row in range(40)])
data = Dataset("d", Pictures(Path(sys.argv[1]), paths, 8, 12), torch.arange(40) % 2, None, ("a", "b"))
loader = Stream([Task(data, split(data, Split(), 0), 0)], workers=2)
try:
    with Interrupt() as interrupt:
        for epoch in range(10**6):
            for _ in loader.epoch(epoch, 4):
                if epoch == 1:
                    print("going", flush=True)
                interrupt.check()
except KeyboardInterrupt as left:
    print(left, flush=True)
"""


def is_alive(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def running(folder, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, script, folder],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert process.stdout.readline() == "going\n"
    return process


def gone(process):
    end = time.monotonic() + 30
    while is_alive(process.pid) and time.monotonic() < end:
        time.sleep(0.1)
    return not is_alive(process.pid)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_all_processes_ends_them_in_good_order(folder, tmp_path, number):
    process = running(folder, tmp_path)
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=60)
    assert out.splitlines()[-1] == f"interrupted by {number.name}"
    assert err == ""
    assert process.returncode == 0
    assert gone(process)


def test_workers_do_not_outlive_a_process_that_is_killed(folder, tmp_path):
    process = running(folder, tmp_path)
    process.kill()
    process.communicate(timeout=60)
    assert gone(process)
