import numpy as np
import pytest
import torch
from torch import nn

from labelnoise.auditing import run
from labelnoise.auditing.recorder import IN_SAMPLE, Recorder
from labelnoise.errors import InputError

RNG = np.random.default_rng(0)


def softmax(logits):
    return np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)


def test_means_over_epochs_are_those_of_a_plain_loop():
    epochs, labels = RNG.normal(size=(3, 5, 4)).astype(np.float32), np.array([0, 3, 1, 1, 2])
    recorder = Recorder(4)
    for logits in epochs:
        order = RNG.permutation(5)
        for rows in np.split(order, [2]):
            recorder.update(rows, logits[rows], labels[rows])
    evidence = recorder.evidence()
    for place, row in enumerate(recorder.ids):
        np.testing.assert_allclose(evidence.probs[place], softmax(epochs[:, row]).mean(0), rtol=1e-5)
        margins = [each[labels[row]] - np.delete(each, labels[row]).max() for each in epochs[:, row]]
        assert evidence.margins[place] == pytest.approx(np.mean(margins), abs=1e-6)
        assert evidence.given[place] == labels[row]


def test_a_row_that_comes_twice_in_a_batch_counts_twice():
    recorder, logits = Recorder(2), np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.0]])
    recorder.update(["a", "a", "b"], logits, [0, 0, 1])
    np.testing.assert_allclose(recorder.evidence().probs[0], softmax(logits[:2]).mean(0), rtol=1e-6)
    assert len(recorder) == 2


def test_tensors_in_training_and_in_low_precision_are_taken():
    recorder = Recorder(("cat", "dog"))
    net = nn.Linear(3, 2)
    recorder.update(torch.arange(4), net(torch.ones(4, 3)), torch.tensor([0, 1, 1, 0]))
    recorder.update(torch.arange(4), net(torch.ones(4, 3)).bfloat16(), torch.tensor([0, 1, 1, 0]))
    assert recorder.evidence().classes == ("cat", "dog")
    assert recorder.ids == (0, 1, 2, 3)


def test_ids_may_be_anything_that_has_a_hash():
    recorder = Recorder(2)
    recorder.update([("a.png", 1), frozenset("x"), None], np.zeros((3, 2)), [0, 1, 1])
    assert recorder.ids == (("a.png", 1), frozenset("x"), None)


def test_booleans_are_numbers_of_two_classes():
    recorder = Recorder(2)
    recorder.update([0, 1], np.array([[0.0, 3.0], [0.0, 3.0]]), np.array([True, False]))
    assert recorder.evidence().margins.tolist() == [3.0, -3.0]


def test_rows_without_a_label_have_no_margin():
    recorder = Recorder(2)
    recorder.update([0, 1], np.array([[5.0, 0.0], [5.0, 0.0]]), [-1, 0])
    np.testing.assert_equal(recorder.evidence().margins, [np.nan, 5.0])
    assert recorder.evidence().given.tolist() == [-1, 0]


def test_memory_grows_with_rows_and_not_with_epochs():
    recorder = Recorder(3)
    for _ in range(5):
        recorder.update(range(3000), np.zeros((3000, 3)), np.zeros(3000, int))
    assert recorder._probs.shape == (4096, 3)
    np.testing.assert_allclose(recorder.evidence().probs, 1 / 3, rtol=1e-6)


@pytest.mark.parametrize(
    ("ids", "logits", "labels", "message"),
    [
        ([0, 1], np.zeros((2, 3)), [0, 1], r"shape \(2, 3\).* must have shapes \(2, 2\)"),
        ([0], np.zeros((2, 2)), [0, 1], "1 ids came with"),
        ([0, 1], np.zeros((2, 2)), [0, 2], "0 to 1, or -1"),
        ([0, 1], np.zeros((2, 2)), [0.0, 1.0], "numbers of classes"),
        (["a", "b"], np.array([[0, 0], [np.nan, 0]]), [0, 1], "the logits of row 'b' hold NaN"),
        (["a", "b"], np.array([[0, 0], [np.inf, 0]]), [0, 1], "the logits of row 'b' hold NaN"),
        (["a", "b"], np.array([[0, 0], [-np.inf, -np.inf]]), [0, 1], "the logits of row 'b' hold NaN"),
        (["a", "a"], np.zeros((2, 2)), [0, 1], "row 'a' .*keeps its label"),
        ([["a"], ["b"]], np.zeros((2, 2)), [0, 1], r"the id \['a'\] is a list, which has no hash"),
    ],
)
def test_batches_that_cannot_be_are_refused_with_a_sentence(ids, logits, labels, message):
    recorder = Recorder(2)
    with pytest.raises(InputError, match=message):
        recorder.update(ids, logits, labels)
    assert len(recorder) == 0


def test_another_label_for_the_same_row_is_refused():
    recorder = Recorder(2)
    recorder.update(["a", "b"], np.zeros((2, 2)), [0, 1])
    with pytest.raises(InputError, match="row 'b' came with label 1 before and with 0 now"):
        recorder.update(["b"], np.zeros((1, 2)), [0])


def test_nothing_recorded_is_said():
    with pytest.raises(InputError, match="0 rows were recorded"):
        Recorder(2).evidence()


@pytest.mark.parametrize("classes", [1, ("a",), ("a", "a"), 2.5])
def test_two_classes_are_the_least(classes):
    with pytest.raises(InputError, match="two or more"):
        Recorder(classes)


def test_names_may_be_numbers():
    recorder = Recorder(classes=[10, 20, 30, 40])
    recorder.update(range(20), np.tile([[3.0, 0, 0, 0], [0, 3.0, 0, 0]], (10, 1)), [0, 1] * 9 + [2, 2])
    found = recorder.audit()
    assert set(found.issues.given) == {"10", "20", "30"}
    assert any("no row is given 40" in note for note in found.notes)


def test_the_audit_says_that_the_rows_were_learnt_from(monkeypatch):
    asked = {}
    monkeypatch.setattr(run, "judged", lambda evidence, ids, **rest: asked.update(ids=ids, **rest))
    recorder = Recorder(2)
    recorder.update(["a", "b"], np.zeros((2, 2)), [0, 1])
    recorder.audit(seed=3)
    assert asked == {"ids": ("a", "b"), "seed": 3, "notes": (IN_SAMPLE,)}
    recorder.audit(left_aside=True)
    assert asked["notes"] == ()


def test_a_list_of_tensors_names_the_same_rows_each_time():
    recorder = Recorder(np.int64(2))
    for _ in range(2):
        recorder.update(list(torch.arange(30)), np.zeros((30, 2)), list(torch.zeros(30, dtype=torch.int64)))
    assert recorder.ids == tuple(range(30))


@pytest.mark.parametrize("empty", [([], [], []), (torch.arange(0), torch.zeros(0, 2), torch.arange(0))])
def test_a_batch_without_rows_adds_nothing(empty):
    recorder = Recorder(2)
    recorder.update(*empty)
    assert len(recorder) == 0


def test_classes_masked_by_minus_infinity_have_no_probability_and_a_margin_that_is_a_number():
    recorder, logits = Recorder(3), np.array([[1.0, 0.0, -np.inf]] * 3 + [[1.0, -np.inf, -np.inf]])
    recorder.update(range(4), logits, [0, 1, 2, 0])
    evidence = recorder.evidence()
    assert (evidence.probs[:3, 2] == 0).all()
    assert evidence.margins.tolist() == [1.0, -1.0, -50.0, 50.0]
