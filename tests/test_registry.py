import pytest

from labelnoise.errors import InputError
from labelnoise.registry import Registry, nearest


@pytest.fixture
def fruits():
    registry: Registry[int] = Registry("fruit")
    registry.register("pear")(1)
    registry.register("apple")(2)
    return registry


def test_get_returns_what_was_registered(fruits):
    assert fruits.get("pear") == 1


def test_register_hands_the_thing_back(fruits):
    assert fruits.register("fig")(3) == 3


def test_a_registry_lists_its_names_in_order(fruits):
    assert list(fruits) == ["apple", "pear"]


def test_a_registry_contains_its_names_only(fruits):
    assert "pear" in fruits
    assert "plum" not in fruits


def test_an_unknown_name_is_answered_with_its_neighbour(fruits):
    with pytest.raises(InputError, match=r"^unknown fruit 'aple'; did you mean 'apple'\?$"):
        fruits.get("aple")


def test_a_name_without_neighbours_is_answered_with_all_names(fruits):
    with pytest.raises(InputError, match=r"^unknown fruit 'xyz'; known are apple, pear$"):
        fruits.get("xyz")


def test_a_name_is_given_once(fruits):
    with pytest.raises(InputError, match=r"^fruit 'pear' is registered twice; change the name in @register$"):
        fruits.register("pear")(3)


def test_nearest_prefers_the_closest_name():
    assert nearest("symetric", ["asymmetric", "symmetric", "pair"]) == "did you mean 'symmetric'?"


def test_a_name_that_begins_others_is_answered_with_those():
    assert nearest("tea", ["tea:green", "tea:black", "team", "coffee"]) == "choose tea:black or tea:green"


def test_a_name_that_was_taken_back_can_be_given_anew():
    things = Registry("thing")
    things.register("one")(1)
    things.forget("one")
    assert "one" not in things
    things.register("one")(2)
    assert things.get("one") == 2
