import pytest

from labelnoise.results.unlike import unlike

FACTS = {
    "device": "cpu",
    "executor": "packed",
    "execution": {"executor": None, "precision": "auto", "eager": False, "deterministic": False},
    "versions": {"labelnoise": "0.1", "torch": "2.11"},
}
CODE, OTHER = "c0ffee0123456789", "decade0123456789-dirty"


def run(commit=CODE, **facts):
    return FACTS | facts | {"commit": commit}


@pytest.mark.parametrize("runs", [[], [run()], [run(), run(executor="streams", finished="2026-05-04")]])
def test_runs_that_are_made_alike_are_not_told_of(runs):
    assert unlike(runs) == ""


@pytest.mark.parametrize(
    ("others", "told"),
    [
        ([run(OTHER), run(OTHER)], "code c0ffee0123 (1 run), decade0123-dirty (2 runs)"),
        ([run("")], "code 0.1 (1 run), c0ffee0123 (1 run)"),
        ([run(device="NVIDIA H200")], "device NVIDIA H200 (1 run), cpu (1 run)"),
        (
            [run(execution=FACTS["execution"] | {"precision": "float32", "deterministic": True})],
            "precision auto (1 run), float32, deterministic (1 run)",
        ),
        (
            [run(OTHER, versions={"labelnoise": "0.1", "torch": "2.12"})],
            "code c0ffee0123 (1 run), decade0123-dirty (1 run); torch 2.11 (1 run), 2.12 (1 run)",
        ),
    ],
)
def test_what_may_change_numbers_is_told_with_how_many_runs_have_which(others, told):
    assert unlike([run(), *others]) == told
