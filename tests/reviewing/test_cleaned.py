import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from labelnoise.config import Data
from labelnoise.data import read
from labelnoise.data.pictures import Pictures
from labelnoise.data.saved import save
from labelnoise.errors import InputError
from labelnoise.reviewing.cleaned import check_cleaned, check_form, check_place, default_name, form, write_cleaned
from labelnoise.reviewing.corrections import Decisions
from labelnoise.reviewing.outcome import outcome
from labelnoise.reviewing.source import Source


@pytest.fixture
def digits():
    return Source.read(Data("digits"))


def halves(source):
    """Every row may as well be wrong as right."""
    return dict.fromkeys(range(len(source.dataset)), 0.5)


@pytest.mark.parametrize(
    ("kind", "mode", "name"),
    [
        ("people", "drop", "cleaned.csv"),
        ("photos", "relabel", "cleaned"),
        ("photos", "weight", "cleaned.csv"),
        ("arrays", "weight", "cleaned.npz"),
        ("digits", "drop", "cleaned.npz"),
        ("digits", "weight", "cleaned.csv"),
    ],
)
def test_the_form_is_that_of_the_data(kind, mode, name, request):
    assert default_name(request.getfixturevalue(kind), mode) == name


@pytest.mark.parametrize("kind", ["people", "photos", "arrays", "digits"])
@pytest.mark.parametrize("mode", ["drop", "relabel", "weight"])
def test_every_form_and_mode_is_written_and_never_over_something(kind, mode, request, tmp_path):
    source = request.getfixturevalue(kind)
    own = int(source.dataset.y_given[0])
    done = outcome(source.dataset, Decisions({0: (own + 1) % 2}, halves(source)), mode)
    out = tmp_path / default_name(source, mode)
    write_cleaned(source, done, out)
    with pytest.raises(InputError, match="exists; choose another --out, or --force"):
        write_cleaned(source, done, out)
    write_cleaned(source, done, out, force=True)
    if mode != "weight":
        assert len(read(out)) == len(source.dataset) - (mode == "drop")


def test_built_in_data_come_back_as_a_data_set_with_its_truth(digits, tmp_path):
    wrong = (int(digits.dataset.y_given[5]) + 1) % 10
    write_cleaned(digits, outcome(digits.dataset, Decisions({5: wrong}, {}), "relabel"), tmp_path / "c.npz")
    found = read(tmp_path / "c.npz")
    assert found.noise_rate == pytest.approx(1 / len(found))
    assert found.ids == digits.dataset.ids


def test_saved_data_are_treated_alike(digits, tmp_path):
    save(digits.dataset, tmp_path / "s.npz", {})
    source = Source.read(Data(str(tmp_path / "s.npz")))
    wrong = (int(source.dataset.y_given[0]) + 1) % 10
    write_cleaned(source, outcome(source.dataset, Decisions({0: wrong}, {}), "drop"), tmp_path / "c.npz")
    assert read(tmp_path / "c.npz").ids == digits.dataset.ids[1:]


def test_weights_of_built_in_data_are_a_table(digits, tmp_path):
    done = outcome(digits.dataset, Decisions({}, halves(digits) | {0: 0.25}), "weight")
    write_cleaned(digits, done, tmp_path / "w.csv")
    with (tmp_path / "w.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0] == {"id": "0", "label": digits.dataset.classes[digits.dataset.y_given[0]], "label_weight": "0.75"}
    assert len(rows) == len(digits.dataset)


def test_the_data_themselves_are_not_replaced_even_by_force(people, tmp_path):
    (tmp_path / "link.csv").symlink_to(people.path)
    for out in (people.path, tmp_path / "link.csv"):
        with pytest.raises(InputError, match="is the data themselves"):
            check_place(people, out, force=True)


def test_a_name_of_another_form_is_refused(people, photos, tmp_path):
    with pytest.raises(InputError, match=r"written in \.csv; choose another"):
        check_cleaned(people, tmp_path / "c.npz", force=False)
    with pytest.raises(InputError, match=r"as a folder or in \.csv"):
        check_cleaned(photos, tmp_path / "c.npz", force=False)


@pytest.mark.parametrize(("kind", "name"), [("photos", "out"), ("digits", "out.npz")])
def test_weights_that_have_no_place_are_not_lost_silently(kind, name, request, tmp_path):
    source = request.getfixturevalue(kind)
    done = outcome(source.dataset, Decisions({}, halves(source)), "weight")
    with pytest.raises(InputError, match=r"choose a name that ends in \.csv"):
        write_cleaned(source, done, tmp_path / name)


def test_what_lies_in_a_folder_of_images_would_become_data(photos):
    for name in ("audit/audit.html", "audit/cleaned", "list.csv"):
        with pytest.raises(InputError, match="lie in one another"):
            check_place(photos, photos.path / name, force=True)


def test_a_place_for_weights_that_is_taken_is_told_before_anything_is_written(people, source_of, tmp_path):
    path = tmp_path / "w.csv"
    path.write_bytes(people.path.read_bytes().replace(b"size", b"label_weight", 1))
    check_form(source_of(path), "drop")
    with pytest.raises(InputError, match="has a column 'label_weight' already"):
        check_form(source_of(path), "weight")


def test_the_file_beside_a_saved_data_set_is_not_replaced_either(digits, tmp_path):
    (tmp_path / "c.json").touch()
    with pytest.raises(InputError, match=r"c\.json exists"):
        check_cleaned(digits, tmp_path / "c.npz", force=False)


def test_images_that_stay_on_disk_cannot_be_saved_anew(photos):
    paths = np.array([name.encode() for name in photos.dataset.ids])
    made = replace(photos.dataset, x=Pictures(photos.path, paths, 6, 6))
    check_form(Source(None, photos.settings, made), "weight")
    with pytest.raises(InputError, match="stay on disk"):
        check_form(Source(None, photos.settings, made), "drop")


def test_an_image_that_a_link_leads_to_is_left_out(photos, source_of, tmp_path):
    (photos.path / "ant" / "0.png").rename(tmp_path / "secret.png")
    (photos.path / "ant" / "0.png").symlink_to(tmp_path / "secret.png")
    source = source_of(photos.path)
    for name in ("out", "out.csv"):
        write_cleaned(source, outcome(source.dataset, Decisions({}, {}), "drop"), tmp_path / name)
        assert len(read(tmp_path / name)) == 11


@pytest.mark.parametrize(("name", "end"), [("V.CSV", ".csv"), ("clean.v2", ""), ("clean", ""), ("a.NPZ", ".npz")])
def test_the_form_is_told_by_the_end_of_a_name(name, end):
    assert form(Path(name)) == end


def test_names_in_large_letters_and_with_points_are_taken(people, photos, tmp_path):
    nothing = Decisions({}, {})
    write_cleaned(people, outcome(people.dataset, nothing, "drop"), tmp_path / "V.CSV")
    write_cleaned(photos, outcome(photos.dataset, nothing, "drop"), tmp_path / "clean.v2")
    assert (tmp_path / "V.CSV").read_bytes() == people.path.read_bytes()
    assert len(read(tmp_path / "clean.v2")) == 12
