import csv
from dataclasses import replace

import numpy as np
import pytest
import torch

from labelnoise.config import Data, Job, Named, Optimiser, Train
from labelnoise.data import Dataset
from labelnoise.engine import checkpoint
from labelnoise.engine.execution import Execution
from labelnoise.errors import InputError
from labelnoise.results import model as model_module
from labelnoise.results.model import Model, Prediction, join_models, write_csv
from labelnoise.results.select import NoisyValidation
from labelnoise.sweep.compare import run_job
from labelnoise.sweep.run import Display, prepare
from labelnoise.types import Context

JOB = Job(
    data=Data("clouds"),
    noise="none",
    seeds=2,
    train=Train(epochs=3, batch=32, optimiser=Optimiser(lr=0.05)),
    net=Named("mlp", {"widths": "8"}),
)
ENCODING = {"kind": "array", "shape": [3]}


def clouds(seed):
    y = torch.arange(120) % 3
    x = 2 * torch.eye(3)[y] + torch.randn(120, 3, generator=torch.Generator().manual_seed(0))
    y_given = torch.where(torch.arange(120) % 7 == 0, (y + 1) % 3, y)
    return Dataset("clouds", x, y_given, y, ("ant", "bee", "cat"), encoding=ENCODING)


def trained(tmp_path, *methods, executor=None):
    job = replace(JOB, methods=tuple(map(Named, methods)))
    settings = {"device": torch.device("cpu"), "execution": Execution(executor), "display": Display()}
    return run_job(job, clouds, out=tmp_path / "out", **settings)


@pytest.fixture
def raw_inputs(monkeypatch):
    """Rows as they are, whatever the encoding."""

    def read(source, encoding, settings):
        assert encoding == ENCODING
        return Inputs(source, tuple(map(str, range(len(source)))), ())

    from labelnoise.data.own import Inputs

    monkeypatch.setattr("labelnoise.results.model.read_inputs", read)


@pytest.mark.parametrize("executor", ["streams", "packed"])
@pytest.mark.parametrize(
    "method",
    ["ce", "causal_nl", "co_teaching", "distillation", "forward", "heteroscedastic", "logistic_normal", "t_revision"],
)
def test_each_member_of_a_loaded_model_predicts_what_its_selected_epoch_did(tmp_path, method, executor):
    outcome = trained(tmp_path, method, executor=executor)
    (journal,) = {run.pack.folder: run.pack for run in outcome.store.runs().values()}.values()
    model = Model.load(journal.model)
    assert [member.config.seed for member in model.members] == [0, 1]
    for run, member, lane in zip(journal.runs(), model.members, model._lanes, strict=True):
        task = prepare(member.config, clouds)
        x, y = (part[task.splits.test] for part in (task.dataset.x, task.dataset.y_true))
        log_probs = lane.log_probs(x)
        chosen = NoisyValidation().pick(run.records).measures
        assert (log_probs.argmax(1) == y).double().mean().item() == pytest.approx(chosen["test/accuracy_true"])
        assert -log_probs[torch.arange(len(y)), y].mean().item() == pytest.approx(chosen["test/nll_true"], rel=1e-4)
        assert member.score == chosen["validation/score"]


def test_a_model_holds_what_predictions_need_and_no_more(tmp_path):
    outcome = trained(tmp_path, "logistic_normal", "distillation")
    for path in outcome.store.folder.glob("*-*/model.safetensors"):
        heads = {"logistic_normal": "head.mu", "distillation": "head"}
        names = [
            f"{part}.{kind}"
            for part in ("body.1", heads[path.parent.name.split("-")[0]])
            for kind in ("bias", "weight")
        ]
        weights, _ = checkpoint.load(path, "")
        assert sorted(weights) == [f"weights|nets.net.{name}" for name in names]


def test_a_model_that_lacks_a_weight_is_refused(tmp_path):
    outcome = trained(tmp_path, "ce")
    (path,) = outcome.store.folder.glob("ce-*/model.safetensors")
    weights, facts = checkpoint.load(path, "")
    del weights["weights|nets.net.head.bias"]
    checkpoint.save(tmp_path / "model", weights, facts)
    with pytest.raises(InputError, match=r"the model lacks weights\|nets.net.head.bias; it is damaged"):
        Model.load(tmp_path / "model")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda weights, facts: weights.update({"weights|nets.net.head.bias": torch.zeros(2, 7)}),
        lambda weights, facts: weights.update({"weights|nets.net.head.bias": torch.full((2, 3), torch.nan)}),
        lambda weights, facts: facts["members"].pop(),
        lambda weights, facts: facts.update(shape=[5]),
        lambda weights, facts: facts.update(classes=["ant", "bee"]),
    ],
)
def test_a_model_that_does_not_fit_together_is_refused(tmp_path, spoil):
    outcome = trained(tmp_path, "ce")
    (path,) = outcome.store.folder.glob("ce-*/model.safetensors")
    weights, facts = checkpoint.load(path, "")
    spoil(weights, facts)
    checkpoint.save(tmp_path / "model", weights, facts)
    with pytest.raises(InputError, match="damaged"):
        Model.load(tmp_path / "model")


def test_a_model_predicts_the_mean_of_its_members(tmp_path, raw_inputs):
    outcome = trained(tmp_path, "ce")
    (path,) = outcome.store.folder.glob("ce-*/model.safetensors")
    model, x = Model.load(path), torch.linspace(-2, 2, 12).reshape(4, 3)
    one, two = (lane.log_probs(x).exp().numpy() for lane in model._lanes)
    np.testing.assert_allclose(model.predict(x).probs, (one + two) / 2, rtol=1e-6)
    assert np.abs(one - two).max() > 1e-3


def test_a_model_of_causal_nl_tells_the_transition_of_new_rows_as_the_mean_of_its_members(tmp_path, raw_inputs):
    outcome = trained(tmp_path, "causal_nl")
    (path,) = outcome.store.folder.glob("causal_nl-*/model.safetensors")
    model, x = Model.load(path), torch.linspace(-2, 2, 12).reshape(4, 3)
    found = model.transition(x)
    assert found.shape == (4, 3, 3)
    np.testing.assert_allclose(found.sum(-1), 1, rtol=1e-6)
    one, two = (
        lane.current[0].instance_transition(lane.module.networks, x, Context()).detach() for lane in model._lanes
    )
    np.testing.assert_allclose(found, (one + two) / 2, rtol=1e-5)
    assert (one - two).abs().max() > 1e-3
    kept, _ = checkpoint.load(path.with_name("details.safetensors"), "")
    assert kept["shown_T"].shape == (2, 16, 3, 3)


def test_a_transition_of_new_rows_asks_for_no_ids(tmp_path, raw_inputs, monkeypatch):
    outcome, read = trained(tmp_path, "causal_nl"), []
    (path,) = outcome.store.folder.glob("causal_nl-*/model.safetensors")
    model = Model.load(path)
    model.config = replace(model.config, data=replace(model.config.data, id_column="who"))
    plain = model_module.read_inputs
    monkeypatch.setattr(model_module, "read_inputs", lambda *given: read.append(given[2].id_column) or plain(*given))
    model.transition(torch.eye(3))
    model.predict(torch.eye(3))
    assert read == ["", "who"]


def test_a_model_without_a_transition_by_input_says_so(tmp_path, raw_inputs):
    outcome = trained(tmp_path, "ce")
    (path,) = outcome.store.folder.glob("ce-*/model.safetensors")
    with pytest.raises(InputError, match="method 'ce' does not learn how noise depends on x; choose one that does"):
        Model.load(path).transition(torch.eye(3))


def test_models_of_one_method_are_joined_and_others_left_out(tmp_path, raw_inputs):
    outcome = trained(tmp_path, "ce", "gce")
    paths = sorted(outcome.store.folder.glob("*-*/model.safetensors"))
    config = Model.load(paths[1]).config
    theirs = {"name": config.method.name, "settings": dict(config.method.settings)}
    x = torch.eye(3)
    assert join_models(paths, theirs, tmp_path / "joined")
    assert (Model.load(tmp_path / "joined").predict(x).probs == Model.load(paths[1]).predict(x).probs).all()
    assert not join_models(paths, {"name": "mixup", "settings": {}}, tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


def test_a_prediction_names_the_most_probable_class(tmp_path, raw_inputs):
    outcome = trained(tmp_path, "ce")
    (path,) = outcome.store.folder.glob("ce-*/model.safetensors")
    prediction = Model.load(path).predict(6 * torch.eye(3))
    assert prediction.labels == ["ant", "bee", "cat"]
    assert prediction.probs.sum(1) == pytest.approx(np.ones(3), abs=1e-6)


def test_images_are_scaled_as_in_training(tmp_path):
    images = torch.randint(0, 256, (60, 1, 4, 4), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    data = Dataset(
        "images", images, torch.arange(60) % 2, None, ("a", "b"), encoding={"kind": "array", "shape": [1, 4, 4]}
    )
    job = replace(JOB, methods=(Named("ce"),), seeds=1)
    run_job(job, lambda _: data, out=tmp_path, device=torch.device("cpu"), display=Display())
    (path,) = tmp_path.glob("ce-*/model.safetensors")
    model = Model.load(path)
    whole = model._lanes[0].log_probs(images.float() / 255).exp()
    assert np.abs(model.predict(images.numpy()).probs - whole.numpy()).max() < 1e-6


def test_a_model_that_is_not_there_is_named(tmp_path):
    for path in (tmp_path / "no.safetensors", tmp_path):
        with pytest.raises(InputError, match=r"there is no model .*safetensors; `labelnoise train` writes one"):
            Model.load(path)


def test_a_file_that_is_no_model_is_refused(tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"nonsense")
    with pytest.raises(
        InputError, match=r"model\.safetensors cannot be read .*; it is damaged, or no model of labelnoise"
    ):
        Model.load(path)
    for facts in ({}, {"format": 1}, {"format": 1, "members": []}):
        checkpoint.save(path, {"x": torch.zeros(1)}, facts)
        with pytest.raises(InputError, match=r"its header lacks what a model needs\); it is damaged, or no model"):
            Model.load(path)
    checkpoint.save(path, {"x": torch.zeros(1)}, {"format": 99})
    with pytest.raises(InputError, match="has format 99, but this version reads format 1"):
        Model.load(path)


@pytest.mark.parametrize("content", [None, b"", b"nonsense"])
def test_a_packs_model_that_is_lost_or_damaged_is_mended_by_deleting_the_pack(tmp_path, content):
    path = tmp_path / "ce-12" / "model.safetensors"
    path.parent.mkdir()
    if content is not None:
        path.write_bytes(content)
    sentence = r"ce-12/model\.safetensors cannot be read .*; delete the folder .*/ce-12 to run these runs again$"
    with pytest.raises(InputError, match=sentence):
        join_models([path], {"name": "ce", "settings": {}}, tmp_path / "joined")


def test_a_csv_for_a_folder_that_is_not_there_is_refused(tmp_path):
    probs = np.array([[0.25, 0.75]], dtype=np.float32)
    with pytest.raises(InputError, match=r"there is no folder .*nodir; make it first"):
        write_csv(Prediction(("a",), ("ant", "bee"), probs, ()), tmp_path / "nodir" / "p.csv")


def test_a_csv_has_a_row_for_each_input(tmp_path):
    probs = np.array([[0.25, 0.75], [0.9, 0.1]], dtype=np.float32)
    path = tmp_path / "out.csv"
    write_csv(Prediction(("a, b", "7"), ("ant", 'bee "x"'), probs, ()), path)
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["id", "predicted", "p(ant)", 'p(bee "x")'],
        ["a, b", 'bee "x"', "0.25", "0.75"],
        ["7", "ant", "0.9", "0.1"],
    ]
    assert [each.name for each in tmp_path.iterdir()] == ["out.csv"]
