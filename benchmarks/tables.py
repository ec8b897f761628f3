"""Published tables trained side by side on one device, for as long as there is time; typed again, it goes on.

    python benchmarks/tables.py results/commands.txt [--minutes 25] [--out results] [--logs FOLDER]

The file has a line for each `labelnoise reproduce`, such as `f_divergence/table3 --only data=mnist --methods PL`. Lines
of a paragraph follow each other; paragraphs are trained side by side, so that one computes while another is compiled.
Lines of one recipe on the same data belong into one paragraph. CUDA's MPS, where it runs, lets kernels of several share
a GPU. When the time is over, what is under way is interrupted; what is finished is kept in `OUT/PAPER/TABLE-RECIPE`.
"""

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TextIO

import click

PATIENCE = 60.0  # seconds for a command to keep what is finished
STOPPED = 130  # the exit status of a command that was interrupted


@dataclass(frozen=True)
class Place:
    """Where results and what commands print go, and until when."""

    out: Path
    logs: Path
    until: float

    def follow(self, commands: Sequence[str]) -> bool:
        """One after the other, as many as there is time for; whether none has failed."""
        ended = [self.train(command) for command in commands if time.monotonic() < self.until]
        return all(ended)

    def train(self, command: str) -> bool:
        """One of them, and say how it ended."""
        began, words = time.monotonic(), shlex.split(command)
        folder, log = self.out / f"{words[0]}-{_recipe(words)}", self.logs / f"{'-'.join(words).replace('/', '-')}.log"
        call = [sys.executable, "-m", "labelnoise", "reproduce", *words, "--quiet", "--out", str(folder)]
        with log.open("w") as file:
            code = self.waited(subprocess.Popen(call, stdout=file, stderr=subprocess.STDOUT))
        last = (log.read_text().strip().splitlines() or [""])[-1] if code else "done"
        print(f"{command}: {last} ({time.monotonic() - began:.0f} s)", flush=True)
        return code in (0, STOPPED)

    def waited(self, process: subprocess.Popen[bytes]) -> int:
        """The exit status; it is interrupted when the time is over."""
        try:
            return process.wait(max(0.0, self.until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        try:
            return process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def _recipe(words: Sequence[str]) -> str:
    # as `labelnoise reproduce` names it in the folder that it takes by default
    parts = [part for word in words for part in (word.split("=", 1) if word.startswith("--recipe=") else [word])]
    recipe = parts[parts.index("--recipe") + 1] if "--recipe" in parts else "paper"
    return f"{recipe}-search" if "--search" in parts else recipe


@click.command()
@click.argument("file", type=click.File(encoding="utf-8"))
@click.option("--minutes", default=60.0)
@click.option("--out", default=Path("results"), type=click.Path(path_type=Path))
@click.option("--logs", type=click.Path(path_type=Path))
def main(*, file: TextIO, minutes: float, out: Path, logs: Path | None) -> None:
    """Train what the file lists."""
    lines = [line.strip() for line in file if not line.startswith("#")]
    paragraphs = [list(found) for filled, found in groupby(lines, bool) if filled]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which jobs in the background ignore, and their children
    place = Place(out, logs or Path(tempfile.mkdtemp()), time.monotonic() + 60 * minutes)
    place.logs.mkdir(parents=True, exist_ok=True)
    at_once = max(1, len(paragraphs))
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // at_once)))  # a share of the cores each
    with ThreadPoolExecutor(at_once) as pool:
        done = list(pool.map(place.follow, paragraphs))
    sys.exit(0 if all(done) else 1)


if __name__ == "__main__":
    main()
