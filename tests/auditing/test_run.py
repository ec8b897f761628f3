import sys
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

from labelnoise import audit
from labelnoise.auditing import run
from labelnoise.auditing.evidence import Evidence
from labelnoise.config import Data
from labelnoise.errors import InputError

RNG = np.random.default_rng(0)
Y = np.array(["cat", "dog"] * 10)
X = (np.where(Y == "cat", 2.0, -2.0)[:, None] + RNG.normal(size=(20, 3))).astype(np.float32)
PROBS = np.full((20, 2), 0.5, np.float32)


@dataclass(frozen=True)
class Judgement:
    """Stands for an audit: what it would be made of."""

    evidence: Evidence
    ids: tuple
    seed: int
    notes: tuple = ("judged",)


@pytest.fixture(autouse=True)
def judge(monkeypatch):
    module = ModuleType("labelnoise.auditing.examine")
    module.examine = lambda evidence, *, ids, seed: Judgement(evidence, tuple(ids), seed)
    monkeypatch.setitem(sys.modules, module.__name__, module)


def test_networks_are_trained_on_folds_of_an_array():
    found = audit(X, Y, folds=2, epochs=30, seed=4)
    assert (found.evidence.probs.argmax(1) == (Y == "dog")).mean() > 0.9
    assert (found.evidence.classes, found.seed, found.notes) == (("cat", "dog"), 4, ("judged",))
    assert found.ids == tuple(range(20))


def test_a_table_with_missing_labels_has_a_row_for_each_of_its_rows(tmp_path):
    frame = pd.DataFrame(X, columns=list("abc")).assign(kind=Y, name=[f"r{row}" for row in range(20)])
    frame.loc[3, "kind"] = None
    frame.to_csv(tmp_path / "animals.csv", index=False)
    settings = Data(label_column="kind", id_column="name")
    found = audit(tmp_path / "animals.csv", settings=settings, folds=2, epochs=2)
    assert found.evidence.given[:5].tolist() == [0, 1, 0, -1, 0]
    assert found.ids[3] == "r3"
    assert found.notes[-1] == "judged"


def test_own_probabilities_need_no_inputs_and_are_not_copied():
    found = audit(None, Y, probs=PROBS)
    assert found.evidence.probs is PROBS
    assert found.evidence.margins is None


def test_labels_may_be_given_by_name_alone():
    assert audit(y=Y, probs=PROBS).evidence.probs is PROBS


def test_probabilities_may_be_a_tensor_in_another_precision():
    assert audit(None, Y, probs=torch.tensor(PROBS).double()).evidence.probs.dtype == np.float32


def test_probabilities_on_disk_stay_there(tmp_path):
    np.save(tmp_path / "probs.npy", PROBS)
    held = np.load(tmp_path / "probs.npy", mmap_mode="r")
    assert np.shares_memory(audit(None, Y, probs=held).evidence.probs, held)


def test_embeddings_alone_give_probabilities_and_neighbours():
    found = audit(None, Y, embeddings=X).evidence
    assert (found.probs.argmax(1) == (Y == "dog")).mean() > 0.9
    assert (found.neighbours.argmax(1) == (Y == "dog")).mean() > 0.9


def test_embeddings_beside_probabilities_add_neighbours():
    found = audit(None, Y, probs=PROBS, embeddings=X).evidence
    assert found.probs is PROBS
    assert found.neighbours.shape == (20, 2)


def test_ids_and_classes_may_be_given():
    found = audit(None, Y, probs=np.full((20, 3), 1 / 3), classes=["emu", "dog", "cat"], ids=range(100, 120))
    assert found.evidence.given[:2].tolist() == [2, 1]
    assert found.ids[:2] == (100, 101)


@pytest.mark.parametrize("by", [{"epochs": 2}, {"embeddings": X[:4]}], ids=["networks", "embeddings"])
def test_fewer_folds_than_asked_for_are_noted(by):
    found = audit(X[:4], Y[:4], folds=9, **by)
    assert found.notes == ("9 folds were asked for, but 4 rows have a label; there are 4 folds", "judged")


def test_what_the_folds_did_otherwise_is_noted(monkeypatch):
    trained = Evidence((Y == "dog").astype(np.int64), PROBS, ("cat", "dog"), notes=("another method judges",))
    monkeypatch.setattr(run, "fold_evidence", lambda *_, **__: trained)
    assert audit(X, Y).notes == ("another method judges", "judged")


@pytest.mark.parametrize(
    ("given", "wishes", "message"),
    [
        ((None, Y), {}, "y alone says nothing"),
        ((None, None), {}, "there are no labels; give them as y"),
        ((None, None), {"probs": PROBS}, "there are no labels; give them as y"),
        ((scipy.sparse.csr_matrix(X), Y), {}, "the csr_matrix is sparse; make it an array with .toarray()"),
        ((X, Y), {"epochs": 2.5}, "epochs must be a whole number, at least 1, not 2.5"),
        ((X, Y), {"seed": "a"}, "seed must be a whole number, not 'a'"),
        ((None, Y), {"embeddings": X, "method": "nonsense"}, "unknown method 'nonsense'"),
        ((None, Y), {"probs": PROBS, "others": "ce"}, "others are methods to train"),
        ((None, Y), {"embeddings": X, "epochs": 3}, "epochs are of networks to train, but beside probs or embeddings"),
        ((None, Y), {"probs": PROBS[:5]}, "probs has 5 rows but there are 20 labels"),
        ((None, Y), {"probs": PROBS[:, 0]}, r"shape \(rows, classes\)"),
        ((None, Y), {"embeddings": X[:5]}, "a row for each of the 20 labels"),
        ((None, Y), {"probs": PROBS, "ids": ["a"] * 20}, "id 'a' is in row 0 and again in row 1"),
        ((None, Y), {"probs": pd.DataFrame(PROBS, columns=["cat", "cow"])}, "the columns of probs are cat, cow but"),
        ((pd.DataFrame(X[:5]), Y), {"probs": PROBS}, "X has 5 rows but y 20 labels"),
        ((X, Y), {"folds": 2.5}, "whole number, at least 2, not 2.5"),
        ((X, Y), {"folds": 1}, "folds must be a whole number, at least 2"),
        ((X, np.array(["cat"] * 20)), {}, "at least two classes must occur"),
        (("digitss", None), {}, "unknown data set 'digitss'"),
        ((X, np.arange(20)), {}, "too many for classes"),
    ],
)
def test_what_cannot_be_audited_is_refused_with_a_sentence(given, wishes, message):
    with pytest.raises(InputError, match=message):
        audit(*given, **wishes)


@pytest.mark.parametrize("evidence", [{"probs": PROBS}, {"embeddings": X}])
@pytest.mark.parametrize("kind", ["path", "table"])
def test_a_table_of_labels_alone_may_be_judged_by_evidence_of_one_s_own(tmp_path, evidence, kind):
    frame = pd.DataFrame({"text": [f"sentence {row}" for row in range(20)], "kind": Y})
    frame.to_csv(tmp_path / "t.csv", index=False)
    source = frame if kind == "table" else tmp_path / "t.csv"
    found = audit(source, settings=Data(label_column="kind"), **evidence)
    assert (found.evidence.given == (Y == "dog")).all()
    assert found.notes == ("judged",)


def test_probabilities_of_other_classes_than_the_table_s_are_refused(tmp_path):
    pd.DataFrame(X).assign(label=Y).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match="3 columns but the data have 2 classes"):
        audit(tmp_path / "t.csv", probs=np.full((20, 3), 1 / 3))


def test_a_table_keeps_its_index_and_a_column_of_ids_goes_first():
    frame = pd.DataFrame(X, columns=list("abc"), index=range(100, 120))
    assert audit(frame, Y, folds=2, epochs=1).ids == tuple(range(100, 120))
    assert audit(frame, Y, embeddings=X).ids == tuple(range(100, 120))
    named = frame.assign(kind=Y, name=[f"r{row}" for row in range(20)])
    settings = Data(label_column="kind", id_column="name")
    assert audit(named, settings=settings, folds=2, epochs=1).ids[0] == "r0"


def test_columns_with_names_are_put_in_the_order_of_the_classes():
    probs = np.column_stack([np.full(20, 0.2), np.full(20, 0.8)])
    found = audit(None, Y, probs=pd.DataFrame(probs, columns=["dog", "cat"]))
    np.testing.assert_allclose(found.evidence.probs[0], [0.8, 0.2], rtol=1e-6)


def test_a_label_of_minus_one_is_none_and_noted():
    found = audit(None, np.where(Y == "cat", 0, 1) - 2 * (np.arange(20) == 3), probs=PROBS)
    assert found.evidence.given[3] == -1
    assert found.notes == ("the label -1 is taken for none (rows: 1)", "judged")


def test_one_further_method_may_be_a_text():
    assert len(audit(X, Y, folds=2, epochs=1, others="ce").evidence.others) == 1
