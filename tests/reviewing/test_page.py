import base64
import csv
import hashlib
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from labelnoise.auditing.per_class import class_table
from labelnoise.auditing.suspicion import NO_FLIPS
from labelnoise.config import Data
from labelnoise.data import Dataset
from labelnoise.reviewing.corrections import read_decisions
from labelnoise.reviewing.page import embedded, page, write_page
from labelnoise.reviewing.review import identity
from labelnoise.reviewing.source import Source

NASTY = json.loads((Path(__file__).parent / "nasty.json").read_text())  # what a name may try

CHOOSE = """name => {
  document.getElementById("given").value = "=" + name;
  document.getElementById("given").dispatchEvent(new Event("input"));
}"""


def source_of_names(names, *, each=3):
    """Rows with numbers for inputs, and these names as classes and in ids."""
    rows = len(names) * each
    x = np.random.default_rng(0).normal(size=(rows, 3))
    ids = [f"{names[row % len(names)]}{'' if row < len(names) else row}" for row in range(rows)]
    dataset = Dataset.from_arrays(x, np.arange(rows) % len(names), classes=names, ids=ids, name=names[0])
    return Source(None, Data(), dataset)


@pytest.fixture
def opened(browser, tmp_path):
    """A function that writes a page and opens it, with what the browser complained of and asked for."""
    contexts = []

    def open_page(audit, source, width=1280):
        path = tmp_path / "audit.html"
        write_page(audit, source, path)
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, accept_downloads=True))
        tab = contexts[-1].new_page()
        tab.set_default_timeout(10_000)
        tab.complaints = []
        tab.on("console", lambda message: tab.complaints.append(message.text))
        tab.on("pageerror", lambda error: tab.complaints.append(str(error)))
        tab.on("dialog", lambda dialog: (tab.complaints.append("dialog"), dialog.dismiss()))
        tab.on(
            "request",
            lambda request: (
                request.url.startswith(("data:", "blob:", path.as_uri())) or tab.complaints.append(request.url)
            ),
        )
        tab.goto(path.as_uri())
        return tab

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def table_tab(opened, people, audit_of):
    """The page of the table of people, whose rows 7, 8, 9 and 10 are suspected most."""
    return opened(audit_of(people.dataset, wrong=["7", "8", "9", "10"]), people)


def press(tab, *keys):
    for key in keys:
        tab.keyboard.press(key)


def reload(tab):
    """As a person would, who is not as fast as the browser hands what is kept from one process to the next."""
    tab.wait_for_timeout(500)
    tab.reload()


def texts(tab, selector):
    return tab.locator(selector).evaluate_all("all => all.map(each => each.textContent)")


def shown_ids(tab):
    return texts(tab, ".card .id bdi")


def focused(tab):
    return tab.evaluate("document.activeElement.querySelector('.id bdi').textContent")


def exported(tab):
    """The rows of the exported file, and the file itself."""
    with tab.expect_download() as started:
        tab.click("#export")
    path = started.value.path()
    assert started.value.suggested_filename == "corrections.csv"
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig")))), path


def decided(tab):
    return {row["id"]: (row["decision"], row["corrected"]) for row in exported(tab)[0]}


def test_data_in_the_page_cannot_end_the_script_that_holds_them():
    text = embedded({"a": "</script>&\u2028\u2029", "b": ["<!--", "\ud800"]})
    assert not re.search("[<>&\u2028\u2029\ud800]", text)
    assert json.loads(text) == {"a": "</script>&\u2028\u2029", "b": ["<!--", "\ud800"]}


def test_only_the_script_of_the_page_may_run(people, audit_of):
    html = page(audit_of(people.dataset), people)
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    assert f"script-src 'sha256-{digest}';" in policy
    assert "unsafe-inline" not in policy.replace("style-src 'unsafe-inline'", "")


def test_the_page_tells_rate_interval_classes_and_precision(people, audit_of):
    html = page(audit_of(people.dataset), people)
    assert "About 10.0 % of the labels are wrong (between 8.0 and 12.0 %), that is about 4 of 40 rows." in html
    for text in ("Class by class", "most often meant", "95.0 %", "60 to 100 %", "folds are made of 5 parts"):
        assert text in html


def test_the_page_tells_how_many_of_its_rows_are_worth_a_look(people, audit_of):
    html = page(audit_of(people.dataset, wrong=["7", "9"]), people)
    assert "the 40 most suspicious rows, 2 wrong with a probability of 10 % or more; issues.csv has all" in html


def test_where_the_rate_is_not_known_nothing_is_told_class_by_class(people, audit_of):
    unknown = replace(audit_of(people.dataset), noise_rate_interval=(0.0, 1.0))
    text = page(unknown, people)
    assert "is not known" in text
    assert "Class by class" not in text
    assert "Which labels are given for which" not in text


@pytest.mark.parametrize(("low", "high", "told"), [(0.0, 1.0, True), (0.001, 0.999, True), (0.1, 1.0, False)])
def test_a_precision_that_may_be_any_is_called_not_known(people, audit_of, low, high, told):
    audit = audit_of(people.dataset)
    text = page(replace(audit, precision=audit.precision.assign(planted_low=low, planted_high=high)), people)
    assert "0 to 100 %" not in text.replace("10 to 100 %", "")
    assert (">not known<" in text) == told
    assert ("too few rows, or too unsure a share of wrong labels, leave open" in text) == told


def test_a_precision_that_was_not_checked_lies_between_nothing(people, audit_of):
    audit = audit_of(people.dataset)
    unchecked = audit.precision.assign(planted_low=float("nan"), planted_high=float("nan"))
    assert "nan" not in page(replace(audit, precision=unchecked), people)


def cells(html):
    """The texts of each line of each table."""
    lines = re.findall(r"<tr>(.*?)</tr>", html)
    return [re.findall(r"<t[hd][^>]*>(?:<bdi>)?(.*?)(?:</bdi>)?</t[hd]>", line) for line in lines]


def test_classes_are_told_in_words_and_whole_rows(people, audit_of):
    audit = audit_of(people.dataset)
    found = class_table(("short", "tall"), np.array([3000, 0]), np.array([[0, 0.2], [375.4, 0]]), np.ones(2, bool))
    told = cells(page(replace(audit, per_class=found), people))
    assert ["class", "labels", "of them wrong", "share wrong", "most often meant", "labelled otherwise"] in told
    assert ["short", "3,000", "about 375", "12.5 %", "tall (100 %)", "under 1"] in told
    assert ["tall", "0", "under 1", "–", "short (100 %)", "about 375"] in told


def test_of_a_class_that_is_not_learnt_nothing_but_its_rows_is_told(people, audit_of):
    flips, learnt = np.array([[0, 9.0], [5.0, 0]]), np.array([True, False])
    found = class_table(("short", "tall"), np.array([20, 20]), flips, learnt)
    told = cells(page(replace(audit_of(people.dataset), per_class=found), people))
    assert ["short", "20", "about 5", "25.0 %", "tall (100 %)", "about 9"] in told
    assert ["tall", "20", "–", "–", "–", "–"] in told


def test_labels_made_wrong_on_purpose_are_told_in_sentences(people, audit_of):
    html = page(audit_of(people.dataset), people)
    for text in (
        "In a copy of the data 20 rows got a wrong label",
        "90 % of them",
        "For 75 %",
        "a probability of 80 %",
    ):
        assert text in html
    assert "made wrong on purpose" not in page(replace(audit_of(people.dataset), planted=NO_FLIPS), people)


def test_in_a_browser_rows_come_by_suspicion_and_nothing_is_asked_for(table_tab):
    assert shown_ids(table_tab)[:4] == ["7", "8", "9", "10"]
    assert table_tab.locator(".card").count() == 40
    assert table_tab.locator(".card").first.locator("td").all_inner_texts() == ["7", "a, 7", "3.5"]
    assert table_tab.complaints == []


def test_in_a_browser_a_small_probability_is_not_none(table_tab):
    told = texts(table_tab, ".wrong")
    assert told[0] == "99 % wrong"
    assert told[-1] == "under 1 % wrong"


def test_in_a_browser_filters_choose_rows(table_tab):
    table_tab.select_option("#given", label="short")
    assert set(texts(table_tab, ".labels bdi:first-of-type")) == {"short"}
    table_tab.fill("#least", "50")
    assert shown_ids(table_tab) == ["8", "10"]
    table_tab.select_option("#given", label="all")
    table_tab.select_option("#suggested", label="short")
    assert shown_ids(table_tab) == ["7", "9"]
    table_tab.select_option("#suggested", label="all")
    table_tab.select_option("#reason", label="the model is sure")
    assert shown_ids(table_tab) == ["7", "9"]
    table_tab.select_option("#reason", label="all")
    table_tab.fill("#text", "a, 10")
    assert shown_ids(table_tab) == ["10"]
    assert "1 shown" in table_tab.inner_text("#progress")


def test_in_a_browser_rows_can_be_put_in_another_order(table_tab):
    table_tab.select_option("#order", value="up")
    assert shown_ids(table_tab)[-4:] == ["10", "9", "8", "7"]
    table_tab.select_option("#order", value="given")
    assert shown_ids(table_tab)[:2] == ["8", "10"]


def test_in_a_browser_rows_are_decided_by_the_keyboard_alone(table_tab):
    press(table_tab, "j", "a", "r")
    assert focused(table_tab) == "9"
    press(table_tab, "k", "k", "ArrowRight", "ArrowDown", "ArrowUp", "j", "o")
    table_tab.keyboard.type("sho")
    press(table_tab, "Enter")
    assert focused(table_tab) == "10"
    press(table_tab, "a", "u")
    assert focused(table_tab) == "10"
    assert decided(table_tab) == {"7": ("accept", "short"), "8": ("reject", "short"), "9": ("accept", "short")}
    assert table_tab.inner_text("#progress").startswith("3 of 40 decided, 2 wrong")


def test_in_a_browser_another_class_can_be_chosen(opened, photos, audit_of):
    tab = opened(audit_of(photos.dataset, wrong=["ant/0.png", "bee/1.png"]), photos)
    press(tab, "j", "o")
    assert tab.locator("#classes button").all_inner_texts() == ["bee", "cat"]
    tab.keyboard.type("c")
    press(tab, "Enter", "o", "Escape")
    assert not tab.locator("#chooser").is_visible()
    assert decided(tab) == {"ant/0.png": ("other", "cat")}
    assert tab.locator(".card img").first.evaluate("image => image.naturalWidth") == 6


def test_in_a_browser_rows_are_decided_by_buttons(table_tab):
    first = table_tab.locator(".card").first
    first.get_by_text("Reject").click()
    first.get_by_text("Accept").click()
    assert first.locator(".decided").inner_text() == "becomes short"
    assert first.get_by_text("Accept").get_attribute("aria-pressed") == "true"
    table_tab.click("#undo")
    assert decided(table_tab) == {"7": ("reject", "tall")}
    table_tab.click("#undo")
    assert table_tab.locator("#undo").is_disabled()
    assert table_tab.locator("#export").is_disabled()


def test_in_a_browser_decisions_and_undo_survive_a_reload(table_tab):
    press(table_tab, "j", "a", "r")
    reload(table_tab)
    assert decided(table_tab) == {"7": ("accept", "short"), "8": ("reject", "short")}
    press(table_tab, "u")
    reload(table_tab)
    assert decided(table_tab) == {"7": ("accept", "short")}


def test_in_a_browser_another_audit_has_decisions_of_its_own(opened, people, audit_of):
    tab = opened(audit_of(people.dataset, wrong=["7"]), people)
    press(tab, "j", "a")
    write_page(audit_of(people.dataset, wrong=["8"]), people, people.path.parent / "audit.html")
    reload(tab)
    assert tab.inner_text("#progress").startswith("0 of 40")


def test_in_a_browser_decided_rows_leave_a_list_of_undecided_ones(table_tab):
    table_tab.select_option("#decided", value="no")
    table_tab.focus("#decided")
    press(table_tab, "Escape", "a", "a")
    assert shown_ids(table_tab)[:2] == ["9", "10"]
    assert focused(table_tab) == "9"
    table_tab.select_option("#decided", value="accept")
    assert shown_ids(table_tab) == ["7", "8"]


def test_in_a_browser_nothing_is_decided_before_one_has_come_to_a_row(table_tab):
    press(table_tab, "a")
    assert focused(table_tab) == "7"
    assert table_tab.inner_text("#progress").startswith("0 of 40 decided")
    press(table_tab, "a")
    assert decided(table_tab) == {"7": ("accept", "short")}


def test_in_a_browser_that_keeps_nothing_decisions_are_exported_all_the_same(table_tab):
    table_tab.add_init_script("Storage.prototype.setItem = () => { throw new Error('full'); };")
    reload(table_tab)
    press(table_tab, "j", "a")
    assert "not kept by this browser" in table_tab.inner_text("#progress")
    assert decided(table_tab) == {"7": ("accept", "short")}


def test_in_a_browser_keys_typed_into_a_field_decide_nothing(table_tab):
    table_tab.focus("#text")
    table_tab.keyboard.type("jaru")
    assert table_tab.inner_text("#progress").startswith("0 of 40 decided")


def test_what_is_exported_can_be_applied(table_tab, people, audit_of):
    press(table_tab, "j", "a", "r")
    rows, path = exported(table_tab)
    audit = audit_of(people.dataset, wrong=["7", "8", "9", "10"])
    assert rows[0] == {
        "id": "7",
        "given": "tall",
        "corrected": "short",
        "decision": "accept",
        "lines": "2",
        "audit": identity(audit, people.dataset),
    }
    assert read_decisions([path], people.dataset).corrected == {7: 0, 8: 0}


@pytest.mark.parametrize("width", [1280, 390])
def test_in_a_browser_no_name_does_harm_and_all_are_read_as_they_are(opened, audit_of, width):
    assert len(NASTY) >= 60
    source = source_of_names(NASTY)
    audit = audit_of(source.dataset, wrong=source.dataset.ids, reasons=NASTY)
    tab = opened(replace(audit, notes=tuple(NASTY)), source, width)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert shown_ids(tab) == list(source.dataset.ids)
    assert set(texts(tab, ".labels bdi:first-of-type")) == set(NASTY)
    for name in NASTY[::7]:
        tab.evaluate(CHOOSE, name)
        assert set(texts(tab, ".labels bdi:first-of-type")) == {name}
    assert tab.evaluate("window.hit") is None
    assert tab.complaints == []


def test_in_a_browser_names_beside_the_drawing_are_texts(opened, audit_of):
    source = source_of_names(NASTY[:10])
    tab = opened(audit_of(source.dataset), source)
    assert len([text for text in texts(tab, "figure svg text") if text.startswith(("<", "]", '"', "'"))]) == 20
    assert tab.evaluate("window.hit") is None
    assert tab.complaints == []


def test_nasty_names_come_back_from_the_exported_file_and_no_cell_of_it_is_a_formula(opened, audit_of):
    source = source_of_names(NASTY, each=1)
    tab = opened(audit_of(source.dataset, wrong=source.dataset.ids), source)
    press(tab, "j", *["a"] * len(source.dataset))
    rows, path = exported(tab)
    found = read_decisions([path], source.dataset).corrected
    assert found == {row: (row + 1) % len(NASTY) for row in range(len(source.dataset))}
    assert not any(re.match(r"[=+\-@\t\r]", cell) for row in rows for cell in row.values())


def test_in_a_browser_nasty_cells_are_texts(opened, audit_of, tmp_path, source_of):
    names = [name for name in NASTY if "\0" not in name and not re.match(r"\s*(=|[+\-@].*[(|!])", name)]
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["x", "<img src=x onerror=window.hit=1>", "label"])
        writer.writerows([number, name, "ab"[number % 2]] for number, name in enumerate(names))
    source = source_of(path, categorical=("<img src=x onerror=window.hit=1>",))
    tab = opened(audit_of(source.dataset, wrong=source.dataset.ids), source)
    assert texts(tab, ".card td")[1::2] == [name.lstrip(" ") for name in names]
    assert tab.evaluate("window.hit") is None
    assert tab.complaints == []


def test_in_a_browser_nasty_file_names_are_texts(opened, photos, audit_of, source_of):
    names = [name.replace("/", "∕")[:100] for name in NASTY if "\0" not in name]
    folder = photos.path / "<b onclick=window.hit=1>"
    folder.mkdir()
    for name in names:
        (folder / f"{name}.png").write_bytes((photos.path / "ant" / "0.png").read_bytes())
    source = source_of(photos.path)
    tab = opened(audit_of(source.dataset, wrong=source.dataset.ids), source)
    assert shown_ids(tab) == list(source.dataset.ids)
    assert tab.evaluate("window.hit") is None
    assert tab.complaints == []


def test_many_classes_are_told_without_a_drawing(audit_of):
    source = source_of_names([f"class {number}" for number in range(300)], each=2)
    assert "Which labels are given for which" not in page(audit_of(source.dataset), source)


def test_rows_whose_labels_are_missing_are_not_shown(people, audit_of):
    audit = audit_of(people.dataset, wrong=["3"])
    unlabelled = audit.issues.iloc[:1].set_axis(["unlabelled"]).assign(given=None, wrong_probability=1.0)
    html = page(replace(audit, issues=pd.concat([audit.issues, unlabelled])), people)
    assert "unlabelled" not in html
