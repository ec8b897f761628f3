import dataclasses

import numpy as np
import pytest

from labelnoise.auditing.evidence import Evidence


def test_evidence_is_what_was_given_and_does_not_change():
    evidence = Evidence(np.array([0, -1]), np.full((2, 2), 0.5, np.float32), ("a", "b"))
    assert (evidence.margins, evidence.others, evidence.neighbours) == (None, (), None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        evidence.classes = ("c", "d")
