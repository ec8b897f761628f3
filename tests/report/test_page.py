import html
import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import pytest
import torch

from labelnoise.config import digest
from labelnoise.engine import checkpoint
from labelnoise.errors import InputError
from labelnoise.report.page import page, write_page
from labelnoise.report.summary import summarise
from labelnoise.results.select import NoisyValidation
from labelnoise.results.store import Store

SCRIPT = "<script>alert(1)</script>"
NASTY = (SCRIPT, '"><img src=x onerror=alert(1)>', "$x$", "a & b", "x\x00\x1by", "\ud800", "שלום", "🦊", "long " * 60)
SMALL = ("ce", "gce", "forward")
VOID = {"meta", "link", "img", "br", "path", "use", "line", "image", "rect"}


def named(method, **settings):
    return {"name": method, "settings": settings}


class Reader(HTMLParser):
    """Collects ids, references, figures and the cells of the first table, and checks that elements nest."""

    def __init__(self, html):
        super().__init__()
        self.open, self.ids, self.references, self.tags, self.cells, self.text = [], [], [], [], [], []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        self.references += [value for name, value in attrs if name in ("href", "src", "xlink:href", "action")]
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("th", "td"):
            self.cells.append("")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)
        if {"th", "td"} & {*self.open}:
            self.cells[-1] += data


def small(fabricate, **settings):
    return fabricate(**{"methods": [named(name) for name in SMALL], "epochs": 6} | settings)


def change_details(store, change, which="*"):
    """Replace what was measured once by `change` of it."""
    for path in store.folder.glob(f"{which}/details.safetensors"):
        tensors, facts = checkpoint.load(path)
        checkpoint.save(path, change(tensors), facts)
    return store


def with_fifteen_bins(tensors):
    """As it was measured once."""
    return tensors | {"test_bins": tensors["test_bins"].unflatten(1, (15, 20)).sum(2)}


def calibration_error(bins, merged):
    """In per cent, from a loop over so many of the 300 bins merged."""
    width, each = len(bins) // merged, bins.numpy()
    sums = [sum(each[i * width + j] for j in range(width)) for i in range(merged)]
    return f"{100 * sum(abs(right - sure) for _, sure, right in sums) / sum(rows for rows, *_ in sums):.1f}"


def lay_in_the_plane(store, *, wrong=True):
    """Give every run predictions and points of a plane, as if its inputs were two numbers."""
    for path in store.folder.glob("*/details.safetensors"):
        tensors, facts = checkpoint.load(path)
        runs, classes, _ = tensors["test_confusion"].shape
        tensors |= {
            "plane_probs": torch.rand(runs, classes, 16, 16, generator=torch.Generator().manual_seed(0)).softmax(1),
            "plane_frame": torch.tensor([[-1.0, 1, -1, 1]] * runs),
            "plane_points": torch.zeros(runs, 4, 2),
            "plane_given": torch.arange(4).expand(runs, 4) % classes,
            "plane_wrong": torch.tensor([[False, wrong, False, False]] * runs),
        }
        checkpoint.save(path, tensors, facts)
    return store


@pytest.mark.parametrize("truth", ["known", "added", "unknown"])
def test_the_table_has_mean_and_spread_of_every_method(fabricate, truth):
    store = small(fabricate, truth=truth)
    measure = "test/accuracy_given" if truth == "unknown" else "test/accuracy_true"
    cells = Reader(page(store)).cells
    for name in SMALL:
        runs = [run.records for run in store.runs().values() if run.config["method"]["name"] == name]
        last = [100 * records[-1].measures[measure] for records in runs]
        chosen = [
            100 * max(records, key=lambda r: r.measures["validation/score"]).measures[measure] for records in runs
        ]
        best = [100 * max(record.measures[measure] for record in records) for records in runs]
        place = next(i for i, cell in enumerate(cells) if cell.split() and cell.split()[0] == name)
        figures = [f"{mean(each):.1f} ± {stdev(each):.1f}" for each in (last, chosen, best)]
        assert [cell.strip() for cell in cells[place + 1 : place + 5]] == ["3", *figures]


def test_marked_figures_are_bold(fabricate):
    store = small(fabricate)
    marked = sum(mark for row in summarise(store).rows for mark in row.not_worse.values())
    assert marked
    assert page(store).count("<td><strong>") == marked


@pytest.mark.parametrize(
    ("truth", "reference"),
    [
        ("known", "Test accuracy in % against true labels"),
        ("unknown", "Test accuracy in % against given labels"),
        ("added", "Test accuracy in % against the file's own labels, before noise was added"),
    ],
)
def test_it_says_what_accuracy_is_measured_against(fabricate, truth, reference):
    assert reference in html.unescape(page(small(fabricate, truth=truth)))


def test_a_network_has_its_unusual_settings_beside_its_name(fabricate):
    store = fabricate([named("ce")], epochs=2)
    path = store.folder / "config.json"
    facts = json.loads(path.read_text())
    facts["base"]["net"] = {"name": "resnet18", "settings": {"stem": "imagenet"}}
    path.write_text(json.dumps(facts))
    assert "<dt>Network</dt><dd>resnet18 (stem=imagenet), " in page(Store.read(store.folder))


def test_nothing_from_the_data_becomes_markup(fabricate):
    methods = [named("ce"), named("gce", q=SCRIPT), named("gce", q="'\"><b>")]
    html = page(small(fabricate, methods=methods, classes=NASTY, name=SCRIPT, notes=[SCRIPT, "</style>"]))
    tags = Reader(html).tags
    assert not {"script", "img", "b"} & {*tags}
    assert tags.count("style") == html.count("</style>") == 1
    assert "&lt;script&gt;" in html
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f]", html)
    html.encode()


@pytest.mark.parametrize("truth", ["known", "unknown"])
def test_the_page_refers_to_nothing_outside_itself(fabricate, truth):
    html = page(small(fabricate, truth=truth))
    assert "//" not in re.sub(r"data:image/png;base64,[\sA-Za-z0-9+/=]+", "", html)
    read = Reader(html)
    assert {reference[:5] for reference in read.references if not reference.startswith("#")} == {"data:"}
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in html


def test_ids_are_unique_and_references_find_them(fabricate):
    html = page(small(fabricate))
    read = Reader(html)
    assert len(read.ids) == len({*read.ids})
    inside = {reference[1:] for reference in read.references if reference.startswith("#")}
    assert inside | {*re.findall(r"url\(#([^)]+)\)", html)} <= {*read.ids}


def test_the_same_folder_gives_the_same_bytes(fabricate):
    store = small(fabricate)
    assert page(store) == page(store)


def test_it_is_written_whole_and_leaves_no_draft(fabricate, tmp_path):
    store = small(fabricate, epochs=2)
    write_page(store, tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page(store)
    assert {path.name for path in tmp_path.iterdir()} == {"results", "report.html"}


def test_a_page_for_a_folder_that_is_not_there_is_refused(fabricate, tmp_path):
    with pytest.raises(InputError, match=r"there is no folder .*nodir; make it first"):
        write_page(small(fabricate, epochs=2), tmp_path / "nodir" / "x.html")


def test_a_page_reads_each_file_once(fabricate, monkeypatch):
    store = small(fabricate, epochs=2)
    opened_files, loaded = Counter(), []
    for name in ("read_text", "read_bytes"):
        original = getattr(Path, name)

        def counting(self, *args, original=original, **kwargs):
            opened_files[self.relative_to(store.folder) if self.is_relative_to(store.folder) else None] += 1
            return original(self, *args, **kwargs)

        monkeypatch.setattr(Path, name, counting)
    load = checkpoint.load
    monkeypatch.setattr(checkpoint, "load", lambda path, advice: (loaded.append(path), load(path, advice))[1])
    page(store)
    del opened_files[None]
    assert len(opened_files) == 1 + 2 * len(SMALL)  # config, and of each pack facts and records
    assert set(opened_files.values()) == {1}
    assert len(loaded) == len(SMALL)


def test_rows_that_look_the_same_keep_their_own_figures(fabricate):
    methods = [named("mixup", alpha=10), named("mixup", alpha=10.0)]
    store = small(fabricate, methods=methods)
    ones, others = (summarise(store).rows[place] for place in (0, 1))
    assert ones.label == others.label
    cells = [cell.strip() for cell in Reader(page(store)).cells]
    shown = [cells[i + 2] for i, cell in enumerate(cells) if cell.startswith(ones.label)][:2]
    assert [text.split()[0] for text in shown] == [
        f"{100 * mean(row.accuracies['last']):.1f}" for row in (ones, others)
    ]
    assert sum("chosen" in cell for cell in cells) == 1
    errors = re.findall(r"<figcaption>mixup.*?: ECE ([\d.]+) %", page(store))
    expected = []
    for row in (ones, others):
        expected.append(calibration_error(sum(run.details["test_bins"] for run in row.finished), 15))
    assert errors == expected


def test_the_calibration_error_is_shown_with_fifteen_and_with_a_hundred_bins(fabricate):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 5, (1, 300))
    hits = rng.binomial(rows, 0.6)
    bins = torch.tensor(np.stack([rows, rows * (np.arange(300) + 0.5) / 300, hits], -1), dtype=torch.float64)
    store = small(fabricate, methods=[named("ce")], seeds=1)
    html = page(change_details(store, lambda tensors: tensors | {"test_bins": bins}))
    usual, fine = (calibration_error(bins[0], merged) for merged in (15, 100))
    assert usual != fine
    assert f"<figcaption>ce: ECE {usual} %, {fine} % (100 bins)</figcaption>" in html


def test_a_folder_with_fifteen_bins_has_the_page_it_had(fabricate):
    store = small(fabricate, methods=[named("ce")])
    drawing = re.compile(r"<figcaption>ce: ECE ([\d.]+) %(, [\d.]+ % \(100 bins\))?</figcaption>")
    (new,) = drawing.findall(page(store))
    (old,) = drawing.findall(page(change_details(store, with_fifteen_bins)))
    assert new[1]
    assert old == (new[0], "")


def test_runs_with_fifteen_and_with_300_bins_are_pooled(fabricate):
    store = small(fabricate, methods=[named("ce"), named("ce")], seeds=1)
    facts = store.folder / "ce-1" / "finished.json"
    facts.write_text(facts.read_text().replace(digest([named("ce"), 0]), "another"))
    records = store.folder / "ce-1" / "records.jsonl"
    records.write_text(records.read_text().replace(digest([named("ce"), 0]), "another"))
    before = re.findall(r"ECE ([\d.]+) %", page(store))
    change_details(store, with_fifteen_bins, "ce-1")
    assert [len(run.details["test_bins"]) for run in summarise(store).rows[0].finished] == [300, 15]
    assert re.findall(r"ECE ([\d.]+) %", page(store)) == before


def panels_of_margins(html):
    return re.findall(r"<figure>\s*<figcaption>([^<]+)</figcaption>\s*<svg[^>]*density of margins", html)


def test_methods_whose_wrong_labels_are_known_have_densities_of_margins(fabricate):
    html = page(small(fabricate))
    assert panels_of_margins(html) == list(SMALL)
    assert "Lukasik et al. 2020" in html


def test_margins_that_were_not_measured_are_not_drawn(fabricate):
    store = small(fabricate)
    change_details(store, lambda tensors: {n: v for n, v in tensors.items() if n != "margin_counts"}, "gce-*")
    assert panels_of_margins(page(store)) == ["ce", "forward"]
    html = page(small(fabricate, truth="unknown", folder="unknown"))
    assert "Lukasik" not in html


def test_without_wrong_labels_there_is_nothing_to_be_sure_of(fabricate):
    def all_right(tensors):
        tensors["margin_counts"][:, 2] = 0
        return tensors

    assert "Lukasik" not in page(change_details(small(fabricate), all_right))


def test_densities_are_those_of_the_given_and_of_the_true_class(fabricate):
    def sharp(tensors):
        counts = torch.zeros(3, 3, 3, 60)
        counts[:, 1, 1, 50] = counts[:, 2, 1, 30] = counts[:, 2, 0, 10] = 7  # right; wrong: given, true
        return tensors | {"margin_counts": counts}

    html = page(change_details(small(fabricate, methods=[named("ce")]), sharp))
    drawn = html[html.index('<section id="margins">') :].split("</section>")[0]
    peaks = []
    for index in range(3):
        path = re.search(rf'd="([^"]+)"[^>]*stroke: var\(--s{index}\)', drawn)[1]
        points = np.array(re.findall(r"[ML] (\S+) (\S+)", path), dtype=float)
        peaks.append(points[points[:, 1] == points[:, 1].min(), 0].mean())
    left, middle, right = peaks[::-1]
    assert left < middle < right
    assert middle - left == pytest.approx(right - middle, abs=0.1)


def test_what_predictions_tell_is_shown_as_mean_and_spread_on_both_parts(fabricate):
    store = small(fabricate)
    cells = [cell.strip() for cell in Reader(page(store)).cells]
    begin = cells.index("KL") + 1
    for name in SMALL:
        place = cells.index(name, begin)
        for column, part in enumerate(("test_confusion", "validation_counts")):
            values = []
            for run in store.runs().values():
                if run.config["method"]["name"] == name:
                    joint = run.details[part].numpy() / run.details[part].numpy().sum()
                    values.append(np.abs(joint - np.outer(joint.sum(1), joint.sum(0))).sum() / 2)
            assert cells[place + 3 + column] == f"{mean(values):.2f} ± {stdev(values):.2f}"  # after FIT


def test_nothing_is_told_of_labels_that_may_be_wrong_in_the_test_part(fabricate):
    assert '<section id="told">' not in page(small(fabricate, truth="unknown"))


def test_an_estimate_by_predictions_is_drawn_by_predicted_class(fabricate):
    figures = re.findall(r"<figure>.*?</figure>", page(small(fabricate)), flags=re.DOTALL)
    drawn = {re.search("<figcaption>(Realised|Estimated|As)?", each)[1]: each for each in figures}
    assert ">predicted class<" in drawn["Estimated"]
    assert ">true class<" not in drawn["Estimated"]
    assert all(">true class<" in drawn[name] for name in ("Realised", "As"))


def test_a_page_of_six_methods_and_forty_epochs_is_small(fabricate):
    assert len(page(fabricate()).encode()) < 1_000_000


def test_sections_depend_on_what_is_known(fabricate):
    known = page(small(fabricate, truth="known"))
    unknown = page(small(fabricate, truth="unknown", folder="unknown"))
    assert "wrong labels: memorised" in known
    assert "Realised:" in known
    assert "wrong labels: memorised" not in unknown
    assert "Realised:" not in unknown
    assert "validation part, as labelled" in unknown
    assert "As forward has it" in unknown


def test_a_revised_matrix_is_shown_beside_what_it_was_before(fabricate):
    store = small(fabricate, methods=[named("forward")], seeds=2)
    for path in store.folder.glob("*/details.safetensors"):
        details, _ = checkpoint.load(path, "")
        checkpoint.save(path, details | {"T_before": torch.full_like(details["T"], 0.25)}, {})
    captions = re.findall("<figcaption>(As forward[^<;]*)", page(store))
    assert captions == ["As forward first estimated it", "As forward has it"]


def test_many_classes_are_drawn_with_a_list_of_the_most_confused(fabricate):
    classes = [f"thing {i}" for i in range(100)]
    store = small(fabricate, methods=[named("ce")], seeds=2, classes=classes)
    counts = sum(run.details["test_confusion"] for run in store.runs().values()).numpy()
    counts[np.diag_indices(100)] = 0
    html = page(store)
    pairs = re.findall(r"<li>thing (\d+) taken for thing (\d+): (\d+) of", html)
    assert [int(n) for _, _, n in pairs] == sorted(counts.ravel().astype(int), reverse=True)[:10]
    assert all(counts[int(i), int(j)] == int(n) for i, j, n in pairs)


@pytest.mark.parametrize("classes", [("no", "yes"), tuple("abcdefghijklm"), tuple(map(str, range(300)))])
def test_any_number_of_classes_has_a_page(fabricate, classes):
    assert "</html>" in page(small(fabricate, methods=[named("ce")], seeds=1, classes=classes))


def test_a_search_shows_its_trials_with_their_scores(fabricate):
    methods = [named("gce", q=q) for q in (0.25, 0.5, 0.75)]
    trials = [digest([method, 0]) for method in methods]
    searches = {"gce": {"trials": trials, "chosen": trials[1]}}
    store = small(fabricate, methods=methods, seeds=1, searches=searches)
    cells = [" ".join(cell.split()) for cell in Reader(page(store)).cells]
    for q, trial in zip((0.25, 0.5, 0.75), trials, strict=True):
        score = NoisyValidation().pick(store.runs()[trial].records).measures["validation/score"]
        place = cells.index(f"q={q} chosen" if q == 0.5 else f"q={q}")
        assert cells[place + 1] == f"{100 * score:.1f}"


def test_the_answer_names_the_chosen_method_and_plain_cross_entropy(fabricate):
    store = small(fabricate)
    summary = summarise(store)
    text = "".join(Reader(page(store)).text).replace("\u00a0", " ")
    assert f"would choose {summary.winner}: {100 * mean(summary.best.accuracies['selected']):.1f} ±" in text
    assert "Plain cross-entropy (ce) reaches" in text


def test_where_classes_differ_much_in_size_the_answer_says_what_that_hides(fabricate, recount):
    counts = {"ce": [[[90, 0], [10, 0]]] * 3}
    store = recount(fabricate([named("ce")], classes=("no", "yes")), counts)
    answer = re.search('<p class="answer">(.*?)</p>', page(store))[1].replace("\u00a0", " ")
    assert "Balanced over classes, which differ much in size, that is 50.0 ± 0.0 %." in answer
    assert "On the test part ce never predicts class yes (in 3 of 3 runs)." in answer


def test_the_recall_of_every_class_is_shown_for_every_method(fabricate):
    store = small(fabricate)
    cells = [cell.strip() for cell in Reader(page(store)).cells]
    place = cells.index("macro F1") + 2 + len(SMALL)
    assert cells[place] == "0"
    for column, name in enumerate(SMALL):
        confusions = [r.details["test_confusion"] for r in store.runs().values() if r.config["method"]["name"] == name]
        found = [100 * (each[0, 0] / each[0].sum()).item() for each in confusions]
        assert cells[place + 2 + column] == f"{mean(found):.1f} ± {stdev(found):.1f}"


def test_how_to_get_the_same_again_is_quoted_for_a_shell(fabricate):
    store = small(fabricate, epochs=2, folder="my runs")
    text = "".join(Reader(page(store)).text)
    assert f"labelnoise train --config '{store.folder}/config.yaml' --out NEW_FOLDER" in text
    assert f"labelnoise report '{store.folder}'" in text


def test_the_page_tells_of_which_code_it_is_and_how_a_device_was_used(fabricate):
    store = small(fabricate, epochs=2)
    way = {"executor": None, "precision": "float32", "eager": False, "deterministic": True}
    for path in store.folder.glob("*/finished.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"execution": way, "commit": "c0ffee0123456789"}))
    text = "".join(Reader(page(Store.read(store.folder))).text)
    assert "labelnoise 0.1.0, torch 2.13.0, code c0ffee0123" in text
    assert "cpu (packed, precision float32, deterministic)" in text


def test_data_given_from_python_are_to_be_given_so_again(fabricate):
    store = small(fabricate, epochs=2)
    facts = store.folder / "config.json"
    held = json.loads(facts.read_text())
    held["base"]["data"]["source"] = ""
    facts.write_text(json.dumps(held))
    text = "".join(Reader(page(store)).text)
    assert f"compare_methods(DATA, settings=yaml.safe_load(open('{store.folder}/config.yaml')))" in text
    assert "labelnoise train" not in text


def test_without_finished_runs_there_is_a_page_that_says_so(fabricate):
    assert "nothing to compare yet" in page(fabricate([]))
    failed = [(name, 0) for name in SMALL]
    assert "nothing to compare yet" in page(small(fabricate, seeds=1, failed=failed, folder="failed"))


def test_without_details_the_rest_is_shown(fabricate):
    store = small(fabricate)
    for path in store.folder.glob("*/details.safetensors"):
        path.unlink()
    html = page(store)
    assert "Accuracy by epoch" in html
    assert "Are probabilities to be trusted" not in html


def test_damaged_details_are_one_sentence(fabricate):
    store = small(fabricate)
    next(store.folder.glob("gce-*/details.safetensors")).write_bytes(b"half")
    with pytest.raises(InputError, match=r"details\.safetensors cannot be read .*; delete the folder .*gce-1 to run"):
        page(store)


def test_a_class_without_predictions_has_an_empty_row(fabricate):
    store = small(fabricate, methods=[named("ce")], seeds=1)
    path = next(store.folder.glob("*/details.safetensors"))
    tensors, facts = checkpoint.load(path)
    tensors["validation_counts"][:, 3] = torch.zeros(10)
    checkpoint.save(path, tensors, facts)
    assert "nan" not in page(store).lower()


def test_runs_in_the_plane_have_their_regions_by_method_for_the_first_seed(fabricate):
    store = small(fabricate, classes=("no", "yes"), failed=[("gce", 0)])
    assert "Decision regions" not in page(store)
    html = page(lay_in_the_plane(store))
    assert re.findall(r"<figcaption>(\w+, seed \d)</figcaption>", html) == [
        "ce, seed 0",
        "gce, seed 1",
        "forward, seed 0",
    ]
    assert [text for text in ("labelled no", "labelled yes", "labelled wrongly") if text in html] == [
        *("labelled no", "labelled yes", "labelled wrongly")
    ]


def test_where_no_label_is_known_to_be_wrong_none_is_explained(fabricate):
    store = small(fabricate, classes=("no", "yes"), truth="unknown")
    assert "labelled wrongly" not in page(lay_in_the_plane(store, wrong=False))


@pytest.fixture
def opened(browser, fabricate, tmp_path):
    """A function that writes a page and opens it, with what the browser complained of and asked for."""
    contexts = []

    def open_page(store, width=1280, scheme="light"):
        path = tmp_path / "report.html"
        write_page(store, path)
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme))
        tab = contexts[-1].new_page()
        complaints, requests = [], []
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("request", lambda request: requests.append(request.url))
        tab.goto(path.as_uri())
        return tab, complaints, {url for url in requests if not url.startswith("data:")} - {path.as_uri()}

    yield open_page
    for context in contexts:
        context.close()


BOXES = "[...document.querySelectorAll('figure svg')].map(e => e.getBoundingClientRect().toJSON())"
COLOURS = "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
SPILT = """[...document.querySelectorAll('figure svg text')].filter(text => {
  const svg = text.closest('svg');
  const a = text.getBoundingClientRect(), b = svg.getBoundingClientRect();
  return a.left < b.left - 2 || a.right > b.right + 2 || a.top < b.top - 2 || a.bottom > b.bottom + 2;
}).map(text => text.textContent)"""


def luminance(colour):
    """Relative luminance of `rgb(r, g, b)`, as WCAG defines it."""
    channels = np.array([int(part) for part in re.findall(r"\d+", colour)[:3]]) / 255
    linear = np.where(channels <= 0.03928, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("classes", [tuple("0123456789"), NASTY], ids=["digits", "nasty"])
def test_in_a_browser_every_figure_is_seen_and_nothing_is_asked_for(opened, fabricate, width, classes):
    tab, complaints, requests = opened(small(fabricate, classes=classes, name="x" * 200, notes=["y" * 300]), width)
    boxes = tab.evaluate(BOXES)
    assert len(boxes) >= 2 + 3 + 3 + 3 + 3 + 1  # curves, training, margins, matrices, calibration, confusion
    assert all(box["width"] > 100 and box["height"] > 100 for box in boxes)
    assert all(box["left"] >= 0 and box["right"] <= width for box in boxes)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate(SPILT) == []
    assert complaints == []
    assert requests == set()


@pytest.mark.parametrize("width", [1280, 390])
def test_in_a_browser_regions_lie_inside_the_page_and_clash_with_nothing(opened, fabricate, width):
    store = lay_in_the_plane(small(fabricate, classes=("no", SCRIPT, "long " * 40)))
    read = Reader(page(store))
    assert len(read.ids) == len({*read.ids})
    tab, complaints, requests = opened(store, width)
    boxes = tab.evaluate(BOXES.replace("figure svg", "#regions figure svg"))
    assert len(boxes) == len(SMALL)
    assert all(box["width"] > 100 and box["left"] >= 0 and box["right"] <= width for box in boxes)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate(SPILT) == []
    assert (complaints, requests) == ([], set())


def test_in_a_browser_light_is_light_and_dark_is_dark(opened, fabricate):
    store = small(fabricate, epochs=2)
    contrast = {}
    for scheme in ("light", "dark"):
        ink, ground = (luminance(each) for each in opened(store, scheme=scheme)[0].evaluate(COLOURS))
        contrast[scheme] = (ground + 0.05) / (ink + 0.05)
    assert contrast["light"] > 7
    assert 1 / contrast["dark"] > 7
