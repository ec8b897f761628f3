"""What the documents say is compared with the code."""

import re
import runpy
from pathlib import Path

import click
import pytest

from labelnoise import losses
from labelnoise.cli import main
from labelnoise.config import Job
from labelnoise.configure import build, read_yaml
from labelnoise.data.dataset import DATASETS
from labelnoise.methods import METHODS
from labelnoise.methods.base import build as build_method
from labelnoise.methods.own import find_methods
from labelnoise.nets import NETS
from labelnoise.nets.base import resolved
from labelnoise.noise import NOISES, parse
from labelnoise.testing import CHECKS, problem

ROOT = Path(__file__).parents[1]
PAGES = {path.relative_to(ROOT).as_posix(): path for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))}
GUIDE = [page for page, path in PAGES.items() if page.startswith("docs/") and "```python" in path.read_text()]
REGISTRIES = {"method": METHODS, "net": NETS, "network": NETS, "data": DATASETS, "data set": DATASETS}


def tables(text):
    """Every table as rows of cells, the header first."""
    found = [[]]
    for line in text.splitlines():
        if line.strip().startswith("|"):
            found[-1].append([cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))])
        elif found[-1]:
            found.append([])
    return [[rows[0], *rows[2:]] for rows in found if len(rows) > 1]


def commands(text):
    """Every `labelnoise …` in a code block or code span, as its words."""
    blocks = re.findall(r"^```.*?\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    indented = re.findall(r"^ {4}(.*)$", text, re.MULTILINE)
    spans = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text)
    lines = [line for block in blocks for line in block.splitlines()] + indented + spans
    typed = (re.match(r"\s*(?:\$ )?(?:\S*python3? -m |\S*bin/)?labelnoise(?= )([^#]*)", line) for line in lines)
    return [match[1].split() for match in typed if match]


def blocks(page, language):
    """The code blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGES[page].read_text(), re.MULTILINE | re.DOTALL)


def programs(page):
    """The Python blocks of a page, each with the output that is shown under it, or None."""
    return re.findall(
        r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", PAGES[page].read_text(), re.MULTILINE | re.DOTALL
    )


def shown_as(output, shown):
    """Whether a program's output is what the page shows, where … stands for anything."""
    return re.fullmatch(".*?".join(map(re.escape, shown.split("…"))), output, re.DOTALL) is not None


def noise_rows():
    """The rows of the table of all noise models, by notation."""
    (table,) = (rows for rows in tables(PAGES["docs/noise.md"].read_text()) if rows[0][0] == "notation")
    return {row[0].strip("`"): row[1:] for row in table[1:]}


def anchors(text):
    """What links may name behind a #: headings in small letters, spaces as hyphens, other signs left out."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def names(rows):
    """What stands in backticks in the first column."""
    return [cell[1:-1] for cell, *_ in rows if re.fullmatch(r"`[^`]+`", cell)]


def registry_tables():
    return [
        pytest.param(rows[1:], REGISTRIES[rows[0][0].lower()], id=f"{page}: {rows[0][0]}")
        for page, path in PAGES.items()
        for rows in tables(path.read_text())
        if rows[0][0].lower() in REGISTRIES
    ]


def test_the_table_of_methods_has_exactly_one_row_per_method():
    (rows,) = (rows for rows in tables((ROOT / "docs" / "methods.md").read_text()) if rows[0][0].lower() == "method")
    assert sorted(names(rows[1:])) == list(METHODS)
    assert len(rows) - 1 == len(list(METHODS))


def test_no_cell_of_the_table_of_methods_is_empty():
    (rows,) = (rows for rows in tables((ROOT / "docs" / "methods.md").read_text()) if rows[0][0].lower() == "method")
    assert all(len(row) == len(rows[0]) and all(row) for row in rows)


def test_the_table_of_noise_models_has_every_kind():
    assert {notation.split(":")[0] for notation in noise_rows()} == set(NOISES)


@pytest.mark.parametrize(("notation", "share"), [(name, row[2]) for name, row in noise_rows().items() if row[2]])
def test_the_shares_of_wrong_labels_in_the_table_lie_in_their_bands(notation, share):
    rate = parse(notation, 10, "cifar10").rate
    assert abs(float(share.removesuffix(" %")) / 100 - rate) <= 4 * (rate * (1 - rate) / 50_000) ** 0.5


def test_the_table_of_losses_has_every_loss():
    (table,) = (rows for rows in tables(PAGES["docs/losses.md"].read_text()) if rows[0][0] == "loss")
    assert sorted(names(table[1:])) == sorted({each for each in losses.__all__ if each.endswith("Loss")} - {"Loss"})


def test_the_table_of_divergences_has_all_eight():
    (table,) = (rows for rows in tables(PAGES["docs/losses.md"].read_text()) if rows[0][0] == "name")
    assert names(table[1:]) == list(losses.DIVERGENCES)


def test_the_picture_of_losses_has_the_figure_of_the_paper():
    # the logistic loss with alpha 0.2 at margins -5, 0 and 5
    figure = runpy.run_path(str(ROOT / "docs" / "loss_pictures.py"))["families"]()[0]
    at = [abs(figure.margin - z).argmin() for z in (-5, 0, 5)]
    expected = {
        "CE": [5.006715, 0.693147, 0.006715],
        "label smoothing": [4.506715, 0.693147, 0.506715],
        "backward": [5.631715, 0.693147, -0.618285],
        "forward": [2.250427, 0.693147, 0.111327],
    }
    assert {name: loss[at].tolist() for name, (loss, _) in figure.curves.items()} == {
        name: pytest.approx(values, abs=5e-7) for name, values in expected.items()
    }


@pytest.mark.parametrize(("rows", "registry"), registry_tables())
def test_tables_name_only_what_exists(rows, registry):
    assert set(names(rows)) <= set(registry)


def test_tables_of_networks_and_data_are_complete():
    for path in PAGES.values():
        for header, *rows in tables(path.read_text()):
            registry = REGISTRIES.get(header[0].lower(), METHODS)
            if registry is not METHODS and names(rows):
                assert sorted(names(rows)) == list(registry), f"{path.name}: {header[0]}"


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_options_in_the_documents_exist(page):
    for typed in commands(PAGES[page].read_text()):
        found, words = main, typed
        while isinstance(found, click.Group) and words and not words[0].startswith("-"):
            found, words = found.get_command(click.Context(found), words[0]), words[1:]
        assert found, f"labelnoise {' '.join(typed)}"
        known = {option for param in found.params for option in param.opts} | {"-h", "--help"}
        used = {word.split("=")[0] for word in words if word.startswith("-") and not word[1:2].isdigit()}
        assert used <= known, f"labelnoise {' '.join(typed)}: {sorted(used - known)}"


def test_the_readme_shows_the_commands():
    shown = {words[0] for words in commands(PAGES["README.md"].read_text())}
    assert {"train", "predict", "list", "check"} <= shown


@pytest.mark.parametrize("page", GUIDE)
def test_the_programs_of_the_guide_run_and_print_what_is_shown(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)  # which the programs of a page share, as they do for a reader
    for program, shown in programs(page):
        exec(program, {"__name__": "guide"})
        output = capsys.readouterr().out
        assert not shown or shown_as(output, shown), f"{program}\nprints\n{output}"


@pytest.mark.parametrize("page", PAGES)
def test_links_between_the_documents_lead_somewhere(page):
    text = re.sub(r"^```.*?^```|`[^`\n]+`", "", PAGES[page].read_text(), flags=re.MULTILINE | re.DOTALL)  # no code
    for target in re.findall(r"\]\((?!https?://)([^)\s]+)\)", text):
        file, _, heading = target.partition("#")
        path = (PAGES[page].parent / file).resolve() if file else PAGES[page]
        assert path.exists(), target
        assert not heading or heading in anchors(path.read_text()), target


def test_every_page_is_on_the_contents_page():
    text = PAGES["docs/index.md"].read_text()
    missing = [page for page in PAGES if page.startswith("docs/") and f"({page.removeprefix('docs/')})" not in text]
    assert missing == ["docs/index.md"]


def test_the_code_in_the_readme_runs():
    found = {}
    for block in blocks("README.md", "python"):
        exec(block, found)
    assert len(found["suspicious"]) < 100
    assert found["logits"].grad.isfinite().all()


def test_the_method_in_contributing_passes_the_conformance_suite(tmp_path, monkeypatch):
    monkeypatch.setattr(METHODS, "_things", dict(METHODS._things))
    (block,) = blocks("CONTRIBUTING.md", "python")
    path = tmp_path / "mae.py"
    path.write_text(block)
    (method,) = find_methods(str(path))
    assert [fact for fact, check in CHECKS.items() if problem(check, method)] == []


def test_the_page_of_settings_is_the_one_that_is_generated():
    generated = runpy.run_path(str(ROOT / "docs" / "generate.py"))["page"]()
    assert PAGES["docs/config.md"].read_text() == generated, "run `make docs`"


def test_the_table_of_data_sets_is_the_one_that_is_generated():
    generated = runpy.run_path(str(ROOT / "docs" / "generate.py"))["data_page"]()
    assert PAGES["docs/data.md"].read_text() == generated, "run `make docs`"


def test_the_table_of_measured_speed_is_the_one_that_is_generated():
    generated = runpy.run_path(str(ROOT / "docs" / "generate.py"))["speed_page"]()
    assert PAGES["docs/performance.md"].read_text() == generated, "run `make docs`"


def test_the_pages_of_results_and_status_are_those_that_are_generated():
    generated = runpy.run_path(str(ROOT / "docs" / "generate.py"))["measured_pages"]()
    assert {name: PAGES[f"docs/{name}"].read_text() for name in generated} == generated, "run `make docs`"


def test_every_setting_on_its_page_has_a_meaning():
    rows = [row for rows in tables(PAGES["docs/config.md"].read_text()) for row in rows]
    assert [row[0] for row in rows if not row[3]] == []


def test_the_config_file_in_the_documents_can_be_used(tmp_path):
    (block,) = blocks("docs/config.md", "yaml")
    path = tmp_path / "survey.yaml"
    path.write_text(block)
    job = build(Job, read_yaml(path))
    assert [build_method(each.name, each.settings).name for each in job.methods] == ["ce", "gce", "co_teaching"]
    assert resolved(job.net.name, job.net.settings)["widths"] == "128,64"


def test_commands_are_found_wherever_code_stands():
    block = "```\n$ labelnoise train --seeds 5  # all\nimport labelnoise\n```\n"
    text = f"Say `labelnoise check my.py`.\n\n{block}\n    python -m labelnoise list nets\n"
    assert sorted(commands(text)) == [["check", "my.py"], ["list", "nets"], ["train", "--seeds", "5"]]


def test_cells_may_hold_escaped_bars():
    assert tables("| a | b |\n|---|---|\n| `x` | p(y \\| x) |\n") == [[["a", "b"], ["`x`", "p(y \\| x)"]]]


@pytest.mark.parametrize(
    ("output", "shown", "same"),
    [("a 1\n", "a 1\n", True), ("a 1\n", "a …\n", True), ("a 1\nb\n", "a …\n", True), ("a 1\n", "a 2\n", False)],
)
def test_dots_in_shown_output_stand_for_anything(output, shown, same):
    assert shown_as(output, shown) is same
