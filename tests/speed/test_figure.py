from labelnoise.speed.figure import Figure


def words(figure):
    return " ".join(figure.line().split())


def test_a_line_has_the_number_its_unit_its_ratios_and_the_note():
    figure = Figure("packed, 45 runs", 1896000.4, "images/s", {"plain loop": 71.3, "ce": 0.612}, note="a note")
    assert words(figure) == "packed, 45 runs 1,896,000 images/s 71.3 × plain loop, 0.61 × ce; a note"


def test_a_figure_that_was_not_measured_says_why():
    assert words(Figure("load mnist", None, "s", note="not there")) == "load mnist – not there"


def test_what_goes_into_json_has_everything_but_the_key():
    figure = Figure("a", 2.0, "s", {"b": 3.0}, "many", "c")
    assert figure.to_dict() == {"name": "a", "value": 2.0, "unit": "s", "ratios": {"b": 3.0}, "note": "c"}
