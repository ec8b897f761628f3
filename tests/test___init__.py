import os
import subprocess
import sys

import pytest

OURS = {"CUDA_DEVICE_MAX_CONNECTIONS": "32", "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
THEIRS = {"CUDA_DEVICE_MAX_CONNECTIONS": "1", "CUBLAS_WORKSPACE_CONFIG": ":16:8"}


def printed(code, given):
    others = {key: value for key, value in os.environ.items() if key not in OURS}
    done = subprocess.run(
        [sys.executable, "-c", code], env=others | given, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.split()


@pytest.mark.parametrize(("given", "expected"), [({}, OURS), (THEIRS, THEIRS)])
def test_what_cuda_reads_but_once_is_set_by_an_import_unless_someone_has(given, expected):
    code = f"import os, labelnoise; print(*(os.environ[name] for name in {list(OURS)}))"
    assert printed(code, given) == list(expected.values())


def test_an_import_of_the_package_imports_no_torch():
    assert printed("import sys, labelnoise; print('torch' in sys.modules)", {}) == ["False"]
