"""Whether runs that share a mean were made alike: by the same code, on the same kind of device, as exactly."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from labelnoise.data.rows import counted

SHORT = 10  # letters of a commit


def unlike(runs: Sequence[Mapping[str, Any]]) -> str:
    """In what they differ by the facts of the packs they were trained in, and how many runs have which."""
    facets = [_facets(facts) for facts in runs]
    names = facets[0] if facets else ()
    listed = {name: sorted(each[name] for each in facets) for name in names}
    return "; ".join(f"{name} {_told(values)}" for name, values in listed.items() if len(set(values)) > 1)


def _facets(facts: Mapping[str, Any]) -> dict[str, str]:
    versions, way = facts.get("versions", {}), facts.get("execution", {})
    return {
        "code": _code(facts.get("commit", ""), versions),
        "torch": str(versions.get("torch", "not known")),
        "device": str(facts.get("device", "not known")),
        "precision": ", ".join(
            [str(way.get("precision", "not known")), *(["deterministic"] * way.get("deterministic", 0))]
        ),
    }


def _code(commit: str, versions: Mapping[str, str]) -> str:
    known, dash, dirty = commit.partition("-")
    return f"{known[:SHORT]}{dash}{dirty}" if commit else str(versions.get("labelnoise", "not known"))


def _told(values: Sequence[str]) -> str:
    return ", ".join(f"{value} ({counted(len(list(some)), 'run')})" for value, some in groupby(values))
