from dataclasses import replace

import pandas as pd

from labelnoise.auditing.result import Audit

TABLE = pd.DataFrame({"wrong_probability": [0.5, 0.1, None]})
PRECISION = pd.DataFrame({"expected": [0.5, 0.3]}, index=pd.Index([1, 2], name="k"))
AUDIT = Audit(TABLE, 0.3, (0.25, 0.36), TABLE, (TABLE, TABLE), TABLE, PRECISION, {}, ("a note",))


def test_an_audit_prints_the_rate_and_the_first_rows():
    assert str(AUDIT).splitlines() == [
        "30.0% of 2 labels are wrong (25.0% to 36.0%), about 1 rows",
        "first 1: 50% wrong",
        "first 2: 30% wrong",
        "a note",
    ]


def test_where_not_all_rows_can_be_judged_the_first_of_those_are_meant():
    fewer = replace(AUDIT, precision=PRECISION[:1])
    assert str(fewer).splitlines()[1] == "first 1 of those that can be judged: 50% wrong"


def test_a_rate_that_may_be_nearly_anything_is_not_printed():
    unknown = replace(AUDIT, noise_rate_interval=(0.0, 0.7), precision=PRECISION[:0])
    assert str(unknown).splitlines() == ["what share of 2 labels is wrong is not known (0.0% to 70.0%)", "a note"]
