"""A method with its settings as one text, for where it is a setting of another."""

from dataclasses import fields, replace
from math import isfinite
from typing import Any, get_args, get_type_hints

from labelnoise.config import Value
from labelnoise.errors import InputError
from labelnoise.methods.base import METHODS, Method, build, expanded

_READ: dict[str, Method] = {}  # by text: a compiler cannot follow how one is read, but it finds it here


def from_text(text: str) -> Method:
    """A method by its name, with settings in brackets: `gce(q=0.5)`."""
    if text not in _READ or type(_READ[text]) is not METHODS.get(_READ[text].name):  # its file may have changed
        _READ[text] = build(*_parts(text))
    return _READ[text]


def told(text: str, noise_rate: float) -> str:
    """The text of a method that is told the noise rate, where its settings do not say otherwise."""
    name, settings = _parts(text)
    plain = build(name, settings)
    by_hand = {key: getattr(plain, key) for key in expanded(name, settings) if key not in plain.nested}
    return to_text(replace(plain.informed(noise_rate), **by_hand))


def untold(text: str) -> str:
    """The text without what the noise rate decides."""
    method = from_text(text)
    method = replace(method, **{key: untold(getattr(method, key)) for key in method.nested})
    informed = method.informed(0.1234)
    decided = [f for f in fields(method) if f.name not in method.nested]
    plain = {f.name: f.default for f in decided if getattr(informed, f.name) != getattr(method, f.name)}
    return to_text(replace(method, **plain))


def to_text(method: Method) -> str:
    """The text that `from_text` makes into this method."""
    changed = {f.name: getattr(method, f.name) for f in fields(method) if getattr(method, f.name) != f.default}
    return method.name + (f"({', '.join(f'{key}={value}' for key, value in changed.items())})" if changed else "")


def _parts(text: str) -> tuple[str, dict[str, Value]]:
    name, opened, rest = text.strip().partition("(")
    if bool(opened) != text.strip().endswith(")") or text.count("(") != text.count(")"):
        raise InputError(f"method {text!r} has a bracket without its other half; write it as gce(q=0.5)")
    settings: dict[str, Value] = {}
    for pair in _pairs(rest[:-1]):
        key, equals, value = pair.partition("=")
        if not equals or key.strip() in settings:
            raise InputError(f"{pair.strip()!r} in method {text!r} is no setting of its own; write it as gce(q=0.5)")
        settings[key.strip()] = _value(value.strip(), _hint(name.strip(), key.strip()))
    return name.strip(), settings


def _pairs(text: str) -> list[str]:
    # what commas part, outside of inner brackets
    depth, parts = 0, [""]
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return [part for part in parts if part.strip()]


def _hint(name: str, key: str) -> Any:
    return get_type_hints(METHODS.get(name)).get(key)


def _value(text: str, hint: Any) -> Value:
    if hint is str or text in get_args(hint):  # none may be a word like any other
        return text
    words: dict[str, Value] = {"true": True, "false": False, "none": None, "null": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        number = float(text)
    except ValueError:
        return text
    if not isfinite(number):
        raise InputError(f"{text!r} is no number that a setting can have")
    return number
