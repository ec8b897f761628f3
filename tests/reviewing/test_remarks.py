from dataclasses import replace

import pytest

from labelnoise.reviewing.corrections import by_audit
from labelnoise.reviewing.outcome import outcome
from labelnoise.reviewing.remarks import on_classes, on_columns, on_images, on_losses, on_truth


def test_a_class_that_seems_wrong_altogether_is_told(people, audit_of):
    tall = [str(row) for row in range(1, 40, 2)]
    (sentence,) = on_classes(audit_of(people.dataset, wrong=tall), people)
    assert sentence.startswith("Every label of class tall seems wrong")
    assert list(on_classes(audit_of(people.dataset, wrong=tall[1:]), people)) == []


@pytest.mark.parametrize("mode", ["drop", "relabel", "weight"])
def test_a_class_that_loses_most_of_its_labels_is_told(people, audit_of, mode):
    tall = [str(row) for row in range(1, 40, 2)]
    for wrong, left in ((tall[1:], 1), (tall[9:], 9)):
        done = outcome(people.dataset, by_audit(audit_of(people.dataset, wrong=wrong), people.dataset), mode)
        (sentence,) = on_losses(people.dataset, done)
        assert f"class tall ({left} of 20)" in sentence
    for wrong in (tall[10:], tall):  # half of them, and all of them, which stay
        done = outcome(people.dataset, by_audit(audit_of(people.dataset, wrong=wrong), people.dataset), mode)
        assert list(on_losses(people.dataset, done)) == []


def test_images_that_links_lead_to_are_told(photos, source_of, tmp_path):
    assert list(on_images(photos)) == []
    (photos.path / "ant" / "0.png").rename(tmp_path / "secret.png")
    (photos.path / "ant" / "0.png").symlink_to(tmp_path / "secret.png")
    (sentence,) = on_images(source_of(photos.path))
    assert "1 of them, such as" in sentence
    assert "ant/0.png" in sentence


def test_the_order_of_columns_that_is_assumed_is_told(people):
    (sentence,) = on_columns(people)
    assert "taken to be short, tall;" in sentence


def test_true_labels_tell_what_an_audit_is_worth(people, audit_of):
    audit = audit_of(people.dataset, wrong=["3", "9"])
    assert list(on_truth(audit, people)) == []
    for wrong, sentence in (
        ([], "By the true labels 0 of 40 labels are wrong."),
        ([3, 7], "By the true labels 2 of 40 labels are wrong, and 1 of the 2 most suspicious rows."),
    ):
        true = people.dataset.y_given.clone()
        true[wrong] = 1 - true[wrong]
        source = people._replace(dataset=replace(people.dataset, y_true=true))
        assert list(on_truth(audit, source)) == [sentence]
