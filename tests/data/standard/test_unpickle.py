"""Every pickle of `LIVE` does harm where it is unpickled in the ordinary way; the tests show both."""

import collections
import contextlib
import copyreg
import io
import os
import pickle
import random
import struct
import subprocess
import zipfile

import numpy as np
import pytest
import torch

from labelnoise.data.standard import unpickle
from labelnoise.data.standard.unpickle import plain_objects, torch_objects
from labelnoise.errors import InputError

PLAIN = {
    "data": np.arange(12, dtype=np.uint8).reshape(3, 4),
    "by column": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "axes exchanged": np.arange(24).reshape(2, 3, 4).transpose(1, 0, 2),
    "big end first": np.arange(3, dtype=">i4"),
    "truth": np.array([True, False]),
    "empty": np.zeros((0, 3), np.float32),
    "one": np.array(3, np.int16),
    "nested": [(1, -1, 2**40, -(2**70)), ["text", "ü", b"bytes", b"", ""], None, True, 1.5],
    "numbers": list(range(-300, 70_000, 7)),
}
EXTENSION = 0x77


class Evil:
    def __init__(self, *reduced):
        self.reduced = reduced

    def __reduce__(self):
        return self.reduced


def text(value):
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def body(value):
    """The instructions that push a value, without begin and end."""
    return pickle.dumps(value, 3)[2:-1]


def asked(module, name):
    return f"c{module}\n{name}\n".encode()


def asked_by_stack(module, name):
    return text(module) + text(name) + b"\x93"


def code(marker):
    return text(f"__import__('os').mkdir({marker!r})")


def set_state_twice(marker):
    first = b"}" + text("__setstate__") + asked("posix", "mkdir") + b"s"
    return asked("collections", "OrderedDict") + b")R" + first + b"b" + text(marker) + b"b"


def in_object_array(marker):
    return body(np.array([Evil(os.mkdir, (marker,))], object))


LIVE = {
    "function by name": lambda marker: asked("posix", "mkdir") + text(marker) + b"\x85R",
    "function by stack": lambda marker: asked_by_stack("os", "mkdir") + text(marker) + b"\x85R",
    "shell": lambda marker: asked("os", "system") + text(f"mkdir {marker}") + b"\x85R",
    "eval": lambda marker: asked("builtins", "eval") + code(marker) + b"\x85R",
    "exec": lambda marker: asked("builtins", "exec") + code(marker) + b"\x85R",
    "getattr": lambda marker: (
        asked("builtins", "getattr") + asked("pathlib", "os") + text("mkdir") + b"\x86R" + text(marker) + b"\x85R"
    ),
    "reduce": lambda marker: body(Evil(subprocess.check_call, (["mkdir", marker],))),
    "reduce in a dictionary": lambda marker: body({"data": [Evil(os.mkdir, (marker,))]}),
    "class by INST": lambda marker: b"(" + text(marker) + b"iposix\nmkdir\n",
    "class by OBJ": lambda marker: b"(" + asked("posix", "mkdir") + text(marker) + b"o",
    "attributes": set_state_twice,
    "registered extension": lambda marker: bytes([0x82, EXTENSION]) + text(marker) + b"\x85R",
    "array of objects": in_object_array,
    "attribute of an allowed name": lambda marker: (
        asked_by_stack("numpy", "ndarray.tofile") + body(np.zeros(1)) + text(marker) + b"\x86R"
    ),
    "function of numpy": lambda marker: asked("numpy.testing._private.utils", "runstring") + code(marker) + b"}\x86R",
    "codec": lambda marker: (
        asked("_codecs", "encode") + text("x") + asked("posix", "mkdir") + text(marker) + b"\x85R\x86R"
    ),
}


@pytest.fixture
def marker(tmp_path):
    copyreg.add_extension("posix", "mkdir", EXTENSION)
    yield str(tmp_path / "marker")
    copyreg.remove_extension("posix", "mkdir", EXTENSION)


def ordinary(content):
    with contextlib.suppress(TypeError):  # after the harm
        pickle.loads(content)


@pytest.mark.parametrize("make", LIVE.values(), ids=LIVE)
def test_a_hostile_pickle_is_refused_and_does_nothing(make, marker):
    content = b"\x80\x04" + make(marker) + b"."
    with pytest.raises(
        InputError, match=r"^batch .*; nothing of it was run; download it again from the official place$"
    ):
        plain_objects(content, "batch")
    assert not os.path.exists(marker)
    ordinary(content)
    assert os.path.exists(marker)


def torch_zip(content, compression=zipfile.ZIP_STORED, name="archive/data.pkl"):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr(name, content)
        archive.writestr("archive/version", "3\n")
    return file.getvalue()


def torch_legacy(content):
    return b"".join(pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})) + content


@pytest.mark.parametrize("wrap", [torch_zip, torch_legacy])
@pytest.mark.parametrize("make", LIVE.values(), ids=LIVE)
def test_a_hostile_pickle_in_a_file_of_torch_does_nothing(make, wrap, marker):
    content = wrap(b"\x80\x02" + make(marker) + b".")
    with pytest.raises(InputError, match=r"; nothing of it was run; "):
        torch_objects(content, "labels")
    assert not os.path.exists(marker)


def state(*parts):
    return (
        asked("numpy.core.multiarray", "_reconstruct")
        + asked("numpy", "ndarray")
        + body((0,))
        + text("b")
        + (b"\x87R(" + b"".join(parts) + b"tb")
    )


BYTES = asked("numpy", "dtype") + text("u1") + b"\x85R"
NESTED = b"]" * 100_000 + b"a" * 99_999
LAUGHS = b"]q\x00" + b"".join(b"](" + b"h\x00" * 100 + b"eq\x00" for _ in range(8))
COLLIDING = b"}(" + b"".join(body(number * (2**61 - 1)) + b"N" for number in range(10)) + b"u"
OTHER = {
    "persistent id": (b"P1\n", "holds tensors at byte 2"),
    "persistent id of an object": (body(("storage", 1)) + b"Q", "holds tensors at byte"),
    "new object": (asked("subprocess", "Popen") + body(("true",)) + b"\x81", "asks for 'subprocess.Popen'"),
    "new array": (asked("numpy", "ndarray") + body((10**12,)) + b"\x81", r"holds an instruction b'\\x81' at byte"),
    "new array with names": (asked("numpy", "ndarray") + b")}\x92", r"holds an instruction b'\\x92' at byte"),
    "type that is called": (asked("numpy", "ndarray") + body(((10**12,),)) + b"R", "calls what is no function"),
    "text that is called": (text("print") + b")R", "calls what is no function"),
    "function as data": (asked("_codecs", "encode"), "holds a type or function among its data"),
    "type as data": (body([np.dtype("u1")]), "holds a type or function among its data"),
    "attributes of a dictionary": (
        asked("collections", "OrderedDict") + b")R" + body({"items": 1}) + b"b",
        "sets attr",
    ),
    "attributes of a function": (asked("_codecs", "encode") + body((None, {"__kwdefaults__": 1})) + b"b", "sets attr"),
    "attributes of a list": (b"]}b", "sets attributes of what is no array"),
    "appended to a text": (b"X\0\0\0\0Na", "appends to what is no list"),
    "entries of a list": (b"]NNs", "sets entries of what is no dictionary"),
    "records": (body(np.zeros(2, "i4,i4")), "holds an array of type 'V8'"),
    "records of objects": (body(np.zeros(2, "i4,O")), "holds an array of type"),
    "objects": (body(np.array([1], object)), "holds an array of type 'O8'"),
    "objects called bytes": (state(b"K\1", body((1,)), BYTES, b"\x89", body([1])), "holds an array of objects"),
    "fields": (BYTES + b"(K\3" + text("|") + b"NN}K\1K\1K\0tb", "holds an array of records"),
    "texts": (body(np.array(["a"])), "holds an array of type 'U1'"),
    "dates": (body(np.zeros(1, "M8[s]")), "holds an array of type 'M8'"),
    "huge array": (
        asked("numpy.core.multiarray", "_reconstruct")
        + asked("numpy", "ndarray")
        + body((10**12,))
        + text("b")
        + b"\x87R",
        "holds an array that numpy has not written",
    ),
    "huge shape": (state(b"K\1", body((10**9, 10**9)), BYTES, b"\x89", body(b"x")), "whose shape does not fit"),
    "negative shape": (state(b"K\1", body((-1, -1)), BYTES, b"\x89", body(b"x")), "whose shape does not fit"),
    "many axes": (state(b"K\1", body((2**2000,) * 1000), BYTES, b"\x89", body(b"x")), "whose shape does not fit"),
    "array filled twice": (body(np.zeros(1)) + body((1, (1,), None, False, b"")) + b"b", "sets attributes"),
    "huge number": (b"\x8b\xff\xff\xff\x7f", r"holds an instruction b'\\x8b' at byte 2"),
    "number in digits": (b"L" + b"9" * 100_000 + b"L\n", "holds an instruction b'L' at byte 2"),
    "codec that is no latin1": (
        asked("_codecs", "encode") + body(("x", "rot13")) + b"R",
        "encodes texts as numpy never",
    ),
    "text encoded again and again": (
        asked("_codecs", "encode")
        + body(("x" * 1000, "latin1"))
        + b"q\x00R"
        + asked("_codecs", "encode")
        + b"q\x01"
        + b"h\x01h\x00R" * 5,
        "encodes texts as numpy never does",
    ),
    "deep": (NESTED, "is nested too deeply or in itself"),
    "list in itself": (b"]q\x00h\x00a", "is nested too deeply or in itself"),
    "dictionary in itself": (b"}q\x00" + text("x") + b"h\x00s", "is nested too deeply or in itself"),
    "few lists, many times": (LAUGHS, "holds more objects than any official file"),
    "numbers with one hash": (COLLIDING, "has a dictionary whose keys are no texts"),
    "set": (body({1, 2}), "asks for 'builtins.set'"),
}


@pytest.mark.parametrize(("content", "message"), OTHER.values(), ids=OTHER)
def test_a_pickle_of_anything_else_is_refused(content, message, monkeypatch):
    monkeypatch.setattr(unpickle, "MOST_STEPS", 250_000)
    with pytest.raises(InputError, match=f"^batch .*{message}.*; nothing of it was run; "):
        plain_objects(b"\x80\x02" + content + b".", "batch")


@pytest.mark.parametrize(
    "content",
    [
        b"rubbish",
        b"\x80\x02.",
        b"\x80\x02t.",
        b"\x80\x02h\x07.",
        b"\x80\x02X\1\0\0\0\xff.",
        b"\x80\x02c" + b"x" * 1000,
        b"\x80\x02" + body([[]]) + text("x") + b"\x93.",
        b"\x80\x02" + asked("numpy", "dtype") + b"]\x85R.",
        b"\x80\x02" + asked("_codecs", "encode") + b")R.",
        b"\x80\x02(K\1u.",
    ],
)
def test_rubbish_is_refused(content):
    with pytest.raises(InputError, match=r"^batch is damaged or no pickle; download it again$"):
        plain_objects(content, "batch")


@pytest.mark.parametrize(
    "length", [b"B\xff\xff\xff\xff", b"\x8e" + b"\xff" * 8, b"\x96" + b"\xff" * 8, b"\x8d" + b"\xff" * 8]
)
def test_a_length_that_is_not_there_costs_nothing(length):
    with pytest.raises(InputError, match=r"^batch is empty or cut short; download it again$"):
        plain_objects(b"\x80\x02" + length + b"x", "batch")


def test_a_far_place_in_the_memo_costs_nothing():
    assert plain_objects(b"\x80\x02K\x07r\xff\xff\xff\xff0j\xff\xff\xff\xff.", "batch") == 7


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle_that_is_cut_anywhere_is_refused(protocol):
    whole = pickle.dumps(PLAIN | {"numbers": [1, 2]}, protocol)
    for length in range(len(whole)):
        with pytest.raises(InputError, match=r"; download it again"):
            plain_objects(whole[:length], "batch")


def test_a_pickle_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(unpickle, "MOST_STEPS", 1000)
    with pytest.raises(InputError, match=r"^batch is empty or cut short; "):
        plain_objects(b"\x80\x02" + b"N" * 999, "batch")
    with pytest.raises(InputError, match=r"^batch holds more objects than any official file; "):
        plain_objects(b"\x80\x02" + b"N" * 1000, "batch")


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_changed_bytes_never_raise_anything_but_a_sentence(protocol):
    whole, draw = pickle.dumps(PLAIN | {"numbers": [1, 2]}, protocol), random.Random(protocol)
    for _ in range(1000):
        content = bytearray(whole)
        for _ in range(draw.randint(1, 5)):
            content[draw.randrange(len(content))] = draw.randrange(256)
        with contextlib.suppress(InputError):
            plain_objects(bytes(content), "batch")


def same(found, expected):
    if isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(found, expected, strict=True)
    else:
        assert found == expected
        assert type(found) is type(expected)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_arrays_and_plain_containers_are_read(protocol):
    found = plain_objects(pickle.dumps(PLAIN, protocol), "batch")
    assert list(found) == list(PLAIN)
    for key, value in PLAIN.items():
        same(found[key], value)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("value", [np.float64(1.5), np.uint8(200), np.int64(-7), np.True_])
def test_numbers_of_numpy_become_numbers_of_python(value, protocol):
    same(plain_objects(pickle.dumps(value, protocol), "batch"), value.item())


@pytest.mark.parametrize("kind", unpickle.KINDS)
@pytest.mark.parametrize("order", "<>")
def test_every_kind_of_number_is_read(kind, order):
    values = np.array([0, 1, 1], order + kind)
    same(plain_objects(pickle.dumps(values), "batch"), values)


def short(value):
    """A text as Python 2 wrote it."""
    return b"U" + bytes([len(value)]) + value.encode()


def test_a_pickle_of_python_2_is_read():
    pixels = bytes(range(200, 206))
    kind = (
        asked("numpy", "dtype")
        + short("u1")
        + b"K\0K\1\x87R(K\3"
        + short("|")
        + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb"
    )
    array = (
        asked("numpy.core.multiarray", "_reconstruct") + asked("numpy", "ndarray") + b"K\0\x85" + short("b") + b"\x87R"
    )
    filled = array + b"(K\1K\2K\3\x86" + kind + b"\x89T\6\0\0\0" + pixels + b"tb"
    content = (
        b"\x80\x02}q\1("
        + short("data")
        + filled
        + short("labels")
        + b"](K\6K\x09e"
        + short("name")
        + short("x")
        + b"u."
    )
    assert pickle.loads(content, encoding="bytes")[b"labels"] == [6, 9]  # so it is a pickle
    found = plain_objects(content, "batch")
    same(found["data"], np.array([[200, 201, 202], [203, 204, 205]], np.uint8))
    assert found["labels"] == [6, 9]
    assert found["name"] == b"x"


@pytest.mark.parametrize("zipped", [True, False])
def test_files_of_torch_are_read(zipped):
    file = io.BytesIO()
    torch.save(collections.OrderedDict(PLAIN), file, _use_new_zipfile_serialization=zipped)
    found = torch_objects(file.getvalue(), "labels")
    assert list(found) == list(PLAIN)
    for key, value in PLAIN.items():
        same(found[key], value)


@pytest.mark.parametrize("zipped", [True, False])
def test_tensors_of_torch_are_refused(zipped):
    file = io.BytesIO()
    torch.save({"clean_label": torch.arange(3)}, file, _use_new_zipfile_serialization=zipped)
    with pytest.raises(InputError, match=r"^labels asks for 'torch\._utils\._rebuild_tensor_v2', where only arrays"):
        torch_objects(file.getvalue(), "labels")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (torch_zip(pickle.dumps({}), zipfile.ZIP_DEFLATED), "is compressed, so torch.save has not written it"),
        (torch_zip(pickle.dumps({}), name="archive/other.pkl"), "is damaged or was not written by torch.save"),
        (torch_zip(pickle.dumps({}))[:-30], "is damaged or was not written by torch.save"),
        (b"".join(pickle.dumps(part, 2) for part in (1, 1001, {}, {})), "was not written by torch.save"),
        (torch_legacy(b""), "is empty or cut short"),
        (b"", "is empty or cut short"),
    ],
)
def test_what_torch_has_not_written_is_refused(content, message):
    with pytest.raises(InputError) as error:
        torch_objects(content, "labels")
    assert str(error.value) == f"labels {message}; download it again"
