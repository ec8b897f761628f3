"""Of which code and with which libraries a number was made."""

import platform
import subprocess
from pathlib import Path

import numpy as np
import torch

import labelnoise


def versions() -> dict[str, str]:
    """Of what the numbers depend on."""
    own = {"labelnoise": labelnoise.__version__, "python": platform.python_version()}
    return own | {"torch": torch.__version__, "numpy": np.__version__}


def commit() -> str:
    """Of the tree that this file lies in, `-dirty` where it was changed since; nothing if git does not keep it."""
    asked = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--exclude=*", "--abbrev=40"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
