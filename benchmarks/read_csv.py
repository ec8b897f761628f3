"""How long a large CSV takes to read, and how much memory: a million rows, eighteen numbers, a text and a label each.

    python benchmarks/read_csv.py [--rows 1000000]

The file is made in a temporary folder and read in a process of its own; the bare import of the library is told apart.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import click
import numpy as np
import pandas as pd

CHILD = """
import resource, sys, time
import pandas
from labelnoise.data import read
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
before, began = peak(), time.perf_counter()
data = read(sys.argv[1])
seconds = time.perf_counter() - began
print(f"{len(data)} rows, inputs of shape {data.shape}, {len(data.classes)} classes: {seconds:.1f} s, "
      f"peak {peak():.2f} GiB, of which {before:.2f} GiB before reading")
began = time.perf_counter()
data.fingerprint
print(f"fingerprint: {time.perf_counter() - began:.1f} s")
"""


def write(path: Path, rows: int) -> None:
    """Numbers as they come, six digits each, and names of ten colours and four classes."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(rows, 18)).round(6), columns=[f"x{i}" for i in range(18)])
    table["colour"] = np.array([f"colour {i}" for i in range(10)])[rng.integers(10, size=rows)]
    table["label"] = np.array(["ant", "bee", "cat", "dog"])[rng.integers(4, size=rows)]
    table.to_csv(path, index=False)


@click.command()
@click.option("--rows", default=1_000_000)
def main(rows: int) -> None:
    """Print one line for the file, and what its reader says."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        write(path, rows)
        print(f"{path.stat().st_size / 2**20:.0f} MiB", flush=True)
        subprocess.run([sys.executable, "-c", CHILD, str(path)], check=True)


if __name__ == "__main__":
    main()
