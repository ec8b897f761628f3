"""Plain facts as files of JSON: written whole, and read with their shape checked."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labelnoise.errors import InputError
from labelnoise.files import write

NUMBER = int | float


def fits(value: Any, shape: Any) -> bool:
    """Whether a value is of a type, a list whose items fit `[shape]`, or a mapping with at least `{key: shape}`."""
    if isinstance(shape, list):
        return isinstance(value, list) and all(fits(each, shape[0]) for each in value)
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(fits(value.get(key), each) for key, each in shape.items())
    return isinstance(value, shape)


def read_facts(path: Path, shape: Mapping[str, Any], advice: str) -> dict[str, Any]:
    """The facts in a file; the advice ends the sentence on one that is damaged."""
    try:
        facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise InputError(f"{path} is damaged ({problem}); {advice}") from None
    if not fits(facts, shape):
        raise InputError(f"{path} is damaged (it lacks what it was written with); {advice}")
    return facts


def write_facts(path: Path, facts: Mapping[str, Any]) -> None:
    """Replace the file in one move."""
    write(path, json.dumps(facts, indent=2, allow_nan=False) + "\n")


def run_again(folder: Path) -> str:
    """What to do about a pack whose files are damaged."""
    return f"delete the folder {folder} to run these runs again"
