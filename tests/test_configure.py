import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from labelnoise.config import Augment, Data, Job, Named, Optimiser, RunConfig, Schedule, Search, Split, Train, WarmUp
from labelnoise.configure import build, merge, parse_overrides, plain, read_yaml, to_yaml
from labelnoise.errors import InputError

TEXTS = st.text(max_size=12) | st.sampled_from(
    ["1e-3", "no", "2024-01-01", "0x_", "=", "<<", "null", "a,b", "~", "1:30"]
)
NUMBERS = st.floats(allow_nan=False)
POSITIVE = st.floats(1e-12, 1e300)
SHARES = st.floats(0, 1, exclude_max=True)
COUNTS = st.integers(1, 10**6)
NAMED = st.builds(Named, TEXTS, st.dictionaries(TEXTS, NUMBERS | st.integers() | TEXTS | st.booleans() | st.none()))
SCHEDULES = st.builds(Schedule, st.just("step"), st.lists(COUNTS, max_size=3).map(tuple), POSITIVE, COUNTS)
JOBS = st.builds(
    Job,
    st.builds(
        Data,
        *[TEXTS] * 5,
        *[st.lists(TEXTS, max_size=3).map(tuple)] * 2,
        TEXTS,
        TEXTS,
        st.integers(0, 9),
        fingerprint=TEXTS,
    ),
    TEXTS,
    st.lists(NAMED, min_size=1, max_size=3, unique_by=lambda each: each.name).map(tuple),
    COUNTS,
    st.builds(Search, st.integers(0, 99), st.sampled_from(["random", "grid"])),
    NAMED,
    st.builds(
        Train,
        COUNTS,
        COUNTS,
        st.integers(0, 9),
        st.integers(1, 9),
        st.sampled_from(["method", "last"]),
        st.booleans(),
        st.builds(
            Optimiser,
            st.sampled_from(["adam", "sgd"]),
            POSITIVE,
            POSITIVE,
            SHARES,
            st.booleans(),
            st.tuples(SHARES, SHARES),
            POSITIVE,
        ),
        SCHEDULES,
        st.builds(WarmUp, POSITIVE, SCHEDULES),
        st.builds(
            Augment, COUNTS, st.booleans(), st.booleans(), NUMBERS, *[st.lists(NUMBERS, max_size=3).map(tuple)] * 2
        ),
    ),
    st.builds(Split, st.floats(0.01, 0.4), st.floats(0.01, 0.4)),
)


@pytest.fixture
def file(tmp_path):
    def write(content):
        path = tmp_path / "job.yaml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def sentence(call, *arguments):
    with pytest.raises(InputError) as caught:
        call(*arguments)
    return str(caught.value)


@settings(max_examples=100, deadline=None)
@given(JOBS)
def test_a_job_survives_yaml_as_everyone_reads_it(job):
    assert build(Job, yaml.safe_load(to_yaml(plain(job)))) == job


@settings(max_examples=50, deadline=None)
@given(JOBS)
def test_a_job_survives_yaml_as_it_is_read_here(tmp_path_factory, job):
    path = tmp_path_factory.mktemp("config") / "job.yaml"
    path.write_text(to_yaml(plain(job)), encoding="utf-8", newline="")
    assert build(Job, read_yaml(path)) == job


def test_a_single_run_survives_yaml_too():
    config = RunConfig(method=Named("gce", {"q": 0.5}), net=Named("lenet5"), seed=3)
    assert build(RunConfig, yaml.safe_load(to_yaml(plain(config)))) == config


def test_a_tree_is_written_in_its_own_order_with_lists_in_one_line():
    job = Job(methods=(Named("gce", {"q": 1e-5}), Named("ce")), train=Train(optimiser=Optimiser(lr=1e-3)))
    text = to_yaml(plain(job))
    assert "methods:\n  gce:\n    q: 1.0e-05\n  ce: {}\nseeds: 3\n" in text
    assert "  optimiser:\n    name: adam\n    lr: 0.001\n" in text
    assert "    betas: [0.9, 0.999]\n" in text
    assert "\nnet: mlp\n" in text


# reading


def test_a_file_is_read_as_plain_containers(file):
    text = "\ufeffnoise: none\ntrain: {epochs: 5, augment: {mean: [0.5, 1e-3]}}\nnet:\n"
    tree = {"noise": "none", "train": {"epochs": 5, "augment": {"mean": [0.5, 0.001]}}, "net": None}
    assert read_yaml(file(text)) == tree


@pytest.mark.parametrize("text", ["", "# seeds: 3\n", "---\n", "{}"])
def test_a_file_without_settings_has_none(file, text):
    assert read_yaml(file(text)) == {}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"noise: none\nnet: \xff\n", "{path}, line 2: not UTF-8; save the file in that encoding"),
        ("a: 1\nb: [1\nc: 2\n", "{path}, line 3: not valid YAML: expected ',' or ']', but got ':'"),
        ("a: 1\nb: c: d\n", "{path}, line 2: not valid YAML: mapping values are not allowed here"),
        ("a: 1\n---\nb: 2\n", "{path}, line 2: not valid YAML: but found another document"),
        ("a: 1\nb: \x00\n", "{path}, line 2: not valid YAML: special characters are not allowed"),
        ("- a\n", "{path} must hold settings such as 'seeds: 5', not a list"),
        ("ce", "{path} must hold settings such as 'seeds: 5', not \"ce\""),
        ("false", "{path} must hold settings such as 'seeds: 5', not false"),
        ("a: 1\nb: 2\na: 3\n", "{path}, line 3: the key 'a' stands there a second time; keep one of the two"),
        ("a:\n  b: 2\n  b: 2\n", "{path}, line 3: the key 'b' stands there a second time; keep one of the two"),
        ("a: 1\n3: 2\n", "{path}, line 2: the key 3 is not text; put it in quotes"),
        ("[a]: 2\n", "{path}, line 1: the key a list is not text; put it in quotes"),
        (
            "a: 1\nb: !!python/object/apply:os.system [ls]\n",
            "{path}, line 2: the tag !!python/object/apply:os.system is refused; a config holds plain values only",
        ),
        ("a: !mine 1\n", "{path}, line 1: the tag !mine is refused; a config holds plain values only"),
        ("a: &x 1\nb: *x\n", "{path}, line 2: the alias '*x' is not followed; write it out"),
        ("a: " + "[" * 1000 + "]" * 1000, "{path} is nested too deeply"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_where_and_why(file, content, complaint):
    path = file(content)
    assert sentence(read_yaml, path) == complaint.format(path=path)


def test_a_missing_file_is_named(tmp_path):
    assert sentence(read_yaml, tmp_path / "a.yaml") == f"config file {tmp_path / 'a.yaml'} does not exist"


def test_a_folder_is_no_config_file(tmp_path):
    assert sentence(read_yaml, tmp_path) == f"config file {tmp_path} cannot be read: Is a directory"


# overrides


def test_dotted_keys_become_a_tree():
    pairs = ["train.optimiser.lr=0.01", "train.epochs=5", "noise=pair:0.3"]
    assert parse_overrides(pairs) == {"train": {"optimiser": {"lr": 0.01}, "epochs": 5}, "noise": "pair:0.3"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("-2.5E4", -25000.0),
        ("1", 1),
        ("0.5", 0.5),
        (".inf", float("inf")),
        ("true", True),
        ("null", None),
        ("", ""),
        ("[a, b]", ["a", "b"]),
        ("[1, 1e-3]", [1, 0.001]),
        ("{q: 0.5}", {"q": 0.5}),
        ("'1'", "1"),
        ('"1e-3"', "1e-3"),
        ("a,b", "a,b"),
        ("64,64", "64,64"),
        ("a=b", "a=b"),
        ("a: b", "a: b"),
        ("score #2", "score #2"),
        ("*.csv", "*.csv"),
        ("2024-01-01", "2024-01-01"),
        ("0x_", "0x_"),
        ("none", "none"),
    ],
)
def test_the_value_of_an_override_is_a_number_or_list_if_it_looks_like_one_and_text_otherwise(text, value):
    found = parse_overrides([f"key={text}"])["key"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("pair", ["train.epochs", "=1", ".a=1", "a..b=1", "a. =1"])
def test_an_override_of_another_form_is_refused(pair):
    complaint = f"override {pair!r} is not of the form key=value, such as data.image_size=32; data are named by --data"
    assert sentence(parse_overrides, [pair]) == complaint


def test_of_a_long_text_a_sentence_shows_the_beginning():
    said = sentence(build, Train, {"epochs": "a,b\n" * 500})
    assert said.startswith('epochs must be a whole number, not "a,b\\na,b')
    assert said.endswith(" …")
    assert len(said) < 110


def test_an_override_that_is_no_yaml_is_refused():
    complaint = "override 'a=[1', line 1: not valid YAML: expected ',' or ']', but got '<stream end>'"
    assert sentence(parse_overrides, ["a=[1"]) == complaint


# merging


def test_later_trees_win_key_by_key():
    trees = {"a": {"b": 1, "c": [1, 2]}, "d": 1}, {"a": {"c": [3]}}, {"a": {"b": 4}, "e": 5}
    assert merge(*trees) == {"a": {"b": 4, "c": [3]}, "d": 1, "e": 5}


def test_merging_leaves_its_trees_alone():
    first = {"a": {"b": 1}, "methods": {"gce": {"q": 0.1}}}
    merge(first, {"a": {"b": 2}, "methods": {"gce": {"q": 0.5}}})
    merge(first)["a"]["b"] = 3
    assert first == {"a": {"b": 1}, "methods": {"gce": {"q": 0.1}}}


def test_an_empty_section_changes_nothing():
    assert merge({"train": {"epochs": 5}}, {"train": None}) == {"train": {"epochs": 5}}


def methods(*given):
    merged = merge(*({"methods": each} for each in given))
    return [(each.name, each.settings) for each in build(Job, merged).methods]


@pytest.mark.parametrize(
    "form",
    [
        "ce, gce,",
        ["ce", "gce"],
        [{"name": "ce"}, {"name": "gce", "settings": None}],
        {"ce": None, "gce": {}},
    ],
)
def test_methods_have_several_forms(form):
    assert methods(form) == [("ce", {}), ("gce", {})]


@pytest.mark.parametrize("base", ["ce,gce,mixup", ["ce", "gce", "mixup"], {"ce": {}, "gce": {"q": 0.1}, "mixup": {}}])
def test_a_setting_of_one_method_keeps_the_others_and_their_order(base):
    assert methods(base, {"gce": {"q": 0.5}}) == [("ce", {}), ("gce", {"q": 0.5}), ("mixup", {})]


@pytest.mark.parametrize("selection", ["mixup,gce", ["mixup", "gce"], ["mixup", {"name": "gce"}]])
def test_a_selection_replaces_the_earlier_one_and_keeps_the_settings_of_those_that_stay(selection):
    assert methods({"ce": {}, "gce": {"q": 0.5}}, selection) == [("mixup", {}), ("gce", {"q": 0.5})]


def test_a_mapping_of_methods_adds_to_the_selection():
    assert methods("ce", {"gce": None}) == [("ce", {}), ("gce", {})]


@pytest.mark.parametrize("last", [{"gce": {"q": 0.5}}, "gce", None])
@pytest.mark.parametrize("middle", [{"gce": {"q": 0.3}}, "gce,ce", ["gce"]])
@pytest.mark.parametrize("first", [{"mixup": {"alpha": 2}, "gce": {"q": 0.1, "r": 1}}, "mixup"])
def test_it_does_not_matter_which_trees_are_merged_first(first, middle, last):
    one, two, three = {"methods": first}, {"methods": middle}, {"methods": last}
    assert build(Job, merge(one, merge(two, three))) == build(Job, merge(merge(one, two), three))


def test_an_override_of_the_selection_replaces_it_even_with_settings_beside_it():
    overrides = parse_overrides(["methods=ce,gce", "methods.gce.q=0.5"])
    assert build(Job, merge({"methods": {"mixup": {}}}, overrides)).methods == (Named("ce"), Named("gce", {"q": 0.5}))


def net(*given):
    return build(Job, merge(*({"net": each} for each in given))).net


def test_settings_of_a_network_are_added_to_its_name():
    assert net("mlp", {"settings": {"widths": "8"}}) == Named("mlp", {"widths": "8"})


def test_settings_of_a_network_without_a_name_are_those_of_the_default():
    assert net({"settings": {"widths": "8"}}) == Named("mlp", {"widths": "8"})


@pytest.mark.parametrize("same", ["mlp", {"name": "mlp"}, None])
def test_a_network_of_the_same_name_keeps_its_settings(same):
    assert net({"name": "mlp", "settings": {"widths": "8"}}, same) == Named("mlp", {"widths": "8"})


@pytest.mark.parametrize("other", ["lenet5", {"name": "lenet5"}])
def test_another_network_begins_without_settings(other):
    assert net({"name": "mlp", "settings": {"widths": "8"}}, other) == Named("lenet5")


def test_settings_of_a_network_may_come_before_its_name():
    overrides = parse_overrides(["net.settings.widths='8'", "net=mlp"])
    assert build(Job, overrides).net == Named("mlp", {"widths": "8"})


def test_text_in_place_of_data_is_its_source():
    assert build(Job, {"data": "moons"}).data == Data("moons")


def test_what_is_said_about_the_data_is_added_to_its_source():
    merged = merge({"data": "my.csv"}, {"data": {"label_column": "y"}})
    assert build(Job, merged).data == Data("my.csv", label_column="y")


# building


def test_what_a_tree_leaves_out_keeps_its_default():
    assert build(Job, {"train": {"optimiser": {"lr": 0.1}}, "split": None}) == Job(
        train=Train(optimiser=Optimiser(lr=0.1))
    )


def test_whole_numbers_are_stored_as_the_kind_that_is_wanted():
    train = build(Train, {"epochs": 5.0, "optimiser": {"lr": 1, "betas": [0, 0.5]}})
    assert (train.epochs, train.optimiser.lr, train.optimiser.betas) == (5, 1.0, (0.0, 0.5))
    assert [type(each) for each in (train.epochs, train.optimiser.lr, *train.optimiser.betas)] == [int] + [float] * 3


def test_one_and_one_point_zero_make_the_same_run():
    whole, point = ({"train": {"optimiser": {"lr": lr}}} for lr in (1, 1.0))
    assert build(RunConfig, whole).identity == build(RunConfig, point).identity


@pytest.mark.parametrize(
    ("tree", "complaint"),
    [
        ({"trian": {}}, "unknown key 'trian'; did you mean 'train'?"),
        ({"train": {"optimizer": {}}}, "train: unknown key 'optimizer'; did you mean 'optimiser'?"),
        ({"split": {3: 1}}, "split: unknown key 3; known are rows, test, validation"),
        ({"net": {"name": "mlp", "widths": "8"}}, "net: unknown key 'widths'; known are name, settings"),
        ({"train": {"epochs": "ten"}}, 'train.epochs must be a whole number, not "ten"'),
        ({"train": {"epochs": 1.5}}, "train.epochs must be a whole number, not 1.5"),
        ({"train": {"epochs": float("inf")}}, "train.epochs must be a whole number, not Infinity"),
        ({"train": {"epochs": True}}, "train.epochs must be a whole number, not true"),
        ({"train": {"epochs": None}}, "train.epochs must be a whole number, not null"),
        ({"train": {"epochs": {"a": 1}}}, "train.epochs must be a whole number, not a mapping"),
        ({"split": {"test": "0.2"}}, 'split.test must be a number, not "0.2"'),
        ({"split": {"test": False}}, "split.test must be a number, not false"),
        ({"split": {"test": 10**400}}, f"split.test must be a number, not {10**59} …"),
        ({"train": {"augment": {"flip": 1}}}, "train.augment.flip must be true or false, not 1"),
        ({"noise": 0.4}, "noise must be text (in quotes if need be), not 0.4"),
        ({"search": {"kind": 5}}, "search.kind must be text (in quotes if need be), not 5"),
        ({"search": {"kind": "gird"}}, "search: unknown kind of search 'gird'; did you mean 'grid'?"),
        ({"train": {"optimiser": {"lr": 0}}}, "train.optimiser: lr must be a number above 0, not 0.0"),
        ({"seeds": 0}, "seeds must be at least 1, not 0"),
        ({"data": 5}, "data must hold keys such as 'source', not 5"),
        ({"train": "long"}, "train must hold keys such as 'epochs', not \"long\""),
        ({"net": 5}, "net must hold keys such as 'name', not 5"),
        ({"net": {"name": 5}}, "net.name must be text (in quotes if need be), not 5"),
        ({"net": {"settings": 5}}, "net.settings must be settings such as {q: 0.5}, not 5"),
        ({"net": {"settings": {"a": [1]}}}, "net.settings.a must be a number, text, true, false or null, not a list"),
        ({"data": {"drop": "a"}}, 'data.drop must be a list, such as [a, b], not "a"'),
        ({"data": {"drop": ["a", 1]}}, "data.drop, entry 2, must be text (in quotes if need be), not 1"),
        ({"train": {"optimiser": {"betas": [1]}}}, "train.optimiser.betas must be a list of 2, not of 1"),
        ({"methods": 5}, "methods must be names such as ce,gce or names with settings, not 5"),
        ({"methods": ""}, "methods is empty; name at least one, such as ce,gce"),
        ({"methods": ["ce", 5]}, "methods, entry 2 must hold keys such as 'name', not 5"),
        ({"methods": [{"settings": {}}]}, "methods, entry 1: name is missing"),
        ({"methods": "ce,gce,ce"}, "methods names 'ce' twice; name each method once"),
        ({"methods": {"gce": 0.5}}, "methods.gce must be settings such as {q: 0.5}, not 0.5"),
        ({"methods": {"gce": {"q": {}}}}, "methods.gce.q must be a number, text, true, false or null, not a mapping"),
    ],
)
def test_a_setting_that_cannot_be_used_is_told_where_and_why(tree, complaint):
    assert sentence(build, Job, tree) == complaint


def test_the_place_of_a_part_is_put_in_front():
    complaint = "train.optimiser: unknown key 'momentun'; did you mean 'momentum'?"
    assert sentence(build, Optimiser, {"momentun": 1}, "train.optimiser") == complaint
