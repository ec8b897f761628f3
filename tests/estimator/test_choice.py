import pytest
import torch
from torch.nn.functional import one_hot

from labelnoise.config import Train
from labelnoise.crossfit.cut import cut
from labelnoise.crossfit.train import Plan
from labelnoise.data.dataset import Dataset
from labelnoise.errors import InputError
from labelnoise.estimator import choice
from labelnoise.estimator.choice import SHORT_LIST, choose

Y = torch.arange(60) % 3
X = 3.0 * one_hot(Y, 3) + torch.randn(60, 3, generator=torch.Generator().manual_seed(0))
DATA = Dataset.from_arrays(X, Y)
PLAN = Plan(DATA, cut(Y, 3, 0), "mlp", {"widths": "8"}, Train(epochs=3, batch=16), 0, torch.device("cpu"))


@pytest.mark.parametrize(
    ("scores", "best"),
    [
        ({"gce": 0.6, "forward": 0.5, "logistic_normal": 0.7, "ce": 0.1}, "logistic_normal"),
        ({"gce": 0.6, "forward": 0.6, "logistic_normal": 0.6, "ce": 0.6}, "gce"),
    ],
)
def test_the_highest_score_is_taken_and_of_equals_the_first(monkeypatch, scores, best):
    monkeypatch.setattr(choice, "crossfit", lambda method, plan, **_: method)
    monkeypatch.setattr(choice, "agreement", lambda method: scores[method.name])
    monkeypatch.setattr(choice, "_reason", lambda *_: "")
    assert choose("auto", PLAN).fit.name == best


def test_a_method_that_is_named_is_taken():
    found = choose("ce", PLAN)
    assert (found.fit.method.name, found.reason, list(found.scores)) == ("ce", "ce was asked for", ["ce"])


def test_auto_tries_the_short_list_and_says_why():
    found = choose("auto", PLAN)
    assert list(found.scores) == list(SHORT_LIST)
    assert found.reason.startswith(f"{found.fit.method.name} was chosen: it predicts the given label of ")
    right = (found.fit.probs.argmax(1) == Y).double().mean().item()
    assert found.scores[found.fit.method.name] == pytest.approx(right)


def test_a_method_that_fails_is_left_out_and_named(monkeypatch):
    real = choice.crossfit

    def broken(method, plan, **wishes):
        if method.name in ("gce", "ce"):
            raise InputError(f"{method.name} failed")
        return real(method, plan, **wishes)

    monkeypatch.setattr(choice, "crossfit", broken)
    found = choose("auto", PLAN)
    assert list(found.scores) == ["forward", "logistic_normal"]
    assert found.reason.endswith("; gce was left out: gce failed; ce was left out: ce failed")
    with pytest.raises(InputError, match="gce failed"):
        choose("gce", PLAN)
