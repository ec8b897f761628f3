from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest
import yaml

from labelnoise.comparing import compare_methods, config_text, make_plan
from labelnoise.config import DEFAULT_METHODS, Data, Job, Named
from labelnoise.configure import build
from labelnoise.errors import InputError
from labelnoise.methods import METHODS
from labelnoise.methods import build as build_method
from labelnoise.results.store import Store
from labelnoise.sweep.run import Display

QUICK = {"methods": "ce,gce", "seeds": 2, "train": {"epochs": 2}, "net": {"name": "mlp", "settings": {"widths": "8"}}}


@pytest.fixture
def frame():
    """Two clouds with every tenth label wrong."""
    rng = np.random.default_rng(0)
    true = np.arange(200) % 2
    given = np.where(np.arange(200) % 10 == 0, 1 - true, true)
    names = np.array(["no", "yes"])
    x = rng.normal(size=(200, 2)) + 3 * true[:, None]
    return pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "label": names[given], "truth": names[true]})


def test_built_in_data_have_noise_added_and_own_data_have_not(frame):
    assert make_plan({}).job.noise == "symmetric:0.4"
    assert make_plan({}, frame).job.noise == "none"
    assert make_plan({"noise": "pair:0.2"}, frame).job.noise == "pair:0.2"


def test_the_data_pick_network_and_recipe_and_wishes_come_on_top():
    images = np.zeros((20, 16, 16), dtype=np.uint8)
    labels = np.arange(20) % 2
    suited = make_plan({}, images, labels).job
    assert (suited.net.name, suited.train.epochs, suited.train.batch) == ("lenet5", 40, 64)
    asked = make_plan({"net": "mlp", "train": {"epochs": 3}}, images, labels).job
    assert (asked.net.name, asked.train.epochs, asked.train.batch) == ("mlp", 3, 64)


def test_settings_of_files_are_refused_for_built_in_data():
    with pytest.raises(
        InputError, match=r"^data\.label_column is for data of one's own, but digits is built in; leave"
    ):
        make_plan({"data": {"source": "digits", "label_column": "y"}})


def test_without_wishes_it_is_the_default_job():
    assert make_plan({}).job == Job()
    assert make_plan({}).job.methods == DEFAULT_METHODS


def test_own_data_are_read_once_and_marked_by_their_fingerprint(frame, tmp_path):
    path = tmp_path / "clouds.csv"
    frame.to_csv(path, index=False)
    plan = make_plan({"data": {"source": str(path), "drop": ["truth"]}})
    assert plan.build(0) is plan.build(1)
    assert plan.job.data == Data(str(path), drop=("truth",), fingerprint=plan.build(0).fingerprint)


def test_a_file_that_has_changed_since_its_config_was_written_is_refused(frame, tmp_path):
    path = tmp_path / "clouds.csv"
    frame.to_csv(path, index=False)
    config = yaml.safe_load(config_text(make_plan({"data": {"source": str(path)}})))
    make_plan(config)
    frame.assign(a=1 - frame["a"]).to_csv(path, index=False)
    with pytest.raises(InputError, match=r"clouds\.csv is not what it was when data\.fingerprint .* was noted"):
        make_plan(config)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [("digitz", "did you mean 'digits'"), (["a"], "data"), ({"sauce": "a"}, "did you mean 'source'")],
)
def test_data_that_are_not_there_are_refused(data, sentence):
    with pytest.raises(InputError, match=sentence):
        make_plan({"data": data})


def test_the_text_of_a_config_writes_every_setting_out_and_means_the_same_job():
    plan = make_plan({"methods": {"gce": {}, "co_teaching": {"ramp": 5}}, "net": "mlp"})
    again = build(Job, yaml.safe_load(config_text(plan)))
    expected = build_method("gce"), build_method("co_teaching", {"forget": 0.4, "ramp": 5})
    assert again.methods == tuple(Named(method.name, asdict(method)) for method in expected)
    assert again.net == Named("mlp", {"widths": "256,256"})
    assert replace(again, methods=plan.job.methods, net=plan.job.net) == plan.job


def test_what_is_to_be_searched_is_not_written_out():
    plan = make_plan({"methods": {"gce": {}, "co_teaching": {"forget": 0.1}}, "search": {"trials": 4}})
    again = build(Job, yaml.safe_load(config_text(plan)))
    gce, co_teaching = again.methods
    assert gce.settings == {"truncation": 0.0, "start": 1 / 3}  # q is open
    assert co_teaching.settings == asdict(build_method("co_teaching", {"forget": 0.1}))


def test_a_comparison_of_a_frame_leaves_table_report_config_and_model(frame, tmp_path):
    settings = {**QUICK, "data": {"true_label_column": "truth"}}
    result = compare_methods(frame, settings=settings, out=tmp_path / "out")
    assert [(row.label, row.runs) for row in result.summary.rows] == [("ce", 2), ("gce", 2)]
    assert result.report.read_text().startswith("<!doctype html>")
    assert (result.folder / "config.yaml").exists()
    prediction = result.model().predict(frame.drop(columns=["label", "truth"]))
    assert prediction.classes == ("no", "yes")
    assert len(prediction.labels) == 200


def test_the_model_is_one_of_the_method_that_noisy_validation_chooses(frame, tmp_path):
    result = compare_methods(frame, settings=QUICK, out=tmp_path / "out")
    model = result.model()
    assert model.config.method.name == result.summary.winner
    assert [member.config.seed for member in model.members] == [0, 1]
    assert [member.score for member in model.members] == result.summary.best.scores


def test_runs_that_were_added_later_join_the_model(frame, tmp_path):
    compare_methods(frame, settings={**QUICK, "methods": "gce"}, out=tmp_path)
    result = compare_methods(frame, settings={**QUICK, "methods": "gce", "seeds": 3}, out=tmp_path)
    assert sorted(member.config.seed for member in result.model().members) == [0, 1, 2]


def test_a_comparison_prints_as_its_table(frame, tmp_path):
    text = str(compare_methods(frame, settings=QUICK, out=tmp_path))
    assert text.startswith("data: noise rate unknown")
    assert "│ gce" in text


def test_a_model_of_an_earlier_choice_is_not_taken_for_the_one_that_is_chosen(frame, tmp_path):
    told = []

    class Told(Display):
        def warn(self, sentence):
            told.append(sentence)

    wishes = {**QUICK, "methods": "ce", "data": {"drop": ["truth"]}}
    first = compare_methods(frame, settings=wishes, out=tmp_path)
    for model in tmp_path.glob("ce-*/model.safetensors"):
        model.unlink()
    again = compare_methods(frame, settings=wishes, out=tmp_path, display=Told())
    old = tmp_path / "model.safetensors"
    assert told[-1] == f"{old} is of an earlier choice: no model of ce was kept, which noisy validation chooses"
    assert first.model().config.method.name == "ce"
    with pytest.raises(InputError, match=r"^no model of ce was kept in .*; train with another out to have it$"):
        again.model()


def test_table_report_and_model_are_of_the_whole_folder(frame, tmp_path):
    compare_methods(frame, settings={**QUICK, "methods": "gce"}, out=tmp_path)
    result = compare_methods(frame, settings={**QUICK, "methods": "ce"}, out=tmp_path)
    assert [row.label for row in result.summary.rows] == ["gce", "ce"]
    assert result.model().config.method.name == result.summary.winner
    assert f"would choose {result.summary.winner}" in result.report.read_text()


def test_settings_that_lost_a_search_are_shown_when_asked_for(frame, tmp_path):
    settings = {**QUICK, "methods": "gce", "seeds": 1}
    found = compare_methods(frame, settings={**settings, "search": {"trials": 3}}, out=tmp_path)
    kept = found.model().config.method.settings["q"]
    lost = next(run.config["method"]["settings"]["q"] for run in Store.read(tmp_path).runs().values())
    lost = 0.7 if lost == kept else lost
    asked = compare_methods(frame, settings={**settings, "methods": {"gce": {"q": lost}}}, out=tmp_path)
    assert {row.settings["q"] for row in asked.summary.rows} == {kept, lost}


@pytest.mark.parametrize(("seeds", "failed"), [((), ()), ((0,), ()), ((0, 1), ("gce",))])
def test_a_method_has_failed_where_each_of_its_runs_has(frame, tmp_path, monkeypatch, seeds, failed):
    runs = Store.runs

    def marked(store):
        lost = {("gce", seed) for seed in seeds}
        return {
            name: replace(run, failed=(0, 1)) if (run.config["method"]["name"], run.config["seed"]) in lost else run
            for name, run in runs(store).items()
        }

    monkeypatch.setattr(Store, "runs", marked)
    settings = QUICK | {"data": {"label_column": "label", "drop": ["truth"]}}
    assert compare_methods(frame, settings=settings, out=tmp_path, device="cpu").failed == failed


def test_arrays_with_labels_are_compared_too(frame, tmp_path):
    result = compare_methods(
        frame[["a", "b"]].to_numpy(), frame["label"].to_numpy(), settings=QUICK, out=tmp_path / "out"
    )
    assert len(result.summary.rows) == 2


def test_the_name_is_offered_by_the_package():
    import labelnoise

    assert labelnoise.compare_methods is compare_methods
    with pytest.raises(AttributeError, match="module 'labelnoise' has no attribute 'compare'"):
        _ = labelnoise.compare


def test_the_config_of_a_method_in_a_file_names_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(METHODS, "_things", dict(METHODS._things))
    path = tmp_path / "mine.py"
    path.write_text(
        "from dataclasses import dataclass\nfrom labelnoise.methods import hyper, register\n"
        "from labelnoise.methods.ce import CE\n\n\n@register('mine')\n@dataclass(frozen=True)\nclass Mine(CE):\n"
        "    weight: float = hyper(0.5, low=0.0, high=1.0)\n"
    )
    plan = make_plan({"methods": ["ce", str(path)]})
    assert plan.job.methods == (Named("ce"), Named("mine"))
    again = make_plan(yaml.safe_load(config_text(plan)))
    assert again.job.methods == (Named("ce"), Named("mine", {"weight": 0.5}))


def test_a_config_whose_data_were_given_from_python_says_so(frame, tmp_path):
    folder = compare_methods(frame, settings=QUICK, out=tmp_path / "out").folder
    config = yaml.safe_load((folder / "config.yaml").read_text())
    with pytest.raises(InputError, match=r"the data were given from Python; give them to compare_methods again"):
        make_plan(config)
    assert make_plan(config, frame).job.data.fingerprint == config["data"]["fingerprint"]
