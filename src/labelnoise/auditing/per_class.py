"""Which classes are labelled wrongly, how often, and as what."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def class_table(
    classes: tuple[str, ...], rows: NDArray[np.int64], flips: NDArray[np.float64], learnt: NDArray[np.bool_]
) -> pd.DataFrame:
    """A line for every class, from rows by given class (K,) and expected wrong rows (K true, K given).

    `wrong` of the rows given this class are expected to be of another, most often `meant`, with that share of them;
    `missing` rows of this class are expected to be given another. These are guesses where a class is not `learnt` (K,).
    """
    wrong = flips.sum(0)
    best = flips.argmax(0)
    share = flips[best, np.arange(len(best))] / np.where(wrong > 0, wrong, 1)
    table = {
        "rows": rows,
        "wrong": wrong,
        "rate": np.divide(wrong, rows, out=np.full(len(rows), np.nan), where=rows > 0),
        "meant": [classes[other] if some > 0 else "" for other, some in zip(best, wrong, strict=True)],
        "meant_share": np.where(wrong > 0, share, np.nan),
        "missing": flips.sum(1),
        "learnt": learnt,
    }
    return pd.DataFrame(table, index=pd.Index(classes, name="class"))
