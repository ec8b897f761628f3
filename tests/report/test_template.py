import pytest
from jinja2 import UndefinedError

from labelnoise.report.template import fill, legend

VALUES = {"remarks": [], "reference": "true labels", "legend": [], "panels": {}, "table": [], "folders": {}}


def test_values_are_text_and_no_markup():
    html = fill("over_noise.html", "<b>title</b>", **VALUES | {"reference": "<i>x</i>"})
    assert "<title>&lt;b&gt;title&lt;/b&gt;" in html
    assert "&lt;i&gt;x&lt;/i&gt;" in html


def test_what_no_page_may_hold_is_replaced():
    html = fill("over_noise.html", "x\x00\x1by\ud800z", **VALUES)
    assert "<h1>x\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}y?z</h1>" in html


def test_a_value_that_lacks_is_no_silent_gap():
    with pytest.raises(UndefinedError):
        fill("over_noise.html", "t")


def test_a_legend_has_the_looks_of_curves_in_their_order():
    found = legend([f"m{index}" for index in range(9)])
    assert [(key.label, key.colour) for key in found[:2]] == [("m0", "var(--s0)"), ("m1", "var(--s1)")]
    assert found[0].dashes == ""
    assert (found[8].colour, bool(found[8].dashes)) == ("var(--s0)", True)


def test_a_legend_is_dashed_as_it_is_told():
    assert [key.dashes for key in legend(["a", "b"], [(), (5, 2), (1, 1)])] == ["", "5 2"]


def test_a_template_of_another_folder_builds_on_those_here(tmp_path):
    text = '{% extends "shell.html" %}{% block body %}<p>{{ said }}</p>{% endblock %}'
    (tmp_path / "own.html").write_text(text)
    html = fill("own.html", "t", folder=tmp_path, said="<b>")
    assert "<title>t · labelnoise</title>" in html
    assert "<p>&lt;b&gt;</p>" in html
