"""Rows measured one after the other: printed as they come, and kept as JSON with all that the figures depend on."""

import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from labelnoise.engine.memory import is_shortage
from labelnoise.errors import InputError
from labelnoise.files import write
from labelnoise.registry import nearest
from labelnoise.software import commit, versions
from labelnoise.speed.cases import Bench, absent
from labelnoise.speed.figure import Figure
from labelnoise.speed.rows import ROWS, SHORT, Row
from labelnoise.speed.targets import reached, sentence


def selected(names: Sequence[str]) -> dict[str, Row]:
    """The rows of these names in the order of the list, or all."""
    for name in names:
        if name not in ROWS:
            raise InputError(f"there is no row {name!r}; {nearest(name, ROWS)} (`labelnoise speed --list` shows all)")
    return {name: row for name, row in ROWS.items() if name in names or not names}


def measure(
    rows: Mapping[str, Row], bench: Bench, say: Callable[[str], None], path: Path | None = None
) -> dict[str, Any]:
    """The figures of these rows, with the machine they are of; the file is written anew after each row."""
    found: dict[str, Any] = {**machine(bench.device), "rows": {}}
    _write(path, found)  # at once, so that a path that cannot be written to is told before any waiting
    say(f"{found['device']}, {found['cores']} cores, torch {found['versions']['torch']}")
    for name, row in rows.items():
        say(f"{name}: {row.about}")
        found["rows"][name] = {"about": row.about, **_measured(name, row, bench, say)}
        _write(path, found)
    return found


def _measured(name: str, row: Row, bench: Bench, say: Callable[[str], None]) -> dict[str, Any]:
    if row.needs and (missing := absent(row.needs)):
        say(f"  left out: {missing}")
        return {"left out": missing}
    began, figures, left = time.perf_counter(), [], {}
    try:
        for figure in row.measure(bench):
            figures.append(_told(name, figure, bench, say))
    except (RuntimeError, MemoryError) as problem:
        if not is_shortage(problem):
            raise
        say(f"  left out: {SHORT}")
        left = {"left out": SHORT}
    return {"seconds": time.perf_counter() - began, "figures": figures, **left}


def _told(name: str, figure: Figure, bench: Bench, say: Callable[[str], None]) -> dict[str, Any]:
    marks = reached(name, figure) if bench.device.type == "cuda" else []
    say(figure.line())
    for mark in marks:
        say(f"    {sentence(*mark)}")
    return _kept(figure, marks)


def machine(device: torch.device) -> dict[str, Any]:
    """What figures depend on: the device, its software, the code, when, and what was typed."""
    return {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else f"cpu ({platform.machine()})",
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "versions": versions(),
        "commit": commit(),
        "command": " ".join(["labelnoise", *sys.argv[1:]]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _write(path: Path | None, found: Mapping[str, Any]) -> None:
    if path:
        write(path, (json.dumps(found, indent=1) + "\n").encode())


def _kept(figure: Figure, marks: Sequence[tuple[Any, float]]) -> dict[str, Any]:
    targets = [{**target._asdict(), "reached": share} for target, share in marks]
    return figure.to_dict() | ({"targets": targets} if targets else {})
