"""Config files and `key=value` overrides: plain trees are read, merged, and built into the dataclasses of `config`."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import yaml

from labelnoise.config import Data, Named, Value
from labelnoise.errors import InputError
from labelnoise.registry import nearest

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Tree = Mapping[str, Any]
T = TypeVar("T", bound="DataclassInstance")
SHORT = {Named: "name", Data: "source"}  # text in place of such a section is the value of this key
PLACES = {"net": Named, "method": Named, "data": Data}
WANTED = {float: "a number", int: "a whole number", bool: "true or false", str: "text (in quotes if need be)"}
LONGEST = 60  # characters of a value that a sentence shows
TAG = "tag:yaml.org,2002:"
TEXT_TAGS = ("str", "timestamp", "value", "merge")  # no setting is a date, and `=` and `<<` are text like any other
VALUE_TAGS = ("null", "bool", "int", "float")
EXPONENT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+")  # 1e-3 is text in YAML 1.1, but a number to everyone else


def read_yaml(path: Path) -> dict[str, Any]:
    """The settings in a file of plain YAML; an empty file has none."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"config file {path} does not exist") from None
    except OSError as problem:
        raise InputError(f"config file {path} cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError as problem:
        line = problem.object[: problem.start].count(b"\n") + 1
        raise InputError(f"{path}, line {line}: not UTF-8; save the file in that encoding") from None
    tree = _read(text, str(path))
    if not isinstance(tree, dict | None):
        raise InputError(f"{path} must hold settings such as 'seeds: 5', not {_shown(tree)}")
    return tree or {}


def parse_overrides(pairs: Sequence[str]) -> dict[str, Any]:
    """`train.epochs=5` as a tree; a value in brackets, braces or quotes is YAML, any other a single number or text.

    Nothing after the `=` is empty text. Of two values for one key the later wins.
    """
    return merge(*map(_override, pairs))


def merge(*trees: Tree) -> dict[str, Any]:
    """One tree out of several: later wins, key by key; lists and single values are replaced whole.

    An empty section changes nothing. `net: mlp` is short for its name, `data: digits` for its source; a network of
    another name begins without settings. A list or text of methods is a selection: it replaces an earlier one, and
    methods that stay keep their settings. A mapping of methods adds to the earlier selection, or changes its settings.
    """
    merged: dict[str, Any] = {}
    for tree in trees:
        for key, value in tree.items():
            combine = _over_methods if key == "methods" else _over_section
            merged[key] = combine(merged.get(key), _section(PLACES.get(key), value))
    return merged


def build(cls: type[T], tree: Tree, where: str = "") -> T:
    """The dataclass that a tree describes; `where` is the dotted place of the tree, named in errors.

    What the tree leaves out keeps its default, and so does the name of a network of which only settings are given.
    """
    hints, known = get_type_hints(cls), {each.name: each for each in fields(cls)}
    given = {}
    for key, value in tree.items():
        if key not in known:
            raise InputError(_at(where, f"unknown key {key!r}; {nearest(str(key), known)}", ": "))
        default = known[key].default
        named = isinstance(default, Named) and isinstance(value, Mapping)
        given[key] = _convert(hints[key], {"name": default.name, **value} if named else value, _at(where, key))
    for name, each in known.items():
        if name not in given and each.default is MISSING and each.default_factory is MISSING:
            raise InputError(_at(where, f"{name} is missing", ": "))
    try:
        return cls(**given)
    except InputError as problem:
        raise InputError(_at(where, str(problem), ": ")) from None


def plain(config: Any) -> dict[str, Any]:
    """A dataclass as the tree that `build` turns back into it, defaults included."""
    return {each.name: _plain(getattr(config, each.name)) for each in fields(config)}


def to_yaml(tree: Tree) -> str:
    """A tree as readable YAML, in its own order, lists in one line."""
    settings = {"default_flow_style": False, "sort_keys": False}
    node = yaml.SafeDumper(StringIO(), **settings).represent_data(tree)
    _style(node)
    return str(yaml.serialize(node, Dumper=yaml.SafeDumper, allow_unicode=True, width=120))


def _read(text: str, source: str) -> Any:
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                line = event.start_mark.line + 1
                raise InputError(f"{source}, line {line}: the alias '*{event.anchor}' is not followed; write it out")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        return None if node is None else _value(node, source)
    except yaml.reader.ReaderError as problem:
        line = text[: problem.position].count("\n") + 1
        raise InputError(f"{source}, line {line}: not valid YAML: {problem.reason}") from None
    except yaml.MarkedYAMLError as problem:
        line = problem.problem_mark.line + 1
        raise InputError(f"{source}, line {line}: not valid YAML: {problem.problem}") from None
    except RecursionError:
        raise InputError(f"{source} is nested too deeply") from None


def _value(node: Any, source: str) -> Any:
    """What a YAML node stands for: plain containers and values, whatever its tag asks for."""
    tag, place = node.tag.removeprefix(TAG), f"{source}, line {node.start_mark.line + 1}"
    if tag not in (*TEXT_TAGS, *VALUE_TAGS, "map", "seq"):
        raise InputError(f"{place}: the tag {node.tag.replace(TAG, '!!')} is refused; a config holds plain values only")
    if isinstance(node, yaml.SequenceNode):
        return [_value(each, source) for each in node.value]
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node)
    mapping: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key, line = _value(key_node, source), key_node.start_mark.line + 1
        if not isinstance(key, str):
            raise InputError(f"{source}, line {line}: the key {_shown(key)} is not text; put it in quotes")
        if key in mapping:
            raise InputError(f"{source}, line {line}: the key {key!r} stands there a second time; keep one of the two")
        mapping[key] = _value(value_node, source)
    return mapping


def _scalar(node: Any) -> Value:
    tag = node.tag.removeprefix(TAG)
    if tag == "str" and node.style is None and EXPONENT.fullmatch(node.value):
        return float(node.value)
    if tag in VALUE_TAGS:
        with suppress(ValueError, KeyError):  # of a word that only looks like a number, such as 0x_
            value: Value = yaml.SafeLoader("").construct_document(node)
            return value
    return str(node.value)


def _override(pair: str) -> dict[str, Any]:
    dotted, equals, text = pair.partition("=")
    keys = [key.strip() for key in dotted.split(".")]
    if not equals or not all(keys):
        told = "override {!r} is not of the form key=value, such as data.image_size=32; data are named by --data"
        raise InputError(told.format(pair))
    text = text.strip()
    tree: Any = text
    if text.startswith(("[", "{", '"', "'")):
        tree = _read(text, f"override {pair!r}")
    elif text:
        tree = _scalar(yaml.ScalarNode(yaml.SafeLoader("").resolve(yaml.ScalarNode, text, (True, False)), text))
    for key in reversed(keys):
        tree = {key: tree}
    return dict(tree)


def _section(kind: Any, value: Any) -> Any:
    return {SHORT[kind]: value} if kind in SHORT and isinstance(value, str) else value


def _over(old: Any, new: Any) -> Any:
    if isinstance(new, Mapping):
        kept = old if isinstance(old, Mapping) else {}
        return {**kept, **{key: _over(kept.get(key), value) for key, value in new.items()}}
    return old if new is None and isinstance(old, Mapping) else new


def _over_section(old: Any, new: Any) -> Any:
    both = isinstance(old, Mapping) and isinstance(new, Mapping)
    other = both and "name" in old and new.get("name", old["name"]) != old["name"]
    return _over(None if other else old, new)


def _over_methods(old: Any, new: Any) -> Any:
    """A mapping only if both are, since a mapping changes what came before and a list replaces it."""
    was, now = _selection(old, "methods"), _selection(new, "methods")
    changes = new is None or isinstance(new, Mapping)
    merged = {name: {**was.get(name, {}), **now.get(name, {})} for name in ({**was, **now} if changes else now)}
    if changes and (old is None or isinstance(old, Mapping)):
        return merged
    return [{"name": name, "settings": settings} if settings else name for name, settings in merged.items()]


def _selection(given: Any, where: str) -> dict[str, dict[str, Value]]:
    """Methods in any of their forms as names with settings."""
    if isinstance(given, str):
        given = [name.strip() for name in given.split(",") if name.strip()]
    if given is None or isinstance(given, Mapping):
        return {name: _settings(settings, _at(where, name)) for name, settings in (given or {}).items()}
    if not isinstance(given, list | tuple):
        raise InputError(f"{where} must be names such as ce,gce or names with settings, not {_shown(given)}")
    chosen: dict[str, dict[str, Value]] = {}
    for number, each in enumerate(given, 1):
        named = _convert(Named, each, f"{where}, entry {number}")
        if named.name in chosen:
            raise InputError(f"{where} names {named.name!r} twice; name each method once")
        chosen[named.name] = dict(named.settings)
    return chosen


def _settings(given: Any, where: str) -> dict[str, Value]:
    if not isinstance(given, Mapping | None):
        raise InputError(f"{where} must be settings such as {{q: 0.5}}, not {_shown(given)}")
    for key, value in (given or {}).items():
        if not isinstance(value, Value):
            raise InputError(f"{where}.{key} must be a number, text, true, false or null, not {_shown(value)}")
    return dict(given or {})


def _convert(hint: Any, value: Any, where: str) -> Any:
    """A value of a tree as the type of its field."""
    value = _section(hint, value)
    if isinstance(hint, type) and is_dataclass(hint):
        if not isinstance(value, Mapping | None):
            raise InputError(f"{where} must hold keys such as {fields(hint)[0].name!r}, not {_shown(value)}")
        return build(hint, value or {}, where)
    if hint == tuple[Named, ...]:
        return tuple(Named(*each) for each in _selection(value, where).items())
    if get_origin(hint) is tuple:
        return _tuple(get_args(hint), value, where)
    if get_origin(hint) is Mapping:
        return _settings(value, where)
    return _checked(str if get_origin(hint) is Literal else hint, value, where)


def _tuple(kinds: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise InputError(f"{where} must be a list, such as [a, b], not {_shown(value)}")
    if kinds[-1] is not Ellipsis and len(value) != len(kinds):
        raise InputError(f"{where} must be a list of {len(kinds)}, not of {len(value)}")
    return tuple(_convert(kinds[0], each, f"{where}, entry {number},") for number, each in enumerate(value, 1))


def _checked(kind: type, value: Any, where: str) -> Value:
    """Numbers are stored as the kind that is wanted, so that 1 and 1.0 make the same run."""
    if kind in (int, float) and isinstance(value, int | float) and not isinstance(value, bool):
        with suppress(OverflowError):  # of a whole number beyond every float
            if kind is float or value % 1 == 0:
                return kind(value)
    elif kind in (bool, str) and isinstance(value, kind):
        return value
    raise InputError(f"{where} must be {WANTED[kind]}, not {_shown(value)}")


def _plain(value: Any) -> Any:
    if isinstance(value, Named):
        return {"name": value.name, "settings": dict(value.settings)} if value.settings else value.name
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple):
        if value and all(isinstance(each, Named) for each in value):
            return {each.name: dict(each.settings) for each in value}
        return list(value)
    return plain(value) if is_dataclass(value) else value


def _style(node: Any) -> None:
    if isinstance(node, yaml.ScalarNode):
        breaks = "".join(node.value.splitlines()) != node.value  # of which PyYAML folds some that it should escape
        if node.tag == f"{TAG}str" and (breaks or EXPONENT.fullmatch(node.value)):
            node.style = '"'
        return
    node.flow_style = isinstance(node, yaml.SequenceNode)
    for each in node.value:
        for part in each if isinstance(each, tuple) else (each,):
            _style(part)


def _at(where: str, what: str, between: str = ".") -> str:
    return f"{where}{between}{what}" if where else what


def _shown(value: Any) -> str:
    """A given value as the end of a sentence."""
    if isinstance(value, Mapping | list | tuple):
        return "a mapping" if isinstance(value, Mapping) else "a list"
    shown = json.dumps(value, ensure_ascii=False, default=str)
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]} …"
