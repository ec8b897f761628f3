import sys

import pytest

from labelnoise.errors import InputError
from labelnoise.methods import METHODS
from labelnoise.methods.own import NEIGHBOURS, find_methods, only_method

SOURCE = '''
from dataclasses import dataclass, make_dataclass
from labelnoise.methods import Method, register

@register("{name}")
@dataclass(frozen=True)
class Toy(Method):
    """A toy."""
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A scratch folder to stand in; what is registered or imported meanwhile is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(METHODS, "_things", dict(METHODS._things))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    yield tmp_path
    NEIGHBOURS.clear()


def test_a_registered_method_is_found_by_name(folder):
    assert find_methods("gce") == [METHODS.get("gce")()]


def test_the_methods_of_a_file_are_found(folder):
    (folder / "toys.py").write_text(SOURCE.format(name="toy_one") + SOURCE.format(name="toy_two"))
    assert [method.name for method in find_methods("toys.py")] == ["toy_one", "toy_two"]


def test_a_file_that_has_changed_is_read_anew(folder):
    path = folder / "toys.py"
    path.write_text(SOURCE.format(name="toy_one") + SOURCE.format(name="toy_two"))
    find_methods("toys.py")
    path.write_text(SOURCE.format(name="toy_one").replace("A toy", "Another toy"))
    (method,) = find_methods("toys.py")
    assert type(method).__doc__ == "Another toy."
    assert "toy_two" not in METHODS


def test_files_of_one_name_in_two_folders_are_two(folder):
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "toys.py").write_text(SOURCE.format(name=f"toy_{name}"))
    found = [method.name for name in ("one", "two") for method in find_methods(f"{name}/toys.py")]
    assert found == ["toy_one", "toy_two"]


def test_the_methods_of_a_dotted_module_are_found(folder):
    (folder / "mine").mkdir()
    (folder / "mine" / "toys.py").write_text(SOURCE.format(name="toy_three"))
    path = list(sys.path)
    assert [method.name for method in find_methods("mine.toys")] == ["toy_three"]
    assert sys.path == path


def helped(folder, name):
    """A file in a folder of its own whose method is named by a helper beside it."""
    folder.mkdir(exist_ok=True)
    (folder / "toy_helper.py").write_text(f"NAME = {name!r}\n")
    (folder / "toys.py").write_text("from toy_helper import NAME\n" + SOURCE.replace('"{name}"', "NAME"))
    return [method.name for method in find_methods(str(folder / "toys.py"))]


def test_a_file_imports_its_neighbours_as_a_script_does(folder):
    path = list(sys.path)
    assert helped(folder / "mine", "toy_five") == ["toy_five"]
    assert sys.path == path


def test_neighbours_of_one_name_in_two_folders_are_two(folder):
    assert [helped(folder / name, f"toy_{name}") for name in ("one", "two")] == [["toy_one"], ["toy_two"]]


def test_a_neighbour_that_has_changed_is_read_anew(folder):
    assert [helped(folder / "one", name) for name in ("toy", "other_toy")] == [["toy"], ["other_toy"]]


def test_a_file_may_be_called_like_a_module_in_use(folder):
    (folder / "statistics.py").write_text(SOURCE.format(name="toy_four"))
    before = sys.modules.get("statistics")
    find_methods("statistics.py")
    assert sys.modules.get("statistics") is before


def test_a_file_stands_for_the_one_method_that_it_registers(folder):
    (folder / "toys.py").write_text(SOURCE.format(name="toy_six"))
    assert [only_method(name) for name in ("toys.py", "toy_six", "gce")] == ["toy_six", "toy_six", "gce"]


def test_a_file_of_several_methods_stands_for_none(folder):
    (folder / "toys.py").write_text(SOURCE.format(name="toy_one") + SOURCE.format(name="toy_two"))
    with pytest.raises(InputError, match="registers 2 methods, toy_one, toy_two; give one of these names"):
        only_method("toys.py")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gcee", "unknown method 'gcee'; did you mean 'gce'? (one of your own is named by its file, such as my_meth"),
        ("missing.py", "missing.py is not a Python file that can be read"),
        ("missing.module", "missing.module cannot be imported: ModuleNotFoundError: No module named 'missing'"),
        ("./relative", "./relative cannot be imported"),
        ("empty.py", "empty.py registers no method; decorate a class with labelnoise.methods.register"),
        ("typo.py", "typo.py cannot be imported: SyntaxError"),
        (
            "twice.py",
            "twice.py, line 5: method 'gce' is registered twice; change the name in @register",
        ),
        ("wrong.py", "wrong.py cannot be imported: ZeroDivisionError in wrong.py, line 2: division by zero"),
    ],
)
def test_what_cannot_be_found_is_said_in_a_sentence(folder, name, message):
    (folder / "empty.py").write_text("")
    (folder / "typo.py").write_text("def :")
    (folder / "twice.py").write_text(SOURCE.format(name="gce"))
    (folder / "wrong.py").write_text("def half(x):\n    return x / 0\n\n\nhalf(1)\n")
    with pytest.raises(InputError) as caught:
        find_methods(name)
    assert message in str(caught.value)
