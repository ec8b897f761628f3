import pytest
import torch

from labelnoise.engine.kept import compared, of_step

KEPT = {"a": torch.tensor([[1.0, 1.0, 0.0, 0.5]]), "b": torch.tensor([[0.0, 0.0, 0.0, 0.0]])}
RIGHT = torch.tensor([[True, False, True, True]])


def test_of_a_batch_precision_and_recall_are_shares_of_the_kept_weight_and_of_the_right_labels():
    measures = compared(of_step({"a": KEPT["a"]}, RIGHT))
    assert {name: value.item() for name, value in measures.items()} == pytest.approx(
        {"kept_a": 2.5 / 4, "kept_precision_a": 1.5 / 2.5, "kept_recall_a": 1.5 / 3}
    )


def test_batches_count_by_what_they_keep():
    """Two of four kept, both right; then one of four, wrong: two of three are right, not the mean of 1 and 0."""
    right = torch.tensor([[True, True, False, False]])
    steps = [of_step({"a": torch.tensor([kept])}, right) for kept in ([1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0])]
    measures = compared({name: (steps[0][name] + steps[1][name]) / 2 for name in steps[0]})
    assert measures["kept_precision_a"].item() == pytest.approx(2 / 3)
    assert measures["kept_recall_a"].item() == pytest.approx(2 / 4)


def test_of_nothing_kept_there_is_no_precision():
    measures = compared(of_step({"b": KEPT["b"]}, RIGHT))
    assert measures["kept_precision_b"].isnan().all()
    assert measures["kept_recall_b"].tolist() == [0]


def test_without_the_truth_only_the_share_is_told():
    assert list(compared(of_step(KEPT, None))) == ["kept_a", "kept_b"]


def test_methods_that_keep_everything_tell_nothing():
    assert of_step({}, RIGHT) == {}


def test_other_means_stay_as_they_are():
    loss = torch.tensor([3.0])
    assert compared({"loss": loss}) == {"loss": loss}
