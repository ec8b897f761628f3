import json
from dataclasses import fields, is_dataclass, replace

import pytest

from labelnoise.config import (
    Augment,
    Data,
    Job,
    Named,
    Optimiser,
    RunConfig,
    Schedule,
    Search,
    Split,
    Train,
    WarmUp,
    digest,
    essential,
)
from labelnoise.errors import InputError

OTHER = {
    "data.source": "moons",
    "data.label_column": "y",
    "data.true_label_column": "truth",
    "data.id_column": "row",
    "data.image_column": "file",
    "data.drop": ("a",),
    "data.categorical": ("b",),
    "data.labels": "given.npy",
    "data.true_labels": "true.npy",
    "data.image_size": 32,
    "data.fingerprint": "fedcba9876543210",
    "noise": "pair:0.3",
    "transition": "0123456789abcdef",
    "seed": 1,
    "method.name": "gce",
    "code": "00ff00ff00ff00ff",
    "method.settings": {"q": 0.5},
    "net.name": "lenet5",
    "net.settings": {"widths": "8"},
    "train.epochs": 61,
    "train.batch": 127,
    "train.balanced": 10,
    "train.accumulate": 2,
    "train.carry": "last",
    "train.sync_batchnorm": True,
    "train.optimiser.name": "sgd",
    "train.optimiser.lr": 1.0000001e-3,
    "train.optimiser.weight_decay": 1e-12,
    "train.optimiser.momentum": 0.9,
    "train.optimiser.nesterov": True,
    "train.optimiser.betas": (0.9, 0.9999),
    "train.optimiser.trust": 0.01,
    "train.optimiser.renew": True,
    "train.schedule.name": "cosine",
    "train.schedule.milestones": (1,),
    "train.schedule.gamma": 0.2,
    "train.schedule.start": 1,
    "train.schedule.beta1": 0.1,
    "train.warm_up.lr": 0.1,
    "train.warm_up.schedule.name": "cosine",
    "train.warm_up.schedule.milestones": (1,),
    "train.warm_up.schedule.gamma": 0.2,
    "train.warm_up.schedule.start": 1,
    "train.warm_up.schedule.beta1": 0.1,
    "train.augment.crop": 1,
    "train.augment.flip": True,
    "train.augment.upside_down": True,
    "train.augment.rotation": 1.0,
    "train.augment.mean": (0.5,),
    "train.augment.std": (0.5,),
    "split.validation": 0.11,
    "split.test": 0.21,
    "split.rows": 100,
}


def leaves(config, prefix=""):
    for each in fields(config):
        value = getattr(config, each.name)
        yield from leaves(value, f"{prefix}{each.name}.") if is_dataclass(value) else [f"{prefix}{each.name}"]


def changed(config, path, value):
    name, _, rest = path.partition(".")
    return replace(config, **{name: changed(getattr(config, name), rest, value) if rest else value})


def test_every_single_setting_has_another_value_here():
    assert set(leaves(RunConfig())) == set(OTHER)


def test_the_identity_changes_with_every_single_setting():
    identities = {RunConfig().identity, *(changed(RunConfig(), *other).identity for other in OTHER.items())}
    assert len(identities) == len(OTHER) + 1


def test_equal_configs_have_equal_identities():
    settings = {"q": 0.5, "r": 1}
    one = RunConfig(method=Named("gce", settings))
    other = RunConfig(method=Named("gce", dict(reversed(settings.items()))))
    assert one.identity == other.identity


def test_an_identity_is_sixteen_hexadecimal_digits():
    assert len(RunConfig().identity) == 16
    assert set(RunConfig().identity) <= set("0123456789abcdef")


def test_the_digest_survives_json():
    settings = replace(RunConfig(), train=Train(schedule=Schedule("step", (3, 5)))).to_dict()
    assert digest(json.loads(json.dumps(settings, indent=2))) == digest(settings)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Train(epochs=0), "epochs must be at least 1, not 0"),
        (lambda: Train(batch=0), "batch must be at least 1, not 0"),
        (lambda: Train(balanced=-1), "balanced must be a number of rows, or 0, not -1"),
        (lambda: Optimiser(lr=0.0), "lr must be a number above 0, not 0.0"),
        (lambda: Optimiser(lr=-1.0), "lr must be a number above 0, not -1.0"),
        (lambda: Optimiser(lr=float("nan")), "lr must be a number above 0, not nan"),
        (lambda: Optimiser(lr=float("inf")), "lr must be a number above 0, not inf"),
        (lambda: Optimiser(weight_decay=-0.1), "weight_decay must be a number and not negative, but is -0.1"),
        (lambda: Optimiser(weight_decay=float("nan")), "weight_decay must be a number and not negative, but is nan"),
        (lambda: Optimiser("sdg"), "unknown optimiser 'sdg'; did you mean 'sgd'?"),
        (lambda: Schedule("cosin"), "unknown schedule 'cosin'; did you mean 'cosine'?"),
        (lambda: Split(validation=0.0), "the validation share must lie between 0 and 1, not 0.0"),
        (lambda: Split(test=1.0), "the test share must lie between 0 and 1, not 1.0"),
        (lambda: Split(0.5, 0.5), "validation and test together leave nothing to train on"),
        (lambda: Split(rows=-1), "rows must be a number of rows, or 0 for all, not -1"),
        (lambda: Data(image_size=-1), "image_size must be a number of pixels, or 0, not -1"),
        (lambda: WarmUp(lr=-1.0), "lr of a warm-up must be a number and not negative, but is -1.0"),
        (lambda: Train(carry="best"), "unknown carry 'best'; known are last, method"),
        (lambda: Search(trials=-1), "trials must not be negative, but is -1"),
        (lambda: Search(kind="gird"), "unknown kind of search 'gird'; did you mean 'grid'?"),
        (lambda: Job(seeds=0), "seeds must be at least 1, not 0"),
        (lambda: Job(methods=()), "methods is empty; name at least one, such as ce,gce"),
    ],
)
def test_a_setting_out_of_range_is_refused_in_a_sentence(make, sentence):
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value) == sentence


@pytest.mark.parametrize("config", [RunConfig(), Job()])
def test_the_defaults_are_those_of_the_main_job(config):
    assert (config.data, config.noise, config.net) == (Data(source="digits"), "symmetric:0.4", Named("mlp"))
    assert (config.train.epochs, config.train.batch, config.train.augment) == (40, 64, Augment())
    assert (config.split.validation, config.split.test) == (0.1, 0.2)


def test_a_comparison_is_of_six_methods_with_three_seeds_and_no_search():
    names = ["ce", "gce", "forward", "mixup", "co_teaching", "heteroscedastic"]
    assert [each.name for each in Job().methods] == names
    assert (Job().seeds, Job().search.trials) == (3, 0)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Optimiser(momentum=1.0), "momentum must be at least 0 and below 1, not 1.0"),
        (lambda: Optimiser(betas=(0.9, 1.0)), "both betas must be at least 0 and below 1"),
        (lambda: Schedule(gamma=-1.0), "gamma must be a number and not negative, but is -1.0"),
        (lambda: Schedule(milestones=(3, -1)), "none may be negative"),
        (lambda: Schedule(beta1=1.0), "beta1 must be at least 0 and below 1, not 1.0"),
    ],
)
def test_numbers_that_cannot_train_are_refused(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()


@pytest.mark.parametrize("data", [Data(), Data("a.csv", fingerprint="abc")])
def test_runs_from_before_a_setting_have_the_identity_of_those_where_it_is_off(data):
    before = RunConfig(data=data).to_dict()
    del before["train"]["optimiser"]["renew"]
    del before["train"]["augment"]["upside_down"]
    assert digest(essential(before)) == RunConfig(data=data).identity


def test_data_with_a_fingerprint_are_known_by_it_alone():
    one, other = (RunConfig(data=Data(path, fingerprint="abc")) for path in ("a.csv", "b.csv"))
    assert one.identity == other.identity
    assert RunConfig(data=Data("a.csv")).identity != RunConfig(data=Data("b.csv")).identity
