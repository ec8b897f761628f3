"""Learning when the training labels are partly wrong."""

import os
from importlib import import_module
from typing import Any

# CUDA looks but once, when a program first uses a GPU: so they are set here, before anything can, unless someone has.
# Queues of the device: there are eight by default, and runs beyond wait for each other.
os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")
# Without it torch refuses to be deterministic; it looks at the first product of matrices.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

__version__ = "0.1.0"

_OFFERED = {
    "compare_methods": "labelnoise.comparing",
    "Model": "labelnoise.results.model",
    "Execution": "labelnoise.engine.execution",
    "step": "labelnoise.stepping",
    "audit": "labelnoise.auditing.run",
    "Recorder": "labelnoise.auditing.recorder",
    "NoisyLabelClassifier": "labelnoise.estimator.classifier",
}


def __getattr__(name: str) -> Any:
    # late, so that importing the package stays quick
    if name not in _OFFERED:
        raise AttributeError(f"module 'labelnoise' has no attribute {name!r}")
    return getattr(import_module(_OFFERED[name]), name)
