import pytest

from labelnoise.errors import InputError
from labelnoise.papers import paper
from labelnoise.reproduce.asked import chosen, listed, parsed, table

CELLS = paper("logistic_normal").published("table1")


def test_a_figure_goes_by_the_name_of_its_paper_too():
    assert str(table("logistic_normal/fig3")) == "logistic_normal/fig3"


def test_a_table_goes_by_the_name_of_its_paper():
    found = table("causal_nl/table2")
    assert (found.paper.folder.name, found.name, str(found)) == ("causal_nl", "table2", "causal_nl/table2")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("logistic_normal", "'logistic_normal' is a paper; name a table or figure of it; it has table1, table2"),
        ("causal_nl/table9", "has no 'table9'; it has table1, table2"),
        ("causal/table1", "there is no paper 'causal'; did you mean 'causal_nl'"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(name, sentence):
    with pytest.raises(InputError, match=sentence):
        table(name)


def test_wishes_for_the_same_key_are_alternatives_and_others_restrict():
    only = parsed(["data=mnist", "noise=none", "noise=random:0.2:exact", "method=LN"])
    found = chosen(CELLS, only)
    assert {(cell.data, cell.noise, cell.method) for cell in found} == {
        ("mnist", "none", "LN"),
        ("mnist", "random:0.2:exact", "LN"),
    }


def test_without_wishes_all_cells_are_meant():
    assert chosen(CELLS, {}) == CELLS


@pytest.mark.parametrize(
    ("wishes", "sentence"),
    [
        (["mnist"], "--only takes data, noise, method, net, measure"),
        (["seed=3"], "--only takes data, noise"),
        (["method=ce"], "no cell has method 'ce'; known are Bi-tempered, CE"),
        (["data=mnist", "noise=none", "data=cifar10", "noise=asymmetric:0.1:exact", "net=lenet5"], "no cell has net"),
    ],
)
def test_a_wish_that_no_cell_fulfils_is_refused(wishes, sentence):
    with pytest.raises(InputError, match=sentence):
        chosen(CELLS, parsed(wishes))


@pytest.mark.parametrize(
    "wishes",
    [
        ["data=mnist", "noise=random:0.4"],
        ["noise=random:0.4", "data=mnist"],
        ["data=mnist", "data=cifar10", "noise=random:0.4"],  # which CIFAR-10 has
    ],
)
def test_no_wish_is_left_out_silently_and_it_is_said_what_another_may_be(wishes):
    cells = [cell for cell in CELLS if cell.noise in ("none", "random:0.4", "random:0.4:exact")]
    with pytest.raises(InputError) as caught:
        chosen(cells, parsed(wishes))
    told = {
        "no cell with data 'mnist' has the rest; with it noise may be none, random:0.4:exact",
        "no cell with noise 'random:0.4' has the rest; with it data may be cifar10, cifar100",
    }
    assert str(caught.value) in told


def test_a_method_that_a_data_set_has_not_is_not_left_out_silently():
    cells = paper("logistic_normal").cells("table1")  # with those of ours
    with pytest.raises(InputError, match=r"^no cell with method 'TV' has the rest; with it data may be cifar10$"):
        chosen(cells, parsed(["data=mnist", *listed("CE,TV")]))


def test_methods_with_commas_between_them_are_alternatives():
    assert parsed(listed("CE, LN,")) == {"method": ["CE", "LN"]}


@pytest.mark.parametrize("methods", ["", ",", " , "])
def test_a_list_of_no_method_does_not_mean_all_of_them(methods):
    with pytest.raises(InputError, match=f"--methods names none in '{methods}'; name some, as in CE,LN"):
        listed(methods)


@pytest.mark.parametrize("value", ["LN", "diagonal"])
def test_a_name_with_a_comma_is_quoted_with_the_option_that_takes_it(value):
    with pytest.raises(InputError, match=r"'LN, diagonal', 'LN, full', .* by --only \"method=LN, diagonal\"$"):
        chosen(paper("logistic_normal").published("table3"), {"method": [value]})
