"""Kill -9 at random moments of a comparison of twelve runs, type it again each time, compare what is left in the end.

python benchmarks/kill.py [--kills 20] [--seed 0]
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# The command, with a checkpoint every second instead of every thirty, so that a kill falls between many.
LABELNOISE = """
from functools import partial
from labelnoise.cli import main
from labelnoise.sweep import run
run.Checkpointer = partial(run.Checkpointer, every_seconds=1.0)
main()
"""
METHODS = "ce,gce,forward,co_teaching"
OPTIONS = ["--methods", METHODS, "--seeds", "3", "--epochs", "120", "--device", "cpu"]
COMMAND = [sys.executable, "-c", LABELNOISE, "train", *OPTIONS, "--out"]


def records(folder: Path) -> dict[str, bytes]:
    return {path.parent.name: path.read_bytes() for path in sorted(folder.glob("*/records.jsonl"))}


def timed(*words: str) -> float:
    began = time.perf_counter()
    subprocess.run([*COMMAND, *words], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    moments = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as scratch:
        whole, killed = Path(scratch) / "whole", Path(scratch) / "killed"
        seconds, start = timed(str(whole)), timed(str(killed), "--print-config")
        print(f"undisturbed: {seconds:.1f} s, {len(records(whole))} packs of 3 runs; start {start:.1f} s", flush=True)
        for number in range(options.kills):
            process = subprocess.Popen([*COMMAND, str(killed)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            after = start + moments.uniform(0, 1.5 * (seconds - start) / options.kills)
            try:
                process.wait(timeout=after)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            lines = sum(content.count(b"\n") for content in records(killed).values())
            print(f"kill {number + 1} after {after:.1f} s: {lines} records", flush=True)
        timed(str(killed))
        equal = records(whole) == records(killed)
        models = [(folder / "model.safetensors").read_bytes() for folder in (whole, killed)]
        print(f"records equal: {equal}, models equal: {models[0] == models[1]}")
        sys.exit(not (equal and models[0] == models[1]))


if __name__ == "__main__":
    main()
