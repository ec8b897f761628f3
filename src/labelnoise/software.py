"""Of which code and with which libraries a number was made."""

import os
import platform
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import torch

import labelnoise


def versions() -> dict[str, str]:
    """Of what the numbers depend on."""
    own = {"labelnoise": labelnoise.__version__, "python": platform.python_version()}
    return own | {"torch": torch.__version__, "numpy": np.__version__}


@cache
def commit() -> str:
    """Of the tree that the package lies in, `-dirty` where the package was changed since.

    Of one that git does not keep, what LABELNOISE_COMMIT says, or nothing.
    """
    try:
        _git("ls-files", "--error-unmatch", Path(__file__).name)  # or it is installed within somebody else's tree
        changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".")
        return _git("rev-parse", "HEAD") + ("-dirty" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return os.environ.get("LABELNOISE_COMMIT", "")


def _git(*words: str) -> str:
    asked = ["git", "-C", str(Path(__file__).parent), *words]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
