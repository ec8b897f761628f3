import json
import re
from statistics import mean, stdev

import numpy as np
import pytest

from labelnoise.errors import InputError
from labelnoise.report.over_noise import over_noise, write_over_noise
from labelnoise.results.store import Store

RATES = (0.4, 0.1)


def named(method, **settings):
    return {"name": method, "settings": settings}


def change(path, **values):
    held = json.loads(path.read_text())
    held.update(values)
    path.write_text(json.dumps(held))


def folder(fabricate, rate, methods=("ce", "gce"), **settings):
    """Runs under noise that has made this share of labels wrong."""
    store = fabricate([named(each) for each in methods], epochs=3, folder=f"r{rate}", **settings)
    base = store.facts["base"]
    change(store.folder / "config.json", base=base | {"noise": f"symmetric:{rate}"})
    for path in store.folder.glob("*/finished.json"):
        runs = json.loads(path.read_text())["runs"]
        change(path, runs=[run | {"noise_rate": run["noise_rate"] and rate} for run in runs])
    return store


def cells(html, label):
    """The figures of a method in the table, a list for every rate: which it is, how many runs, and measures."""
    rows = re.findall(rf'<tr><th scope="row">{label}</th>(.*?)</tr>', html)
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows]


def test_every_method_has_a_line_for_every_rate_from_low_to_high(fabricate):
    html = over_noise([folder(fabricate, rate) for rate in RATES])
    for label in ("ce", "gce"):
        assert [line[0] for line in cells(html, label)] == ["10.0", "40.0"]


def test_figures_are_mean_and_spread_of_the_runs(fabricate):
    stores = [folder(fabricate, rate) for rate in RATES]
    line = cells(over_noise(stores), "gce")[1]
    runs = [run for run in stores[0].runs().values() if run.config["method"]["name"] == "gce"]
    chosen = [max(run.records, key=lambda record: record.measures["validation/score"]) for run in runs]
    assert line[1] == str(len(runs))
    for place, measure in ((2, "test/accuracy_true"), (3, "validation/score")):
        values = [100 * record.measures[measure] for record in chosen]
        assert line[place] == f"{mean(values):.1f} ± {stdev(values):.1f}"
    variation = []
    for run in runs:
        joint = run.details["test_confusion"].numpy() / run.details["test_confusion"].numpy().sum()
        variation.append(np.abs(joint - np.outer(joint.sum(1), joint.sum(0))).sum() / 2)
    assert line[6] == f"{mean(variation):.2f} ± {stdev(variation):.2f}"  # after accuracy and FIT


def test_accuracy_and_every_divergence_have_a_panel_for_both_parts(fabricate):
    html = over_noise([folder(fabricate, rate) for rate in RATES])
    names = ("Accuracy", "FIT", "Total variation", "Jensen-Shannon", "KL")
    expected = [f"{name}, {part}" for name in names for part in ("test part", "noisy validation")]
    assert re.findall("<figcaption>(.*?)</figcaption>", html) == expected
    ids = re.findall(r' id="([^"]+)"', html)
    assert len(ids) == len({*ids})


def test_a_method_may_lack_in_a_folder(fabricate):
    html = over_noise([folder(fabricate, 0.4), folder(fabricate, 0.1, ("ce",))])
    assert [len(cells(html, label)) for label in ("ce", "gce")] == [2, 1]


def test_a_method_that_never_predicts_a_class_is_named_with_its_folder(fabricate, recount):
    store = recount(folder(fabricate, 0.4, methods=["gce"], classes=("no", "yes")), {"gce": [[[9, 0], [5, 0]]] * 3})
    html = over_noise([store, folder(fabricate, 0.1, methods=["gce"], classes=("no", "yes"))])
    assert re.findall(r"<li>(.*never.*)</li>", html) == [
        f"{store.folder}: On the test part gce never predicts class yes (in 3 of 3 runs)."
    ]


def test_without_details_the_accuracies_are_shown(fabricate):
    stores = [folder(fabricate, rate) for rate in RATES]
    for path in stores[0].folder.glob("*/details.safetensors"):
        path.unlink()
    low, high = cells(over_noise(stores), "ce")
    assert "–" not in low
    assert high[4:] == ["–"] * 8


def test_two_states_of_ones_own_code_are_two_curves(fabricate):
    stores = [folder(fabricate, rate, ("ce", "mine")) for rate in RATES]
    for store, code in zip(stores, ("c0ffee", "decade"), strict=True):
        for path in store.folder.glob("mine-*/finished.json"):
            runs = json.loads(path.read_text())["runs"]
            change(path, runs=[run | {"config": run["config"] | {"code": code}} for run in runs])
    html = over_noise([Store.read(store.folder) for store in stores])
    assert [len(cells(html, label)) for label in ("ce", r"mine \(code=c0ff\)", r"mine \(code=deca\)")] == [2, 1, 1]


def test_what_a_method_was_told_is_said_for_each_folder(fabricate):
    html = over_noise([folder(fabricate, rate, ("ce", "co_teaching")) for rate in RATES])
    assert "made alike" not in html
    assert html.count("was told the noise rate") == 0  # its settings are none that the rate makes
    told = fabricate([named("co_teaching", forget=0.4)], epochs=3, folder="told")
    assert "told: co_teaching was told the noise rate (forget=0.4)." in over_noise([told])


@pytest.mark.parametrize(("section", "value"), [("data", {"source": "moons"}), ("train", {"epochs": 7, "batch": 64})])
def test_folders_that_differ_in_more_than_noise_are_refused(fabricate, section, value):
    stores = [folder(fabricate, rate) for rate in RATES]
    change(stores[1].folder / "config.json", base=stores[1].facts["base"] | {section: value})
    with pytest.raises(
        InputError, match=rf"r0.1 and .*r0.4 differ in more than their noise \(not the same: {section}\)"
    ):
        over_noise(stores)


def test_a_folder_without_truth_is_refused(fabricate):
    stores = [folder(fabricate, 0.4), folder(fabricate, 0.1, truth="unknown")]
    with pytest.raises(InputError, match=r"r0.1 holds runs whose true labels are unknown, and so is their noise rate"):
        over_noise(stores)


def test_folders_without_a_finished_run_are_one_sentence(fabricate):
    stores = [folder(fabricate, rate, ("ce",), failed=[("ce", seed) for seed in range(3)]) for rate in RATES]
    with pytest.raises(InputError, match="no run in these folders has finished"):
        over_noise(stores)


def test_the_page_is_written_whole(fabricate, tmp_path):
    stores = [folder(fabricate, rate) for rate in RATES]
    write_over_noise(stores, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == over_noise(stores)
    assert not re.search(r"https?:", over_noise(stores))


def test_a_method_with_other_settings_is_another_curve(fabricate):
    one = folder(fabricate, 0.1, ("ce",))
    other = fabricate([named("gce", q=0.7), named("ce")], epochs=3, folder="a")
    third = fabricate([named("gce", q=0.9), named("ce")], epochs=3, folder="b")
    html = over_noise([one, other, third])
    assert [len(cells(html, label)) for label in (r"gce \(q=0.7\)", r"gce \(q=0.9\)", "ce")] == [1, 1, 3]


def test_what_the_noise_rate_sets_does_not_part_a_curve(fabricate):
    stores = [
        fabricate([named("co_teaching", forget=rate, ramp=10)], epochs=3, folder=f"c{rate}") for rate in (0.1, 0.3)
    ]
    assert len(cells(over_noise(stores), "co_teaching")) == 2


def test_what_it_sets_of_a_method_inside_another_does_not_part_a_curve_either(fabricate):
    teachers = {rate: f"co_teaching(forget={rate}, ramp=3)" for rate in (0.1, 0.3)}
    stores = [
        fabricate([named("distillation", teacher=teacher)], epochs=3, folder=f"d{rate}")
        for rate, teacher in teachers.items()
    ]
    assert len(cells(over_noise(stores), "distillation")) == 2


def test_another_kind_of_noise_is_another_curve_and_no_noise_begins_them_all(fabricate):
    stores = [folder(fabricate, rate, ("ce",)) for rate in (0.0, 0.1, 0.4, 0.5)]
    for store, noise in zip(
        stores, ("none", "symmetric:0.1", "asymmetric:0.4:next", "sparse:high:stated"), strict=True
    ):
        base = store.facts["base"]
        change(store.folder / "config.json", base=base | {"noise": noise})
    html = over_noise([type(store).read(store.folder) for store in stores])
    for kind, rate in (("symmetric", "10.0"), ("asymmetric:next", "40.0"), ("sparse:stated", "50.0")):
        assert [line[0] for line in cells(html, f"ce, {kind}")] == ["0.0", rate]


def test_a_folder_named_twice_is_refused(fabricate):
    store = folder(fabricate, 0.1)
    with pytest.raises(InputError, match="a folder is named twice"):
        over_noise([store, store])
