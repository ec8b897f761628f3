"""Part-dependent noise on 50,000 images of 3,072 pixels: time against a loop over rows, and memory.

    python benchmarks/instance.py

The loop is the definition in float64 numpy, row by row; with 100 classes it runs over a tenth of the rows and its time
is multiplied by ten. Each size runs in a process of its own, so that its peak of memory is its own.
"""

import resource
import subprocess
import sys
import time

import numpy as np

from labelnoise.noise import expected_rate, instance_dependent
from labelnoise.noise.flip import Draws
from labelnoise.noise.instance import row_rates
from labelnoise.rng import normals

ROWS, PIXELS, RATE = 50_000, 3072, 0.45


def loop(x: np.ndarray, y: np.ndarray, classes: int) -> list[int]:
    q, (coin, target) = row_rates(RATE, ROWS, 0), Draws.of(ROWS, 0)
    W = [normals(PIXELS * classes, 0, "noise-projection", c).numpy().reshape(PIXELS, classes) for c in range(classes)]
    given = []
    for i in range(len(x)):
        a = x[i].astype(np.float64) @ W[y[i]]
        a[y[i]] = -np.inf
        p = np.exp(a - a.max())
        reached = np.cumsum(p) / p.sum()
        given.append(int((reached <= target[i]).sum()) if coin[i] < q[i] else int(y[i]))
    return given


def measure(classes: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (ROWS, PIXELS), dtype=np.uint8)
    y = rng.integers(0, classes, ROWS)
    instance_dependent(x[:100], y[:100], RATE, classes=classes, seed=0)  # wakes up torch
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = []
    for details in (False, True):
        start = time.perf_counter()
        given = instance_dependent(x, y, RATE, classes=classes, seed=0, details=details)
        seconds.append(time.perf_counter() - start)
    labels, found = given
    extra = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20
    some = ROWS if classes == 10 else ROWS // 10
    start = time.perf_counter()
    slow = loop(x[:some], y[:some], classes)
    naive = (time.perf_counter() - start) * ROWS / some
    assert slow == labels[:some].tolist(), "labels differ from those of the loop"
    print(
        f"{classes:>3} classes: labels {seconds[0]:.2f} s, with probabilities {seconds[1]:.2f} s, loop {naive:.1f} s: "
        f"{naive / seconds[0]:.1f} and {naive / seconds[1]:.1f} times as fast; {extra:.2f} GiB more at the peak; "
        f"realised rate {found.realised:.4f}, expected {expected_rate(RATE):.4f}; labels equal the loop's"
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(int(sys.argv[1]))
    else:
        for classes in (10, 100):
            subprocess.run([sys.executable, __file__, str(classes)], check=True)
