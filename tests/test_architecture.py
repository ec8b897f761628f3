"""What holds for the tree as a whole: which way imports point, what lies where, how long files are."""

import ast
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

from labelnoise.methods import METHODS

ROOT = Path(__file__).parents[1]
PACKAGE, TESTS = ROOT / "src" / "labelnoise", ROOT / "tests"
SOURCES = sorted(PACKAGE.rglob("*.py"))
LAYERS = (
    ("errors",),
    ("files",),
    ("registry",),
    ("types", "threads", "heap", "software"),
    ("rng",),
    ("config",),
    ("configure",),
    ("papers",),
    ("metrics",),
    ("data",),
    ("noise",),
    ("transition", "losses", "nets"),
    ("methods",),
    ("engine",),
    ("untold", "stepping"),
    ("results",),
    ("sweep",),
    ("report",),
    ("speed",),
    ("testing",),
    ("comparing",),
    ("crossfit",),
    ("auditing",),
    ("reviewing",),
    ("estimator",),
    ("reproduce",),
    ("cli_data", "cli_engine"),
    ("cli_reproduce", "cli_audit"),
    ("cli", "__main__", "__init__"),
)
HEIGHT = {name: height for height, names in enumerate(LAYERS) for name in names}
WHOLE_TREE_TESTS = {
    "test_architecture.py",
    "test_docs.py",
    "test_examples.py",
    "test_published_tables.py",
    "test_results.py",
    "methods/test_conformance.py",
    "papers/test_causal_nl.py",
    "papers/test_label_smoothing.py",
    "papers/test_f_divergence.py",
}
NOT_METHODS = {"__init__", "base", "correction", "local", "notation", "own", "paired", "select", "wrapped"}
DANGEROUS_CALLS = {"eval", "exec", "pickle.load", "pickle.loads", "pickle.Unpickler", "yaml.load", "os.system"}
DANGEROUS_ARGUMENTS = {("weights_only", False), ("allow_pickle", True), ("shell", True)}


def relative(path):
    return path.relative_to(PACKAGE).as_posix()


def layer_of(path):
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported(tree):
    """What any import statement names, also one inside a function."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in line {node.lineno}"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def layers_imported(tree):
    """The parts of the package that are imported."""
    parts = (name.split(".") for name in imported(tree))
    return {name[1] for name in parts if name[0] == "labelnoise" and len(name) > 1} - {"__version__"}


def dangers(tree):
    """Calls that would run or unpickle what someone else wrote."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("pickle", "yaml"):
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        if isinstance(node, ast.Call):
            found.append(ast.unparse(node.func))
            found += [(word.arg, word.value.value) for word in node.keywords if isinstance(word.value, ast.Constant)]
    return [danger for danger in found if danger in DANGEROUS_CALLS | DANGEROUS_ARGUMENTS]


def imported_by(*arguments):
    """Top-level modules that a fresh interpreter has imported in the end."""
    timed = subprocess.run([sys.executable, "-X", "importtime", *arguments], capture_output=True, text=True, check=True)
    lines = (line.split("|")[-1].strip() for line in timed.stderr.splitlines() if line.startswith("import time:"))
    return {name.split(".")[0] for name in lines}


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_imports_point_to_the_same_or_an_earlier_layer(path):
    own = HEIGHT[layer_of(path)]
    back = {name for name in layers_imported(ast.parse(path.read_text())) if HEIGHT[name] > own}
    assert not back, f"{relative(path)} imports {sorted(back)}, which come later"


@pytest.mark.parametrize(
    ("code", "layers"),
    [
        ("import labelnoise.cli", {"cli"}),
        ("from labelnoise.engine.loop import Training", {"engine"}),
        ("from labelnoise import nets, __version__", {"nets"}),
        ("def f():\n    from labelnoise.sweep import plan", {"sweep"}),
        ("import labelnoise\nimport torch.nn\nfrom collections import abc", set()),
    ],
)
def test_every_form_of_import_is_seen(code, layers):
    assert layers_imported(ast.parse(code)) == layers


def test_ray_is_imported_in_one_place():
    named = {relative(path): {name.split(".")[0] for name in imported(ast.parse(path.read_text()))} for path in SOURCES}
    assert [path for path, names in named.items() if "ray" in names] == ["sweep/cluster.py"]


@pytest.mark.parametrize("path", [p for p in SOURCES if not p.stem.startswith("__")], ids=relative)
def test_every_source_file_has_its_test_file(path):
    mirrored = TESTS / path.relative_to(PACKAGE).with_name(f"test_{path.name}")
    assert mirrored.exists(), f"{mirrored.relative_to(ROOT)} is missing"


@pytest.mark.parametrize("path", sorted(TESTS.rglob("test_*.py")), ids=lambda path: path.relative_to(TESTS).as_posix())
def test_every_test_file_has_its_source_file(path):
    own = path.relative_to(TESTS)
    mirrored = PACKAGE / own.with_name(own.name.removeprefix("test_"))
    assert own.as_posix() in WHOLE_TREE_TESTS or mirrored.exists()


def test_every_method_lies_in_the_file_of_its_name():
    found = {name: METHODS.get(name).__module__ for name in METHODS}
    assert found == {name: f"labelnoise.methods.{name}" for name in METHODS}


def test_every_file_of_methods_registers_one():
    assert {path.stem for path in (PACKAGE / "methods").glob("*.py")} - NOT_METHODS == set(METHODS)


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_files_are_short(path):
    most = {"methods": 90, "losses": 90, "engine": 250}.get(layer_of(path), 400)
    if path.stem in NOT_METHODS:
        most = max(most, 250)
    assert len(path.read_text().splitlines()) <= most


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_nothing_from_outside_is_unpickled_or_run(path):
    assert dangers(ast.parse(path.read_text())) == []


@pytest.mark.parametrize(
    "code",
    [
        "eval('1')",
        "exec(text)",
        "pickle.load(file)",
        "import pickle\npickle.loads(data)",
        "from pickle import loads",
        "yaml.load(text, Loader)",
        "torch.load(path, weights_only=False)",
        "numpy.load(path, allow_pickle=True)",
        "subprocess.run(command, shell=True)",
    ],
)
def test_every_form_of_danger_is_seen(code):
    assert dangers(ast.parse(code))


def test_putting_a_network_in_eval_mode_is_no_danger():
    assert dangers(ast.parse("net.eval()\nspec.loader.exec_module(module)\nyaml.safe_load(text)")) == []


@pytest.mark.parametrize("command", [(), ("speed",), ("audit",)])
def test_the_help_imports_no_torch(command):
    heavy = {"torch", "numpy", "pandas", "sklearn", "scipy", "matplotlib", "rich", "safetensors"}
    assert not imported_by("-m", "labelnoise", *command, "--help") & heavy


def test_the_package_imports_nothing_heavier_than_torch():
    heavy = {"pandas", "sklearn", "scipy", "matplotlib", "rich", "torchvision", "PIL", "yaml", "jinja2", "click"}
    assert not imported_by("-c", "import labelnoise") & (heavy | {"ray"})


def test_the_engine_imports_ray_only_where_it_is_wanted():
    assert "ray" not in imported_by("-c", "import labelnoise.sweep.ray, labelnoise.comparing, labelnoise.cli")


def test_every_layer_of_the_order_is_one_of_the_package():
    parts = {layer_of(path) for path in SOURCES}
    assert parts == set(chain.from_iterable(LAYERS))
