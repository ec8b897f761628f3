import sys

import pytest

from labelnoise.config import Named, RunConfig, digest
from labelnoise.methods import METHODS, build
from labelnoise.methods.own import NEIGHBOURS, find_methods
from labelnoise.sweep.code import code_of, own_code
from labelnoise.sweep.plan import comparison

OWN = """
import json
from dataclasses import dataclass

import numpy
{}
from labelnoise.methods import register
from labelnoise.methods.ce import CE

@register("own")
@dataclass(frozen=True)
class Own(CE):
    pass
"""
HELPERS = {
    "code_rate.py": "import code_deep\nRATE = 0.5\n",
    "code_deep.py": "import code_rate\n",
    "code_kit/__init__.py": "",
    "code_kit/near.py": "from . import far\n",
    "code_kit/far.py": "",
    "code_spare/part.py": "",
    "code_lone.py": "",
}
IMPORTS = ["from code_rate import RATE", "from code_kit.near import *", "import code_spare.part"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A scratch folder with helpers; what is registered or imported meanwhile is forgotten."""
    monkeypatch.setattr(METHODS, "_things", dict(METHODS._things))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    for name, text in HELPERS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    yield tmp_path
    NEIGHBOURS.clear()


def registered(folder, *imports):
    path = folder / "own.py"
    path.write_text(OWN.format("\n".join(imports)))
    find_methods(str(path))
    return path


def test_methods_of_the_package_need_no_code():
    assert own_code("gce") == ""


def test_the_code_of_a_method_of_ones_own_is_part_of_its_runs(folder):
    base = RunConfig(method=Named("own"))
    path = registered(folder)
    before = comparison(base, [base.method], 1, None)
    path.write_text(path.read_text().replace("pass", "half = 0.5"))
    after = comparison(base, [base.method], 1, None)
    assert before[0].identity != after[0].identity


def test_of_a_method_without_helpers_it_is_the_digest_of_its_file(folder):
    path = registered(folder)
    assert own_code("own") == digest(path.read_text())


@pytest.mark.parametrize("name", [name for name in HELPERS if name != "code_lone.py"])
def test_every_file_that_it_imports_belongs_to_it(folder, name):
    registered(folder, *IMPORTS)
    before = own_code("own")
    (folder / name).write_text(HELPERS[name] + "# changed\n")
    assert own_code("own") != before


def test_a_neighbour_that_it_does_not_import_is_none_of_it(folder):
    registered(folder, *IMPORTS)
    before = own_code("own")
    (folder / "code_lone.py").write_text("# changed\n")
    assert own_code("own") == before


def test_it_is_the_same_in_another_folder(folder):
    registered(folder, *IMPORTS)
    before = own_code("own")
    for name in [name for name in sys.modules if name.startswith("code_")]:
        del sys.modules[name]
    METHODS.forget("own")
    moved = folder.rename(folder.with_name("moved"))
    registered(moved, *IMPORTS)
    assert own_code("own") == before


def test_neighbours_of_a_method_in_another_folder_are_none_of_it(folder):
    registered(folder, *IMPORTS)
    before = own_code("own")
    other = folder / "other"
    other.mkdir()
    (other / "code_rate.py").write_text("RATE = 0.7\n")
    (other / "own.py").write_text(OWN.format(IMPORTS[0]).replace('"own"', '"other"'))
    find_methods(str(other / "own.py"))
    assert own_code("own") == before


def test_the_code_of_a_method_inside_another_belongs_to_it(folder):
    registered(folder)
    student = build("distillation", {"teacher": "own"})
    assert (code_of(student), code_of(build("distillation"))) == (own_code("own"), "")
