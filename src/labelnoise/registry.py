"""Names to things: methods, networks and data sets are found by name, and a misspelt one is told its neighbour."""

import difflib
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from labelnoise.errors import InputError

T = TypeVar("T")


class Registry(Generic[T]):
    """A table from names to things of one kind."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._things: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Enter the decorated thing under `name`; a name is given once."""

        def enter(thing: T) -> T:
            if name in self._things:
                raise InputError(f"{self.kind} {name!r} is registered twice; change the name in @register")
            self._things[name] = thing
            return thing

        return enter

    def forget(self, name: str) -> None:
        """Take a name back, so that it can be given anew."""
        del self._things[name]

    def get(self, name: str) -> T:
        """The thing called `name`, or an error that names the nearest one."""
        if name in self._things:
            return self._things[name]
        raise InputError(f"unknown {self.kind} {name!r}; {nearest(name, self._things)}")

    def sentences(self) -> list[tuple[str, str]]:
        """Every name with the first line of its thing's documentation."""
        return [(name, (inspect.getdoc(self._things[name]) or "").split("\n")[0]) for name in self]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._things))

    def __contains__(self, name: object) -> bool:
        return name in self._things


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of an error sentence: the closest known name, all that it begins, or all there are."""
    names = sorted(known)
    if variants := [each for each in names if each.startswith(f"{name}:")]:
        return f"choose {' or '.join(variants)}"
    close = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(names)}"
