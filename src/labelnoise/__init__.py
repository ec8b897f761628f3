"""Learning when the training labels are partly wrong."""

from importlib import import_module
from typing import Any

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
