from dataclasses import fields, replace
from itertools import product

import pytest

from labelnoise.config import Data, Named, Optimiser, RunConfig, Split, Train
from labelnoise.errors import InputError
from labelnoise.methods import METHODS, build
from labelnoise.sweep.plan import comparison, cut, halves, most_that_fit, plan_packs, set_by_rate, told

BASE = RunConfig(method=Named("co_teaching"))
DEFAULTS = {each.name: each.default for each in fields(METHODS.get("co_teaching"))}


def packed(*configs):
    """Which configs lie together, by their positions."""
    place = {id(config): i for i, config in enumerate(configs)}
    return [[place[id(config)] for config in pack.configs] for pack in plan_packs(configs)]


@pytest.mark.parametrize(
    "other",
    [
        replace(BASE, seed=1),
        replace(BASE, noise="pair:0.2", transition="abc"),
        replace(BASE, method=Named("co_teaching", {"forget": 0.35})),
    ],
    ids=["seed", "noise", "hyper-parameter"],
)
def test_runs_that_differ_in_numbers_alone_share_a_pack(other):
    assert packed(BASE, other) == [[0, 1]]


@pytest.mark.parametrize(
    "other",
    [
        replace(BASE, method=Named("decoupling")),
        replace(BASE, method=Named("co_teaching", {"ramp": 5})),
        replace(BASE, net=Named("mlp_2000")),
        replace(BASE, net=Named("mlp", {"widths": "8"})),
        replace(BASE, data=Data("moons")),
        replace(BASE, split=Split(0.2, 0.2)),
        replace(BASE, train=Train(batch=96)),
        replace(BASE, train=Train(optimiser=Optimiser(lr=0.1))),
    ],
    ids=["method", "structural field", "net", "net setting", "data", "split", "batch", "learning rate"],
)
def test_runs_of_other_structure_have_packs_of_their_own(other):
    assert packed(BASE, other) == [[0], [1]]


def test_packs_come_in_the_order_of_their_first_runs():
    named = [replace(BASE, method=Named(name), seed=seed) for seed in (0, 1) for name in ("mixup", "ce", "gce")]
    assert packed(*named) == [[0, 3], [1, 4], [2, 5]]


def test_a_pack_holds_the_methods_of_its_runs():
    (pack,) = plan_packs([replace(BASE, method=Named("gce", {"q": q})) for q in (0.3, 0.9)])
    assert pack.methods == (build("gce", {"q": 0.3}), build("gce", {"q": 0.9}))


def test_the_name_of_a_pack_changes_with_every_setting_of_every_run():
    (one,) = plan_packs([BASE, replace(BASE, seed=1)])
    (other,) = plan_packs([BASE, replace(BASE, seed=2)])
    assert one.name != other.name
    assert one.name.startswith("co_teaching-")


def seeded(count):
    return [replace(BASE, seed=seed) for seed in range(count)]


def seeds(packs):
    return [[config.seed for config in pack.configs] for pack in packs]


def test_a_pack_is_cut_in_the_order_of_its_runs():
    (pack,) = plan_packs(seeded(5))
    assert seeds(cut(pack, 2)) == [[0, 1], [2, 3], [4]]
    assert [piece.name for piece in cut(pack, 5)] == [pack.name]
    assert all(len(piece.methods) == len(piece.configs) for piece in cut(pack, 2))


@pytest.mark.parametrize(("runs", "sizes"), [(2, [1, 1]), (5, [3, 2]), (8, [4, 4])])
def test_halves_hold_all_runs_in_their_order_the_first_one_more(runs, sizes):
    (pack,) = plan_packs(seeded(runs))
    assert [len(half.configs) for half in halves(pack)] == sizes
    assert [config for half in halves(pack) for config in half.configs] == list(pack.configs)


def test_runs_that_do_not_fit_together_make_packs_of_equal_size():
    assert seeds(plan_packs(seeded(7), most=lambda pack: 3)) == [[0, 1, 2], [3, 4, 5], [6]]


def test_each_structure_is_cut_by_its_own_measure():
    configs = [replace(BASE, method=Named(name), seed=seed) for name in ("ce", "co_teaching") for seed in range(4)]
    packs = plan_packs(configs, most=lambda pack: 4 if pack.configs[0].method.name == "ce" else 2)
    assert [(pack.configs[0].method.name, len(pack.configs)) for pack in packs] == [
        ("ce", 4),
        ("co_teaching", 2),
        ("co_teaching", 2),
    ]


def test_where_all_fits_packs_have_the_names_they_always_had():
    (whole,), (fits,) = plan_packs(seeded(4)), plan_packs(seeded(4), most=lambda pack: 4)
    assert fits.name == whole.name


def test_whichever_packs_are_finished_the_others_are_planned_the_same():
    configs = seeded(7)
    planned = plan_packs(configs, most=lambda pack: 3)
    for finished in product((False, True), repeat=3):
        done = {c.identity for pack, over in zip(planned, finished, strict=True) if over for c in pack.configs}
        left = [pack.name for pack, over in zip(planned, finished, strict=True) if not over]
        assert [pack.name for pack in plan_packs(configs, done, lambda pack: 3)] == left


def test_when_half_of_a_pack_is_finished_its_other_half_and_the_rest_are_planned_the_same():
    configs = seeded(10)
    first, *rest = plan_packs(configs, most=lambda pack: 4)
    done, other = cut(first, 2)
    again = plan_packs(configs, {config.identity for config in done.configs}, lambda pack: 4)
    assert [pack.name for pack in again] == [pack.name for pack in (other, *rest)]


def runs(*numbers):
    return frozenset(BASE_RUNS[number].identity for number in numbers)


BASE_RUNS = seeded(8)


@pytest.mark.parametrize(
    ("halved", "done", "most", "planned"),
    [
        ([runs(*range(8))], runs(0, 1), 8, [[*range(8)]]),
        ([runs(*range(8))], runs(*range(8)), 8, []),
        ([runs(0, 1, 2, 3), runs(*range(8)), runs(2, 3)], runs(0, 1), 8, [[*range(8)]]),  # halves of halves
        ([runs(4, 5, 6, 7)], runs(4, 5), 8, [[0, 1, 2, 3], [4, 5, 6, 7]]),  # of more runs that were asked for since
        ([runs(1, 2, 3)], runs(0, 1), 4, [[1, 2, 3], [4, 5, 6, 7]]),
        ([runs(0, 1), runs(2, 3)], runs(0, 2), 4, [[0, 1], [2, 3], [4, 5, 6, 7]]),
        ([runs(2, 3, 4, 5)], runs(2), 4, [[0, 1, 3], [4, 5, 6, 7]]),  # not together any more
        ([runs(0, 1, 2), runs(2, 3)], runs(0, 3), 8, [[0, 1, 2], [4, 5, 6, 7]]),  # of two commands
    ],
)
def test_runs_that_were_halved_together_stay_so_until_all_are_finished(halved, done, most, planned):
    assert seeds(plan_packs(BASE_RUNS, done, lambda pack: most, halved)) == planned


def test_nothing_is_measured_where_all_is_done():
    configs = seeded(3)
    assert plan_packs(configs, {config.identity for config in configs}, None) == []


@pytest.mark.parametrize(
    ("each", "room", "limit", "most"),
    [(10, 39, 99, 3), (10, 40, 99, 4), (10, 400, 16, 16), (10, 9, 99, 1), (10, -5, 9, 1)],
)
def test_as_many_fit_as_there_is_room_for_and_one_is_always_tried(each, room, limit, most):
    assert most_that_fit(each, room, limit) == most


def test_an_unknown_setting_of_a_method_is_refused():
    with pytest.raises(InputError, match="method 'gce' has no setting 'p'"):
        plan_packs([replace(BASE, method=Named("gce", {"p": 0.3}))])


def test_a_method_whose_paper_assumes_the_noise_rate_is_told_it():
    assert told(Named("co_teaching"), 0.4) == Named("co_teaching", DEFAULTS | {"forget": 0.4})


def test_what_was_set_by_hand_stays():
    assert told(Named("co_teaching", {"forget": 0.1}), 0.4).settings == DEFAULTS | {"forget": 0.1}


@pytest.mark.parametrize(
    ("teacher", "expected"),
    [
        ("co_teaching", "co_teaching(forget=0.4)"),
        ("co_teaching(ramp=3)", "co_teaching(forget=0.4, ramp=3)"),
        ("co_teaching(forget=0.1)", "co_teaching(forget=0.1)"),
        ("co_teaching(forget=0.2)", "co_teaching"),  # by hand, though it is the default
        ("distillation(teacher=co_teaching)", "distillation(teacher=co_teaching(forget=0.4))"),
        ("ce", "ce"),
    ],
)
def test_a_method_inside_another_is_told_too_unless_its_own_settings_say_otherwise(teacher, expected):
    assert told(Named("distillation", {"teacher": teacher}), 0.4).settings["teacher"] == expected


def test_other_settings_stay_beside_what_is_told():
    assert told(Named("co_teaching", {"ramp": 3}), 0.4).settings == DEFAULTS | {"forget": 0.4, "ramp": 3}


@pytest.mark.parametrize(
    ("name", "rate", "settings"), [("label_smoothing", 0.4, {"alpha": 0.1}), ("co_teaching", None, DEFAULTS)]
)
def test_defaults_are_written_out_where_nothing_is_told(name, rate, settings):
    assert told(Named(name), rate) == Named(name, settings)


def test_a_default_and_the_same_value_set_by_hand_are_one_run():
    by_hand = Named("gce", {"q": 0.7})
    assert told(Named("gce"), 0.4) == told(by_hand, 0.4)


def test_a_comparison_is_every_method_on_every_seed_otherwise_alike():
    configs = comparison(BASE, [Named("ce"), Named("co_teaching")], 2, 0.3)
    assert [(config.method.name, config.seed) for config in configs] == [
        ("ce", 0),
        ("ce", 1),
        ("co_teaching", 0),
        ("co_teaching", 1),
    ]
    assert all(replace(config, method=BASE.method, seed=0) == BASE for config in configs)
    assert configs[2].method.settings == DEFAULTS | {"forget": 0.3}


def test_whole_and_real_numbers_of_equal_value_are_one_setting():
    (one,), (other,) = (comparison(BASE, [Named("gce", {"q": q})], 1, None) for q in (1, 1.0))
    assert one.identity == other.identity


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        (Named("co_teaching"), ["forget"]),
        (Named("co_teaching", {"forget": 0.3}), []),
        (Named("gce"), []),
        (Named("distillation", {"teacher": "co_teaching(ramp=3)"}), ["teacher"]),
        (Named("distillation", {"teacher": "co_teaching(forget=0.3)"}), []),
        (Named("distillation", {"teacher": "co_teaching(forget=0.20,ramp=3)"}), []),
        (Named("distillation", {"preset": "forward_on_teacher"}), []),
    ],
)
def test_what_the_noise_rate_would_decide_is_known_unless_set_by_hand(method, settings):
    assert set_by_rate(method) == settings


def test_a_whole_number_may_be_written_as_a_real_one():
    assert told(Named("co_teaching", {"ramp": 10.0}), None) == told(Named("co_teaching", {"ramp": 10}), None)
