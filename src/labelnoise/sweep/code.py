"""The code of methods of one's own: part of their runs, so that those of other code are other runs."""

import ast
import inspect
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, resolve_name
from pathlib import Path

from labelnoise.config import digest
from labelnoise.methods import METHODS, Method
from labelnoise.methods.local import is_local
from labelnoise.methods.notation import from_text


def code_of(method: Method) -> str:
    """The digest of what is none of the package in a method and in those inside it, else nothing."""
    codes = sorted({own_code(name) for name in _names(method)} - {""})
    return digest(codes) if len(codes) > 1 else "".join(codes)


def own_code(method: str) -> str:
    """The digest of a method that is none of the package: of its file, and of local ones that it imports."""
    cls = METHODS.get(method)
    if cls.__module__.startswith("labelnoise."):
        return ""
    path, package = Path(inspect.getfile(cls)).resolve(), cls.__module__.rpartition(".")[0]
    texts: dict[Path, str] = {}
    _gather(path, package, path.parents[cls.__module__.count(".")], texts)
    return digest(sorted(texts.values()) if len(texts) > 1 else texts[path])


def _names(method: Method) -> Iterator[str]:
    yield method.name
    for setting in method.nested:
        yield from _names(from_text(getattr(method, setting)))


def _gather(path: Path, package: str, root: Path, texts: dict[Path, str]) -> None:
    # from what is written, not from what is in memory: numbers do not know where they were imported from
    path = path.resolve()
    if path in texts:
        return
    texts[path] = path.read_text(encoding="utf-8")
    for name in _imported(texts[path], package):
        for spec in _local(name, root):
            if spec.origin and spec.origin.endswith(".py"):
                _gather(Path(spec.origin), spec.parent or "", root, texts)


def _imported(text: str, package: str) -> Iterator[str]:
    # every dotted name that may be a module
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (package or not node.level):
            source = resolve_name("." * node.level + (node.module or ""), package)
            yield from (f"{source}.{alias.name}" for alias in node.names)


def _local(name: str, root: Path) -> Iterator[ModuleSpec]:
    # a module that is not installed, after the packages around it; none is imported for this
    top, *rest = name.split(".")
    spec = _found(top, root)
    while spec and is_local(spec):
        yield spec
        if not rest or spec.submodule_search_locations is None:
            return
        spec = PathFinder.find_spec(f"{spec.name}.{rest.pop(0)}", list(spec.submodule_search_locations))


def _found(top: str, root: Path) -> ModuleSpec | None:
    # beside the method first, as when it was imported
    spec = PathFinder.find_spec(top, [str(root)])
    if spec and spec.origin:
        return spec
    try:
        return find_spec(top)
    except ValueError:  # of a module without one, such as __main__
        return None
