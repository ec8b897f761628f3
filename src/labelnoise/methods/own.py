"""Methods by name, and those of one's own in a Python file or module."""

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path
from traceback import extract_tb

from labelnoise.config import digest
from labelnoise.errors import InputError
from labelnoise.methods.base import METHODS, Method, build
from labelnoise.methods.local import is_local
from labelnoise.registry import nearest

NEIGHBOURS: dict[str, Path] = {}  # modules that files of one's own have imported from beside them, with their folders


def described(error: Exception, file: str | None) -> str:
    """An error in one line, with the line of the file where it arose, if any of that file had a part in it."""
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == file]
    place = [f"{Path(file).name}, line {lines[-1]}"] if file and lines else []
    kind = [] if isinstance(error, InputError) else [type(error).__name__]
    where = " in ".join(kind + place)
    return (f"{where}: {error}" if where else str(error)).split("\n")[0]


def blamed(error: Exception) -> str | None:
    """The file of a method that is none of the package, if it had a part in an error."""
    passed = {frame.filename for frame in extract_tb(error.__traceback__)}
    modules = {METHODS.get(name).__module__ for name in METHODS}
    own = [sys.modules.get(name) for name in sorted(modules) if not name.startswith("labelnoise.")]
    return next((file for module in own if (file := getattr(module, "__file__", None)) in passed), None)


def find_methods(name: str) -> list[Method]:
    """A registered method by name, or those that a Python file or module registers when it is imported."""
    if name in METHODS:
        return [build(name)]
    if name.endswith(".py"):
        module = _import_file(Path(name))
    elif "." in name:
        module = _import_module(name)
    else:
        own = "one of your own is named by its file, such as my_method.py"
        raise InputError(f"unknown method {name!r}; {nearest(name, METHODS)} ({own})")
    try:
        found = [build(each) for each in METHODS if METHODS.get(each).__module__ == module]
    except TypeError as mistake:
        raise InputError(f"a method of {name} cannot be made without settings ({mistake}); give it defaults") from None
    if not found:
        raise InputError(f"{name} registers no method; decorate a class with labelnoise.methods.register")
    return found


def only_method(name: str) -> str:
    """The registered name of the one method that a name, a Python file or a module stands for."""
    if name in METHODS:
        return name  # which may need settings
    found = [method.name for method in find_methods(name)]
    if len(found) > 1:
        raise InputError(f"{name} registers {len(found)} methods, {', '.join(found)}; give one of these names")
    return found[0]


def _import_file(path: Path) -> str:
    # The bare stem could be the name of a module in use, and two files may have one stem.
    name = f"labelnoise_own_{path.stem}_{digest(str(path.resolve()))[:8]}"
    spec = importlib.util.spec_from_file_location(name, path) if path.is_file() else None
    if spec is None or spec.loader is None:
        raise InputError(f"{path} is not a Python file that can be read")
    folder = path.resolve().parent
    _forget_neighbours(folder, again=name in sys.modules)
    _forget_methods(name)  # of an earlier state of the file
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        with _first_on_path(folder), _noting_neighbours(folder):  # as of a script
            spec.loader.exec_module(module)
    except Exception as problem:
        raise InputError(f"{path} cannot be imported: {described(problem, spec.origin)}") from None
    return name


def _import_module(name: str) -> str:
    try:
        with _first_on_path(Path.cwd()):
            return importlib.import_module(name).__name__
    except Exception as problem:
        raise InputError(f"{name} cannot be imported: {type(problem).__name__}: {problem}") from None


def _forget_methods(module: str) -> None:
    for each in [each for each in METHODS if METHODS.get(each).__module__ == module]:
        METHODS.forget(each)


def _forget_neighbours(folder: Path, again: bool) -> None:
    # those that may have changed, and those of another folder in whose place this one has its own
    for module, home in list(NEIGHBOURS.items()):
        if again if home == folder else PathFinder.find_spec(module.partition(".")[0], [str(folder)]):
            del NEIGHBOURS[module]
            sys.modules.pop(module, None)
            _forget_methods(module)


@contextmanager
def _noting_neighbours(folder: Path) -> Iterator[None]:
    before = set(sys.modules)
    try:
        yield
    finally:
        for name in set(sys.modules) - before:
            spec = getattr(sys.modules[name], "__spec__", None)
            if spec and spec.origin and Path(spec.origin).is_relative_to(folder) and is_local(spec):
                NEIGHBOURS[name] = folder


@contextmanager
def _first_on_path(folder: Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
