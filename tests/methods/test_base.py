from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor, nn

from labelnoise.errors import InputError
from labelnoise.methods import METHODS, Method, Stage, build, hyper
from labelnoise.methods.base import Range, described_settings, expanded, hyper_fields, structure
from labelnoise.rng import Rng
from labelnoise.types import Batch, Context, DataSpec


@dataclass(frozen=True)
class Sample(Method):
    strength: float = hyper(0.5, low=0.1, high=2.0, log=True)
    parts: int = 3


def test_hyper_fields_carry_default_and_range() -> None:
    assert Sample().strength == 0.5
    assert hyper_fields(Sample) == {"strength": Range(0.1, 2.0, True)}


def test_structure_is_equal_for_methods_that_differ_in_packable_values() -> None:
    assert structure(Sample(strength=1.0)) == structure(Sample(strength=2.0))


def test_structure_differs_with_a_structural_field() -> None:
    assert structure(Sample(parts=2)) != structure(Sample(parts=3))


def test_packable_value_may_be_a_tensor() -> None:
    value = torch.tensor(0.7, dtype=torch.float64)
    assert replace(Sample(), strength=value).strength is value


def test_method_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Sample().parts = 4


def test_method_trains_in_one_stage_unless_it_says_otherwise() -> None:
    method = Sample()
    assert method.stages() == (Stage("train", 1.0, method),)


def test_method_declares_no_needs_unless_it_says_otherwise(spec: DataSpec) -> None:
    method = Sample()
    assert (method.peers, method.updates, method.coupled, method.skips) == (0, ("",), False, False)
    assert (method.groups(), method.draws(spec, 4, Rng(0)), method.memory(spec)) == ({}, {}, {})
    assert method.informed(0.4) is method


def test_default_network_has_one_output_per_class(spec: DataSpec) -> None:
    assert Sample().networks(spec)["net"](torch.zeros(2, 4).double()).shape == (2, 3)


def test_networks_of_other_names_ask_for_log_probs() -> None:
    nets = {"encoder": nn.Identity(), "head": nn.Identity()}
    with pytest.raises(InputError, match=r"has no network 'net' but 'encoder', 'head'; define log_probs\(nets, x, ctx"):
        Sample().log_probs(nets, torch.zeros(1, 3), Context())


def test_default_log_probs_are_normalised_logits_for_true_and_given_labels() -> None:
    x = torch.tensor([[1.0, 2.0, 0.5]])
    nets = {"net": nn.Identity()}
    assert torch.equal(Sample().log_probs(nets, x, Context()), x.log_softmax(-1))
    assert torch.equal(Sample().noisy_log_probs(nets, x, Context()), x.log_softmax(-1))


def test_objective_has_no_default() -> None:
    none: Tensor = torch.zeros(0)
    with pytest.raises(NotImplementedError):
        Sample().objective({}, Batch(none, none, none), Context())


def test_every_method_is_registered_under_its_file_name_and_names_its_paper() -> None:
    for name in METHODS:
        method = METHODS.get(name)
        assert method.__module__ == f"labelnoise.methods.{name}"
        assert method.paper


def test_build_passes_the_settings() -> None:
    assert build("gce", {"q": 0.3}) == replace(build("gce"), q=0.3)


def test_build_names_the_nearest_method() -> None:
    with pytest.raises(InputError, match="unknown method 'gec'; did you mean 'gce'"):
        build("gec")


def test_build_names_the_nearest_setting() -> None:
    with pytest.raises(InputError, match="method 'co_teaching' has no setting 'forgot'; did you mean 'forget'"):
        build("co_teaching", {"forgot": 0.1})


def test_build_says_where_there_is_nothing_to_set() -> None:
    with pytest.raises(InputError, match="method 'ce' has no setting 'q'; it has none"):
        build("ce", {"q": 0.1})


@pytest.mark.parametrize(
    ("method", "settings", "sentence"),
    [
        ("gce", {"q": "abc"}, "setting 'q' of method 'gce' must be a number, not 'abc'"),
        ("gce", {"q": True}, "setting 'q' of method 'gce' must be a number, not True"),
        ("co_teaching", {"ramp": 10.5}, "setting 'ramp' of method 'co_teaching' must be a whole number, not 10.5"),
        ("forward", {"noisy_validation": 1}, "must be true or false, not 1"),
    ],
)
def test_build_refuses_settings_of_another_type(method, settings, sentence) -> None:
    with pytest.raises(InputError, match=sentence):
        build(method, settings)


def test_build_takes_a_whole_number_however_it_is_written() -> None:
    assert build("co_teaching", {"ramp": 5.0, "forget": 0}) == build("co_teaching", {"ramp": 5, "forget": 0.0})
    assert isinstance(build("co_teaching", {"ramp": 5.0}).ramp, int)


def test_settings_are_described_with_defaults_and_ranges() -> None:
    described = described_settings(METHODS.get("co_teaching"))
    assert described.startswith("forget=0.2 (searched from 0 to 0.9), ramp=10, ")


def test_a_preset_stands_for_its_settings_and_what_is_beside_it_wins() -> None:
    assert expanded("peer_loss", {"preset": "official", "ramp": 0.1}) == {"separate": True, "warm_up": 0.4, "ramp": 0.1}
    assert expanded("ce", {}) == {}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("peer_loss", "method 'peer_loss' has no preset 'papers'; did you mean 'paper'?"),
        ("ce", "method 'ce' has no preset 'papers'; it has none"),
    ],
)
def test_an_unknown_preset_is_refused(name: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        build(name, {"preset": "papers"})
    assert str(error.value) == message


def test_presets_name_settings_that_exist() -> None:
    for name in METHODS:
        for preset in METHODS.get(name).presets:
            assert build(name, {"preset": preset}).name == name


def test_described_settings_end_with_the_presets() -> None:
    assert described_settings(METHODS.get("peer_loss")).endswith("preset=paper|official")
