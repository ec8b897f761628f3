"""Real data sets, where LABELNOISE_TEST_DATA names a folder that has them."""

import os
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def real():
    """Arrays of a real .npz file by name; a test that asks for a missing one is skipped."""

    def arrays(name):
        path = Path(os.environ.get("LABELNOISE_TEST_DATA", "")) / name
        if not os.environ.get("LABELNOISE_TEST_DATA") or not path.exists():
            pytest.skip(f"LABELNOISE_TEST_DATA names no folder with {name}")
        return np.load(path)

    return arrays
