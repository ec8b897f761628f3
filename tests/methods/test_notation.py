import pytest

from labelnoise.errors import InputError
from labelnoise.methods import METHODS, build
from labelnoise.methods.ce import CE
from labelnoise.methods.notation import from_text, to_text, told, untold


@pytest.mark.parametrize(
    "text",
    [
        "ce",
        "gce(q=0.5)",
        "f_divergence(separate=True, divergence=kl)",
        "backward(fix=none)",
        "forward(quantile=None)",
        "distillation(teacher=heteroscedastic(factors=2, samples=20), temperature=3.0)",
    ],
)
def test_a_method_and_its_text_mean_the_same(text) -> None:
    assert to_text(from_text(text)) == text


@pytest.mark.parametrize(("name", "preset"), [(name, each) for name in METHODS for each in METHODS.get(name).presets])
def test_every_preset_can_be_told_and_read_again(name, preset) -> None:
    method = from_text(f"{name}(preset={preset})")
    assert method == build(name, {"preset": preset})
    assert from_text(to_text(method)) == method


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ce", "ce"),
        ("mentor_net", "mentor_net(forget=0.4)"),
        ("mentor_net(preset=official)", "mentor_net(forget=0.3, ramp=0, mentor=quantile)"),
        ("co_teaching(forget=0.1)", "co_teaching(forget=0.1)"),
        ("distillation(teacher=co_teaching)", "distillation(teacher=co_teaching(forget=0.4))"),
        ("distillation(teacher=co_teaching(forget=0.2))", "distillation(teacher=co_teaching)"),
    ],
)
def test_the_noise_rate_is_told_where_a_text_does_not_set_it(text, expected) -> None:
    assert told(text, 0.4) == expected


@pytest.mark.parametrize(
    "text", ["ce", "gce(q=0.5)", "co_teaching(ramp=3)", "distillation(teacher=mentor_net(ramp=2))"]
)
def test_what_the_rate_has_decided_can_be_taken_back(text) -> None:
    assert untold(told(text, 0.4)) == untold(text) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gce(q)", "'q' in method 'gce\\(q\\)' is no setting of its own"),
        ("gce(q=0.5,q=0.7)", "'q=0.7' in method"),
        ("gce(q=0.5", "has a bracket without its other half"),
        ("gce q=0.5)", "has a bracket without its other half"),
        ("gce(q=nan)", "'nan' is no number that a setting can have"),
        ("gec(q=0.5)", "unknown method 'gec'; did you mean 'gce'"),
    ],
)
def test_a_text_that_is_no_method_is_refused_with_a_sentence(text, message) -> None:
    with pytest.raises(InputError, match=message):
        from_text(text)


def test_a_method_that_was_registered_anew_is_the_new_one() -> None:
    class Before(CE):
        name = "changing"

    class After(CE):
        name = "changing"

    try:
        METHODS.register("changing")(Before)
        assert type(from_text("changing")) is Before
        METHODS.forget("changing")
        METHODS.register("changing")(After)
        assert type(from_text("changing")) is After
    finally:
        METHODS.forget("changing")
