"""The command that makes cleaned data of decisions, with the options by which the data were read."""

import csv
import io
import json
import shlex
from dataclasses import asdict
from typing import Any

from labelnoise.config import Data
from labelnoise.configure import parse_overrides
from labelnoise.data.factor import OPTIONS
from labelnoise.reviewing.source import Source

UNTOLD = ("source", "fingerprint")


def command(source: Source, decisions: str) -> str:
    """As it is typed where the audit was: it applies a file of decisions to the same data, read in the same way."""
    usual = asdict(Data())
    told = {name: value for name, value in asdict(source.settings).items() if value != usual[name]}
    keys = [f"data.{name}={_value(value)}" for name, value in told.items() if name not in (*OPTIONS, *UNTOLD)]
    options = [word for name in OPTIONS if name in told for word in (f"--{name.replace('_', '-')}", str(told[name]))]
    classes = ["--classes", _listed(source.named)] if source.named else []
    words = [source.settings.source, *keys, *options, *classes, "--apply", decisions]
    return shlex.join(["labelnoise", "audit", *words])


def _value(value: Any) -> str:
    # bare where it is read as the same text
    if isinstance(value, str) and parse_overrides([f"value={value}"]) == {"value": value}:
        return value
    return json.dumps(value, ensure_ascii=False)


def _listed(names: tuple[str, ...]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()
