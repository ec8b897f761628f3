import numpy as np
import pytest
import torch
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import roc_auc_score

from labelnoise.auditing import folds
from labelnoise.auditing.folds import fold_evidence
from labelnoise.crossfit.train import crossfit
from labelnoise.data.dataset import Dataset
from labelnoise.errors import InputError
from labelnoise.noise import flip, symmetric
from labelnoise.sweep.run import Display

DIGITS = load_digits(n_class=4)
TRUE = torch.tensor(DIGITS.target)
GIVEN = flip(TRUE, symmetric(classes=4, rate=0.2), seed=0)
DATA = Dataset.from_arrays(DIGITS.data.astype(np.float32) / 16, GIVEN)
WRONG = (GIVEN != TRUE).numpy()


@pytest.fixture(scope="module")
def evidence():
    return fold_evidence(DATA, folds=3, epochs=15, others=("ce",))


def test_probabilities_of_all_rows_are_there(evidence):
    assert evidence.probs.shape == (len(DATA), 4)
    np.testing.assert_allclose(evidence.probs.sum(1), 1, rtol=1e-5)
    assert evidence.classes == ("0", "1", "2", "3")


def test_wrong_labels_are_found_by_probability_and_by_margin(evidence):
    own = evidence.probs[np.arange(len(DATA)), evidence.given]
    assert roc_auc_score(WRONG, -own) > 0.97
    assert roc_auc_score(WRONG, -evidence.margins) > 0.97


def test_further_methods_stand_beside_the_first(evidence):
    (other,) = evidence.others
    assert (other.argmax(1) == TRUE.numpy()).mean() > 0.8
    assert not np.allclose(other, evidence.probs)


def test_rows_without_a_label_are_judged_all_the_same():
    given = GIVEN.numpy().copy()
    given[:40] = -1
    found = fold_evidence(DATA, given=given, folds=3, epochs=10)
    assert (found.probs[:40].argmax(1) == TRUE[:40].numpy()).mean() > 0.75
    assert np.isnan(found.margins).tolist() == [True] * 40 + [False] * (len(given) - 40)
    assert found.given[:40].tolist() == [-1] * 40


def test_the_same_seed_gives_the_same_evidence():
    few = Dataset.from_arrays(DATA.x[:60], GIVEN[:60])
    first, second, other = (fold_evidence(few, folds=2, epochs=2, seed=seed).probs for seed in (3, 3, 4))
    assert (first == second).all()
    assert (first != other).any()


def test_how_bright_images_are_and_how_much_their_pixels_differ_is_all_the_same():
    images = torch.tensor(DIGITS.images[:60], dtype=torch.float32).unsqueeze(1)
    bright, dark = (
        fold_evidence(Dataset.from_arrays(x, GIVEN[:60]), folds=2, epochs=2).probs for x in (images, 0.1 + images / 16)
    )
    np.testing.assert_allclose(bright, dark, atol=1e-4)


def test_images_of_one_colour_are_judged():
    blank = Dataset.from_arrays(torch.ones(20, 1, 8, 8), torch.arange(20) % 2)
    assert np.isfinite(fold_evidence(blank, folds=2, epochs=1).probs).all()


def test_too_many_folds_become_fewer_and_it_is_noted():
    found = fold_evidence(Dataset.from_arrays(DATA.x[:4], torch.tensor([0, 1, 0, 1])), folds=9, epochs=2)
    assert found.probs.shape == (4, 2)
    assert found.notes == ("9 folds were asked for, but 4 rows have a label; there are 4 folds",)


class Heard(Display):
    """What is said, and which trainings begin as which of how many."""

    def __init__(self):
        self.told, self.packs, self.pack = [], 0, 0

    def expect(self, packs):
        self.packs, self.pack = packs, 0

    def begin(self, name, runs, epochs, done):
        self.pack += 1
        self.told.append(f"{self.pack}/{self.packs} {name}")

    def say(self, sentence):
        self.told.append(sentence)


def test_a_second_method_is_announced_with_its_reason_before_it_is_trained():
    few, heard = Dataset.from_arrays(np.ones((24, 2)), torch.arange(24) % 2, classes=("cat", "dog")), Heard()
    fold_evidence(few, folds=2, epochs=1, others=("mixup",), display=heard)
    assert heard.told == [
        "1/2 gce",
        "gce has not learnt cat, dog: ce is trained as well, and judges the rows if it learns more",
        "1/2 ce",
        "ce has learnt no more classes, so that gce judges the rows",
        "2/2 mixup",
    ]


@pytest.mark.parametrize(("others", "kept"), [(("ce",), 1), (("gce", "ce", "ce"), 1), (("gce",), 0)])
def test_no_method_is_trained_twice_and_none_confirms_itself(others, kept):
    few, heard = Dataset.from_arrays(np.ones((24, 2)), torch.arange(24) % 2), Heard()
    found = fold_evidence(few, folds=2, epochs=1, others=others, display=heard)
    assert [told.split()[1] for told in heard.told if "/" in told] == ["gce", "ce"]
    assert len(found.others) == kept


def test_cross_entropy_judges_where_the_robust_loss_gives_a_small_class_up():
    cancer = load_breast_cancer()
    rows = np.concatenate([np.flatnonzero(cancer.target == 1), np.flatnonzero(cancer.target == 0)[:20]])
    x = cancer.data[rows]
    x = ((x - x.mean(0)) / x.std(0)).astype(np.float32)
    given = torch.tensor(1 - cancer.target[rows])
    found = fold_evidence(Dataset.from_arrays(x, given), others=("ce",))
    assert found.probs.argmax(1)[given == 1].mean() > 0.5
    assert found.others == ()  # it is the one that judges
    assert found.notes == (
        "gce has not learnt every class and ce has learnt more, so that its networks judge the rows",
    )


def test_a_method_that_learns_every_class_is_not_replaced(monkeypatch):
    trained = []
    monkeypatch.setattr(folds, "crossfit", lambda method, *rest: trained.append(method.name) or crossfit(method, *rest))
    found = fold_evidence(DATA, folds=3, epochs=15)
    assert (trained, found.notes) == (["gce"], ())


def test_cross_entropy_may_be_the_first_and_the_robust_loss_another():
    few = Dataset.from_arrays(DATA.x[:60], GIVEN[:60])
    assert len(fold_evidence(few, method="ce", others=("gce",), folds=2, epochs=1).others) == 1


def test_an_unknown_method_is_refused():
    with pytest.raises(InputError, match="unknown method 'gcee'"):
        fold_evidence(DATA, method="gcee")
