from labelnoise.reviewing.remarks import on_classes


def test_a_class_that_seems_wrong_altogether_is_told(people, audit_of):
    tall = [str(row) for row in range(1, 40, 2)]
    (sentence,) = on_classes(audit_of(people.dataset, wrong=tall), people)
    assert sentence.startswith("Every label of class tall seems wrong")
    assert list(on_classes(audit_of(people.dataset, wrong=tall[1:]), people)) == []
