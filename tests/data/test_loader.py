from collections import Counter
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labelnoise.config import Augment
from labelnoise.data.dataset import Dataset
from labelnoise.data.loader import PARTS, Loader, Task, batches
from labelnoise.data.split import Splits
from labelnoise.errors import InputError

AUGMENT = Augment(crop=2, flip=True, rotation=20)


def numbered(rows=20, shape=(2,), seed=0):
    """Inputs and labels that tell their own row: x holds it, y is its remainder."""
    x = torch.arange(rows, dtype=torch.float32).reshape(-1, *[1] * len(shape)).expand(rows, *shape).clone()
    y = torch.arange(rows) % 4
    data = Dataset("numbered", x, y, 3 - y, tuple("abcd"))
    cut = torch.arange(rows).roll(seed)
    return Task(data, Splits(cut[: rows - 8], cut[rows - 8 : rows - 4], cut[rows - 4 :]), seed)


def images(seed=0, rows=20):
    pixels = torch.randint(256, (rows, 3, 6, 6), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    y = torch.arange(rows) % 2
    return Task(Dataset("images", pixels, y, None, ("a", "b")), Splits(*torch.arange(rows).split([12, 4, 4])), seed)


@given(st.integers(1, 3000), st.integers(1, 400))
def test_batches_cover_all_samples_with_equal_sizes_no_larger_than_asked(samples, batch):
    steps, size = batches(samples, batch)
    assert size <= batch
    assert samples <= steps * size < samples + steps
    assert steps == -(-samples // batch)


@given(st.integers(9, 60), st.integers(1, 70))
def test_an_epoch_serves_every_row_at_least_once_in_equal_batches(rows, batch):
    loader = Loader([numbered(rows)])
    served = [first.rows[0].tolist() for first, _ in loader.epoch(0, batch)]
    counts = Counter(row for rows in served for row in rows)
    assert len({len(rows) for rows in served}) == 1
    assert set(counts) == set(range(rows - 8))
    assert sum(counts.values()) - len(counts) < len(served)


@given(st.integers(9, 60), st.integers(1, 70))
def test_no_batch_holds_a_row_twice(rows, batch):
    for first, _ in Loader([numbered(rows)]).epoch(0, batch):
        assert len(set(first.rows[0].tolist())) == first.rows.shape[1]


def test_rows_inputs_and_given_labels_of_a_batch_belong_together():
    task = numbered(seed=3)
    for batch, peers in Loader([task]).epoch(1, 5, peers=2):
        for x, y, rows in (batch, *peers):
            pool = task.splits.train[rows[0]]
            assert torch.equal(x[0, :, 0], pool.float())
            assert torch.equal(y[0], pool % 4)


def test_packed_runs_are_served_what_they_are_served_alone():
    tasks = [numbered(seed=seed) for seed in (0, 5, 9)]
    together = list(Loader(tasks).epoch(2, 5, peers=1))
    for run, task in enumerate(tasks):
        for (ours, our_peers), (own, own_peers) in zip(together, Loader([task]).epoch(2, 5, peers=1), strict=True):
            for packed, alone in zip((*ours, *our_peers[0]), (*own, *own_peers[0]), strict=True):
                assert torch.equal(packed[run], alone[0])


def test_packed_runs_are_augmented_as_they_are_alone():
    together = list(Loader([images(0), images(1)], AUGMENT).epoch(0, 4, peers=1))
    alone = list(Loader([images(1)], AUGMENT).epoch(0, 4, peers=1))
    for (ours, our_peers), (own, own_peers) in zip(together, alone, strict=True):
        assert torch.equal(ours.x[1], own.x[0])
        assert torch.equal(our_peers[0].x[1], own_peers[0].x[0])


def test_augmentation_changes_with_step_epoch_seed_and_peer():
    same = images(rows=20)
    same.dataset.x.copy_(same.dataset.x[:1].expand(20, -1, -1, -1).clone())
    loader = Loader([same, same._replace(seed=1)], AUGMENT)
    seen = [
        batch.x[run]
        for epoch in (0, 1)
        for step in loader.epoch(epoch, 4, peers=2)
        for batch in (step[0], *step[1])
        for run in (0, 1)
    ]
    assert len({tuple(x.flatten().tolist()) for x in seen}) == len(seen) == 2 * 3 * 3 * 2


def test_peers_do_not_change_the_main_order():
    with_peers, without = (
        [first.rows for first, _ in Loader([numbered()]).epoch(0, 5, peers=peers)] for peers in (2, 0)
    )
    assert all(map(torch.equal, with_peers, without))


def test_batch_and_peers_are_shuffled_independently():
    orders = [[], [], []]
    for first, peers in Loader([numbered(400)]).epoch(0, 50, peers=2):
        for order, batch in zip(orders, (first, *peers), strict=True):
            order.append(batch.rows[0])
    main, one, two = (torch.cat(order).double() for order in orders)
    for a, b in ((main, one), (main, two), (one, two)):
        assert abs(torch.corrcoef(torch.stack([a, b]))[0, 1]) < 0.2  # four standard errors of 392 independent pairs


def test_epochs_and_seeds_have_orders_of_their_own():
    first, other_seed = next(Loader([numbered(100), numbered(100)._replace(seed=1)]).epoch(0, 92))[0].rows
    later = next(Loader([numbered(100)]).epoch(1, 92))[0].rows[0]
    assert not torch.equal(first, later)
    assert not torch.equal(first, other_seed)


def test_an_epoch_taken_up_later_goes_on_as_it_would_have():
    whole = list(Loader([images()], AUGMENT).epoch(3, 4, peers=1))
    rest = list(Loader([images()], AUGMENT).epoch(3, 4, peers=1, start=2))
    assert len(rest) == len(whole) - 2
    for (ours, our_peers), (theirs, their_peers) in zip(rest, whole[2:], strict=True):
        assert all(map(torch.equal, (*ours, *our_peers[0]), (*theirs, *their_peers[0])))


@pytest.mark.parametrize("part", PARTS)
def test_chunks_give_a_part_in_order_with_both_labels(part):
    task = numbered(seed=2)
    chunks = list(Loader([task]).chunks(part, 3))
    rows = getattr(task.splits, part)
    assert torch.equal(torch.cat([chunk.x[0, :, 0] for chunk in chunks]), rows.float())
    assert torch.equal(torch.cat([chunk.y_given[0] for chunk in chunks]), rows % 4)
    assert torch.equal(torch.cat([chunk.y_true[0] for chunk in chunks]), 3 - rows % 4)


def test_true_labels_are_none_where_they_are_unknown():
    assert all(chunk.y_true is None for chunk in Loader([images()]).chunks("test", 3))


def test_true_labels_are_none_for_all_runs_where_one_lacks_them():
    known, unknown = numbered(), numbered(seed=1)
    unknown = unknown._replace(dataset=replace(unknown.dataset, y_true=None))
    assert next(Loader([known, unknown]).chunks("test", 3)).y_true is None


def test_evaluated_images_are_scaled_and_normalised_but_not_augmented():
    task = images()
    settings = Augment(crop=2, flip=True, mean=(0.1, 0.2, 0.3), std=(0.5, 0.25, 2.0))
    chunk = next(Loader([task], settings, dtype=torch.float64).chunks("test", 9))
    pixels = task.dataset.x[task.splits.test].double() / 255
    for channel, (mean, std) in enumerate(zip(settings.mean, settings.std, strict=True)):
        torch.testing.assert_close(chunk.x[0, :, channel], (pixels[:, channel] - mean) / std, rtol=0, atol=1e-6)


def test_inputs_come_in_the_dtype_that_was_asked_for():
    loader = Loader([numbered()], dtype=torch.float64)
    assert next(loader.epoch(0, 5))[0].x.dtype == torch.float64


def test_runs_on_the_same_inputs_share_one_copy():
    task = numbered()
    loader = Loader([task, task._replace(seed=1)])
    assert loader.pool.data_ptr() == task.dataset.x.data_ptr()


def test_runs_on_inputs_of_their_own_get_their_own():
    tasks = [numbered(), numbered(seed=1)]
    tasks[1].dataset.x.add_(1000)
    low, high = next(Loader(tasks).epoch(0, 12))[0].x
    assert low.max() < 1000 <= high.min()


def test_parts_of_unequal_sizes_cannot_share_a_pack():
    with pytest.raises(InputError, match="the train parts of the runs in a pack must have equal sizes"):
        Loader([numbered(20), numbered(21)])


def uneven(seed=0, counts=(3, 20, 9, 1)):
    """A training part with so many rows of each class, and four rows each for validation and test."""
    y = torch.cat([torch.arange(4), torch.arange(4), torch.repeat_interleave(torch.arange(4), torch.tensor(counts))])
    data = Dataset("uneven", torch.arange(len(y)).float()[:, None], y, None, tuple("abcd"))
    train, validation, test = torch.arange(8, len(y)), torch.arange(4), torch.arange(4, 8)
    return Task(data, Splits(train, validation, test), seed)


def drawn(loader, epoch, length):
    """The rows of an epoch of each run, without those that fill the last batch."""
    return torch.cat([batch.rows for batch, _ in loader.epoch(epoch, 5)], dim=1)[:, :length]


@given(st.integers(1, 30), st.integers(0, 5))
def test_a_balanced_epoch_has_so_many_rows_of_every_class_each_as_often_as_the_others(each, epoch):
    loader = Loader([uneven(0), uneven(1)], balanced=each)
    for rows, labels in zip(drawn(loader, epoch, 4 * each), loader.labels, strict=True):
        assert labels[rows].bincount(minlength=4).tolist() == [each] * 4
        for label in range(4):
            times = Counter(rows[labels[rows] == label].tolist())
            own = int((labels == label).sum())
            assert set(times.values()) <= {each // own, -(-each // own)}
            assert len(times) == min(each, own)


def test_the_rows_of_a_balanced_epoch_are_drawn_anew_each_epoch_and_by_seed():
    loader = Loader([uneven(0), uneven(1)], balanced=8)
    first, second = (drawn(loader, epoch, 32) for epoch in (0, 1))
    chosen = [frozenset(rows.tolist()) for rows in (*first, *second)]
    assert len(set(chosen)) == 4


def test_a_balanced_epoch_is_the_same_again_alone_and_when_taken_up_later():
    together = list(Loader([uneven(0), uneven(1)], balanced=8).epoch(2, 5, peers=1))
    alone = list(Loader([uneven(1)], balanced=8).epoch(2, 5, peers=1, start=3))
    for (ours, our_peers), (own, own_peers) in zip(together[3:], alone, strict=True):
        for packed, single in zip((*ours, *our_peers[0]), (*own, *own_peers[0]), strict=True):
            assert torch.equal(packed[1], single[0])


def test_classes_are_mixed_in_a_balanced_epoch():
    loader = Loader([uneven()], balanced=100)
    labels = loader.labels[0][drawn(loader, 0, 400)[0]]
    halves = torch.stack([half.bincount(minlength=4) for half in labels.split(200)])
    assert (halves - 50).abs().max() < 18  # four standard deviations of a hypergeometric draw


def test_rows_of_a_balanced_batch_belong_to_its_inputs_and_labels():
    task = uneven()
    for batch, peers in Loader([task], balanced=7).epoch(0, 5, peers=1):
        for x, y, rows in (batch, *peers):
            place = task.splits.train[rows[0]]
            assert torch.equal(x[0, :, 0], place.float())
            assert torch.equal(y[0], task.dataset.y_given[place])


@pytest.mark.parametrize(("balanced", "rows"), [(0, 33), (1, 4), (9, 36)])
@pytest.mark.parametrize("batch", [1, 5, 33, 100])
def test_the_steps_of_an_epoch_are_those_that_are_served(balanced, rows, batch):
    loader = Loader([uneven()], balanced=balanced)
    assert loader.steps(batch) == len(list(loader.epoch(0, batch))) == -(-rows // batch)


def test_balanced_epochs_need_rows_of_every_class():
    sentence = (
        r"^train.balanced needs training rows of every class, but with seed 6 there are none of 'c'; "
        r"leave that class out of the data, or train.balanced$"
    )
    with pytest.raises(InputError, match=sentence):
        Loader([uneven(), uneven(6, (13, 19, 0, 1))], balanced=2)


def test_an_epoch_whose_order_was_drawn_beforehand_is_the_same():
    served, prepared = (Loader([numbered(), numbered(seed=1)]) for _ in range(2))
    prepared.prepare(3, 4, peers=1)
    for one, other in zip(served.epoch(3, 4, peers=1), prepared.epoch(3, 4, peers=1), strict=True):
        assert torch.equal(one[0].rows, other[0].rows)
        assert torch.equal(one[1][0].rows, other[1][0].rows)


def test_an_epoch_is_not_served_in_the_order_of_another_that_was_prepared():
    loader = Loader([numbered()])
    expected = [batch.rows for batch, _ in loader.epoch(2, 4)]
    loader.prepare(3, 4)
    assert all(torch.equal(batch.rows, rows) for (batch, _), rows in zip(loader.epoch(2, 4), expected, strict=True))
