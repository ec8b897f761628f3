import pandas as pd

from labelnoise.auditing.result import Audit


def test_an_audit_prints_the_rate_and_the_first_rows():
    table = pd.DataFrame({"wrong_probability": [0.5, 0.1, None]})
    precision = pd.DataFrame({"expected": [0.5, 0.3]}, index=pd.Index([1, 2], name="k"))
    audit = Audit(table, 0.3, (0.25, 0.36), table, (table, table), table, precision, {}, ("a note",))
    assert str(audit).splitlines() == [
        "30.0% of 2 labels are wrong (25.0% to 36.0%), about 1 rows",
        "first 1: 50% wrong",
        "first 2: 30% wrong",
        "a note",
    ]
