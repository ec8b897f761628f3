"""Pickles of arrays and plain containers, read without running them.

A pickle is a program for a small machine. The machine here knows the instructions that Python 2 and 3 and numpy write
for dictionaries, lists, texts, numbers and arrays of numbers (protocols 2 to 5) and no others. It imports nothing, and
the few functions it may be asked for are its own.
"""

import io
import math
import struct
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from labelnoise.errors import InputError

MOST_STEPS = 3_000_000  # the largest official file, with 150,000 labels and names, takes some 350,000
DEEPEST = 10
MOST_AXES = 8
TORCH_MAGIC = 0x1950A86A20F9469CFC6C
TORCH_HEAD = 3  # pickles before the object: magic number, version, facts about the machine

CONSTANTS = {b"N": None, b"\x88": True, b"\x89": False}
NUMBERS = {b"J": "<i", b"K": "<B", b"M": "<H", b"G": ">d"}
STRINGS = {b"U": "<B", b"T": "<I", b"C": "<B", b"B": "<I", b"\x8e": "<Q", b"\x96": "<Q"}  # format of the length
TEXTS = {b"X": "<I", b"\x8c": "<B", b"\x8d": "<Q"}
ORDERS = {"<": "<", ">": ">", "=": "=", "|": "="}  # of the bytes of a number
KINDS = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")


@dataclass(frozen=True)
class _Global:
    """A name that the pickle asks for."""

    name: str


@dataclass
class _Kind:
    """The type of the numbers of an array."""

    dtype: np.dtype[Any]


@dataclass
class _Array:
    """An array, empty until its content comes."""

    values: NDArray[Any] | None = None


def plain_objects(content: bytes, origin: str) -> Any:
    """What a pickle describes: dictionaries by text, lists, tuples, numbers, arrays, texts (Python 2's are bytes)."""
    return _Machine(content, origin).objects(1)[0]


def torch_objects(content: bytes, origin: str) -> Any:
    """The object in a file written by torch.save, of the old form or the zip form; tensors are refused."""
    if content.startswith(b"PK"):
        return plain_objects(_pickle_in_zip(content, origin), origin)
    magic, *_, held = _Machine(content, origin).objects(TORCH_HEAD + 1)
    if magic != TORCH_MAGIC:
        raise InputError(f"{origin} was not written by torch.save; download it again")
    return held


def _pickle_in_zip(content: bytes, origin: str) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            (member,) = (info for info in archive.infolist() if info.filename.endswith("/data.pkl"))
            if member.compress_type == zipfile.ZIP_STORED:  # as torch.save writes it, so it is no larger than the file
                return archive.read(member)
    except Exception:  # a damaged file may make zipfile raise anything
        raise InputError(f"{origin} is damaged or was not written by torch.save; download it again") from None
    raise InputError(f"{origin} is compressed, so torch.save has not written it; download it again")


class _Machine:
    """Takes one instruction after the other."""

    def __init__(self, content: bytes, origin: str) -> None:
        self.content, self.origin = memoryview(content), origin
        self.place = 0
        self.steps = MOST_STEPS
        self.encodable = len(content)  # bytes; texts that become bytes lie in the file, each once

    def objects(self, count: int) -> list[Any]:
        """The first pickles of the file, which lie one after the other."""
        try:
            return [self._finished(self._run()) for _ in range(count)]
        except InputError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, struct.error, MemoryError):
            raise InputError(f"{self.origin} is damaged or no pickle; download it again") from None

    def refuse(self, why: str) -> NoReturn:
        """End with the sentence that says what the file holds."""
        raise InputError(f"{self.origin} {why}; nothing of it was run; download it again from the official place")

    def _run(self) -> Any:
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []  # stacks under the marks
        self.memo: dict[int, Any] = {}
        while (code := bytes(self._take(1))) != b".":
            self._spend(1)
            if code in CONSTANTS:
                self.stack.append(CONSTANTS[code])
            elif code in NUMBERS:
                self.stack.append(self.number(NUMBERS[code]))
            elif code in STRINGS:
                self.stack.append(bytes(self._take(self.number(STRINGS[code]))))
            elif code in TEXTS:
                self.stack.append(str(self._take(self.number(TEXTS[code])), "utf-8"))
            elif code in INSTRUCTIONS:
                INSTRUCTIONS[code](self)
            else:
                held = "tensors" if code in b"PQ" else f"an instruction {code!r}"
                self.refuse(f"holds {held} at byte {self.place - 1}, where only arrays and plain containers may be")
        return self.stack.pop()

    def _spend(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            self.refuse("holds more objects than any official file")

    def _take(self, count: int) -> memoryview:
        taken = self.content[self.place : self.place + count]
        if len(taken) < count:
            raise InputError(f"{self.origin} is empty or cut short; download it again")
        self.place += count
        return taken

    def number(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _line(self) -> str:
        end = bytes(self.content[self.place : self.place + 200]).index(b"\n")
        return str(self._take(end + 1)[:-1], "ascii")

    def _finished(self, held: Any, depth: int = 0) -> Any:
        # the object without anything that belongs to the machine
        self._spend(1)
        if depth > DEEPEST:
            self.refuse("is nested too deeply or in itself")
        if isinstance(held, dict):
            return {key: self._finished(value, depth + 1) for key, value in held.items()}
        if isinstance(held, list | tuple):
            return type(held)(self._finished(value, depth + 1) for value in held)
        if isinstance(held, _Array) and held.values is not None:
            return held.values
        if isinstance(held, _Array | _Kind | _Global):
            self.refuse("holds a type or function among its data")
        return held

    # What instructions do, by their names in the documentation of Python.

    def long1(self) -> None:
        self.stack.append(int.from_bytes(self._take(self.number("<B")), "little", signed=True))

    def mark(self) -> None:
        self.below.append(self.stack)
        self.stack = []

    def marked(self) -> list[Any]:
        marked, self.stack = self.stack, self.below.pop()
        return marked

    def tuple_of(self, count: int | None = None) -> None:
        parts = self.marked() if count is None else [self.stack.pop() for _ in range(count)][::-1]
        self.stack.append(tuple(parts))

    def extend(self, values: list[Any]) -> None:
        into = self.stack[-1]
        if not isinstance(into, list):
            self.refuse("appends to what is no list")
        into += values

    def update(self, values: list[Any]) -> None:
        into = self.stack[-1]
        if not isinstance(into, dict):
            self.refuse("sets entries of what is no dictionary")
        for key, value in zip(values[::2], values[1::2], strict=True):
            if not isinstance(key, str | bytes):
                self.refuse("has a dictionary whose keys are no texts")
            into[key if isinstance(key, str) else str(key, "latin1")] = value

    def put(self, place: int) -> None:
        self.memo[place] = self.stack[-1]

    def ask(self, module: Any, name: Any) -> None:
        wanted = f"{_text(module)}.{_text(name)}"
        if wanted not in FUNCTIONS and wanted != "numpy.ndarray":
            self.refuse(f"asks for {wanted[:100]!r}, where only arrays and plain containers may be")
        self.stack.append(_Global(wanted))

    def reduce(self) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        if not isinstance(function, _Global) or function.name not in FUNCTIONS or not isinstance(arguments, tuple):
            self.refuse("calls what is no function")
        self.stack.append(FUNCTIONS[function.name](self, *arguments))

    def build(self) -> None:
        state, into = self.stack.pop(), self.stack[-1]
        if isinstance(into, _Array) and into.values is None:
            _, shape, kind, by_column, content = state
            into.values = self.array(content, kind, shape, "F" if by_column else "C")
        elif isinstance(into, _Kind):
            _, order, subtype, names, fields, *_ = state
            if not (subtype is names is fields is None):
                self.refuse("holds an array of records")
            into.dtype = np.dtype(ORDERS[_text(order)] + into.dtype.str[1:])
        else:
            self.refuse("sets attributes of what is no array")

    # The functions that a pickle may ask for.

    def reconstruct(self, kind: Any, shape: Any, code: Any) -> _Array:
        if kind != _Global("numpy.ndarray") or shape != (0,) or code not in ("b", b"b"):
            self.refuse("holds an array that numpy has not written")
        return _Array()

    def kind(self, name: Any, *_: Any) -> _Kind:
        if _text(name) not in KINDS:
            self.refuse(f"holds an array of type {_text(name)[:20]!r}, where only numbers may be")
        return _Kind(np.dtype(_text(name)))

    def array(self, content: Any, kind: Any, shape: Any, order: Any, axes: Any = None) -> NDArray[Any]:
        if not isinstance(content, bytes) or not isinstance(kind, _Kind):
            self.refuse("holds an array of objects")
        if not _is_shape(shape) or math.prod(shape) * kind.dtype.itemsize != len(content):
            self.refuse("holds an array whose shape does not fit its content")
        values = np.frombuffer(content, kind.dtype)
        if axes is not None:  # of an array whose axes were exchanged
            return values.reshape(shape).transpose(axes)
        return values.reshape(shape, order=order)

    def from_buffer(self, content: Any, kind: Any, shape: Any, order: Any, axes: Any = None) -> _Array:
        return _Array(self.array(content, kind, shape, order, axes))

    def scalar(self, kind: Any, content: Any) -> Any:
        return self.array(content, kind, (), "C").item()

    def encode(self, text: Any, encoding: Any) -> bytes:
        self.encodable -= len(text)
        if encoding not in ("latin1", "latin-1") or not isinstance(text, str) or self.encodable < 0:
            self.refuse("encodes texts as numpy never does")
        return text.encode("latin1")

    def empty_dict(self) -> dict[str, Any]:
        return {}

    def empty_bytes(self) -> bytes:
        return b""


def _text(value: Any) -> str:
    # Python 2 wrote bytes; nothing else is made a text, for that of a nest of lists may be endless
    if not isinstance(value, str | bytes):
        raise TypeError
    return value if isinstance(value, str) else str(value, "ascii")


def _is_shape(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) <= MOST_AXES and all(type(n) is int and n >= 0 for n in value)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "numpy.dtype": _Machine.kind,
    "_codecs.encode": _Machine.encode,
    "__builtin__.bytes": _Machine.empty_bytes,
    "collections.OrderedDict": _Machine.empty_dict,
    **{f"numpy.{core}.multiarray._reconstruct": _Machine.reconstruct for core in ("core", "_core")},
    **{f"numpy.{core}.multiarray.scalar": _Machine.scalar for core in ("core", "_core")},
    **{f"numpy.{core}.numeric._frombuffer": _Machine.from_buffer for core in ("core", "_core")},
}
INSTRUCTIONS: Mapping[bytes, Callable[[_Machine], object]] = {
    b"\x80": lambda machine: machine.number("<B"),  # the protocol
    b"\x95": lambda machine: machine.number("<Q"),  # the size of a frame
    b"\x8a": _Machine.long1,
    b"(": _Machine.mark,
    b"0": lambda machine: machine.stack.pop(),
    b"1": lambda machine: machine.marked(),
    b"}": lambda machine: machine.stack.append({}),
    b"]": lambda machine: machine.stack.append([]),
    b")": lambda machine: machine.stack.append(()),
    b"t": _Machine.tuple_of,
    b"\x85": partial(_Machine.tuple_of, count=1),
    b"\x86": partial(_Machine.tuple_of, count=2),
    b"\x87": partial(_Machine.tuple_of, count=3),
    b"a": lambda machine: machine.extend([machine.stack.pop()]),
    b"e": lambda machine: machine.extend(machine.marked()),
    b"s": lambda machine: machine.update([machine.stack.pop(-2), machine.stack.pop()]),
    b"u": lambda machine: machine.update(machine.marked()),
    b"q": lambda machine: machine.put(machine.number("<B")),
    b"r": lambda machine: machine.put(machine.number("<I")),
    b"\x94": lambda machine: machine.put(len(machine.memo)),
    b"h": lambda machine: machine.stack.append(machine.memo[machine.number("<B")]),
    b"j": lambda machine: machine.stack.append(machine.memo[machine.number("<I")]),
    b"c": lambda machine: machine.ask(machine._line(), machine._line()),
    b"\x93": lambda machine: machine.ask(machine.stack.pop(-2), machine.stack.pop()),
    b"R": _Machine.reduce,
    b"b": _Machine.build,
}
