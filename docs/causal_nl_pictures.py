"""Write the picture of docs/causal_nl.md from folders of runs: `python docs/causal_nl_pictures.py FOLDER [FOLDER ...]`.

Yao et al., Instance-dependent label-noise learning under a structural causal model, NeurIPS 2021, Figure 2.
"""

import sys
from pathlib import Path

from labelnoise.report.figures import Plane, regions
from labelnoise.report.gallery import gallery
from labelnoise.report.summary import Row, summarise
from labelnoise.report.template import Panel
from labelnoise.results.select import NoisyValidation, accuracy_on_test
from labelnoise.results.store import Store

HERE = Path(__file__).parent
PLANE = ("probs", "frame", "points", "given", "wrong")


def panel(row: Row) -> Panel:
    """The decision regions of a method's first seed, with the weights that noisy validation has chosen."""
    run = row.finished[0]
    accuracy = 100 * accuracy_on_test(NoisyValidation().pick(run.records))
    told = f"{row.label}, {accuracy:.1f} % right"
    return Panel(regions(row.method, told, Plane(*(run.details[f"plane_{name}"].numpy() for name in PLANE))), told)


if __name__ == "__main__":
    rows = [row for folder in sys.argv[1:] for row in summarise(Store.read(Path(folder))).rows]
    title = "MOON with 45 % wrong labels: decision regions; hollow points are labelled wrongly"
    (HERE / "causal_nl_moon.svg").write_text(gallery(title, [panel(row) for row in rows], 3), encoding="utf-8")
