import numpy as np
import pandas as pd

from labelnoise.auditing.per_class import class_table


def test_a_table_by_hand():
    flips = np.array([[0, 2, 0], [5, 0, 0], [1, 0, 0]])  # true, given
    table = class_table(("cat", "dog", "owl"), np.array([12, 10, 0]), flips, np.array([True, True, False]))
    assert table.loc["cat"].to_dict() == {
        "rows": 12,
        "wrong": 6,
        "rate": 0.5,
        "meant": "dog",
        "meant_share": 5 / 6,
        "missing": 2,
        "learnt": True,
    }
    assert table.meant["dog"] == "cat"
    assert pd.isna(table.rate["owl"])
    assert table.meant["owl"] == ""
