from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from labelnoise.data import read
from labelnoise.data.factor import Origin
from labelnoise.errors import InputError
from labelnoise.reviewing.clean_table import check_free, labelled, relabelled, write_delimited, write_parquet
from labelnoise.reviewing.corrections import Decisions
from labelnoise.reviewing.outcome import outcome

MESSY = (
    b'\xef\xbb\xbfperson; "note" ;answer;x\r\n'
    b'p1;"a; ""b""\r\nc"; yes;1,5\r\n'
    b"\r\n"
    b'p2;  d;"no";2\r\n'
    b"p3;e;;3\r\n"  # no label
    b"p4;\xc3\xa9;NA;4\r\n"  # neither
    b"p5;f;yes;5\r\n"
    b"p6;g;no;6"
)


@pytest.fixture
def messy(tmp_path, source_of):
    path = tmp_path / "messy.csv"
    path.write_bytes(MESSY)
    return source_of(path, label_column="answer", id_column="person", drop=("x",))


def cleaned(source, decisions, mode, tmp_path):
    out = tmp_path / "cleaned.csv"
    write_delimited(source.path, source, outcome(source.dataset, decisions, mode), out, source.path.parent)
    return out.read_bytes()


def test_without_decisions_no_byte_changes(messy, people, tmp_path):
    for source in (messy, people):
        for mode in ("drop", "relabel"):
            assert cleaned(source, Decisions({}, {}), mode, tmp_path) == source.path.read_bytes()


def test_only_the_cells_of_changed_labels_change(messy, tmp_path):
    assert messy.dataset.ids == ("p1", "p2", "p5", "p6")
    found = cleaned(messy, Decisions({0: 0, 1: 1}, {}), "relabel", tmp_path)
    assert found == MESSY.replace(b" yes;1,5", b" no;1,5").replace(b'"no";2', b'"yes";2')


def test_dropped_rows_go_with_their_lines_and_rows_without_a_label_stay(messy, tmp_path):
    found = cleaned(messy, Decisions({0: 0, 3: 1}, {}), "drop", tmp_path)
    assert found == MESSY.replace(b'p1;"a; ""b""\r\nc"; yes;1,5\r\n', b"").removesuffix(b"p6;g;no;6")


def test_weights_are_a_last_column_that_is_empty_without_a_label(messy, tmp_path):
    lines = cleaned(messy, Decisions({1: 1}, {0: 0, 2: 0.75, 3: 0}), "weight", tmp_path).split(b"\r\n")
    assert lines[0].endswith(b";x;label_weight")
    assert [line.split(b";")[-1] for line in lines[2:]] == [b"1", b"", b"0", b"", b"", b"0.25", b"1"]


def test_a_column_of_weights_that_is_there_is_not_written_over(people, tmp_path, source_of):
    path = tmp_path / "w.csv"
    path.write_bytes(people.path.read_bytes().replace(b"size", b"label_weight", 1))
    with pytest.raises(InputError, match="has a column 'label_weight' already"):
        check_free(path, source_of(path))


def test_a_file_that_has_changed_since_is_refused_and_nothing_written(people, tmp_path):
    people.path.write_bytes(people.path.read_bytes().replace(b"tall", b"short", 1))
    with pytest.raises(InputError, match="has other rows than were audited"):
        cleaned(people, Decisions({}, {}), "drop", tmp_path)
    assert not (tmp_path / "cleaned.csv").exists()


def test_a_file_that_has_become_shorter_is_refused(people, tmp_path):
    people.path.write_bytes(people.path.read_bytes()[:-8])
    people.path.write_text("\n".join(people.path.read_text().splitlines()[:-3]))
    with pytest.raises(InputError, match="has other rows than were audited"):
        cleaned(people, Decisions({}, {}), "drop", tmp_path)


def test_a_class_that_needs_quotes_gets_them(tmp_path, source_of):
    path = tmp_path / "q.csv"
    path.write_text('x,label\n1,"a, b"\n2,c\n3,c\n4,"a, b"\n')
    found = cleaned(source_of(path), Decisions({1: 0, 3: 1}, {}), "relabel", tmp_path)
    assert found == b'x,label\n1,"a, b"\n2,"a, b"\n3,c\n4,"c"\n'


def test_labels_keep_their_type(people):
    done = outcome(people.dataset, Decisions({0: 1}, {}), "relabel")
    values = np.array([5.0, 7.0] * 20)
    assert relabelled(values, np.arange(40), people.dataset, done)[:3].tolist() == [7, 7, 5]
    assert values[0] == 5


@pytest.fixture
def unseen(arrays):
    """A class that no row was given, by its name: a data set, and the decision that a row is of it."""

    def made(name):
        classes = (*arrays.dataset.classes[:2], name)
        dataset = replace(arrays.dataset, y_given=arrays.dataset.y_given.clamp(max=1), y_true=None, classes=classes)
        return np.arange(30), dataset, outcome(dataset, Decisions({0: 2}, {}), "relabel")

    return made


@pytest.mark.parametrize(
    ("values", "name", "written"),
    [
        (np.array(["ab", "c"] * 15), "longer", "longer"),
        (np.array(["ab", "c"] * 15, object), "longer", "longer"),
        (np.array([5, 7] * 15), "9", 9),
        (pd.Categorical(["ab", "c"] * 15), "longer", "longer"),
    ],
)
def test_a_class_that_no_row_has_is_written_as_the_others_are(unseen, values, name, written):
    found = relabelled(values, *unseen(name))
    assert (found[0], found[1]) == (written, values[1])


def test_a_class_that_the_type_of_the_labels_cannot_hold_is_refused(unseen):
    for values in (np.zeros(30), np.zeros(30, bool)):
        with pytest.raises(InputError, match=r"labels of type \w+ cannot hold class 'top'; store them as text"):
            relabelled(values, *unseen("top"))


def test_rows_with_a_label_are_found(people):
    values = ["short", "tall", None] * 20
    with pytest.raises(InputError, match="other rows"):
        labelled(values[:10], people.dataset, Origin("t"), "label")
    assert labelled(values, people.dataset, Origin("t"), "label").tolist() == [n for n in range(60) if n % 3 < 2]


@pytest.fixture
def listing(photos, tmp_path, source_of):
    """A table of images in a folder of its own, by paths that are written in several ways."""
    path = tmp_path / "lists" / "list.csv"
    path.parent.mkdir()
    (path.parent / "a.png").write_bytes((photos.path / "ant" / "0.png").read_bytes())
    lines = ["path;label", 'a.png;"x"', '"../photos/bee/1.png";y', f"{photos.path / 'cat' / '2.png'};y", "a.png;"]
    path.write_text("\n".join(lines))
    return source_of(path)


@pytest.mark.parametrize("folder", [".", "lists/deep/er", "photos", "lists"])
def test_a_listing_leads_to_the_same_images_from_another_folder(listing, tmp_path, folder):
    out = tmp_path / folder / "cleaned.csv"
    out.parent.mkdir(parents=True, exist_ok=True)
    done = outcome(listing.dataset, Decisions({2: 0}, {}), "relabel")
    write_delimited(listing.path, listing, done, out, out.parent)
    found = read(out)
    assert found.x.tolist() == listing.dataset.x.tolist()
    assert found.y_given.tolist() == [0, 1, 0]


def test_only_relative_paths_and_changed_labels_of_a_listing_change(listing, tmp_path):
    out = tmp_path / "cleaned.csv"
    write_delimited(listing.path, listing, outcome(listing.dataset, Decisions({}, {}), "drop"), out, tmp_path)
    before = listing.path.read_text()
    assert out.read_text() == before.replace("a.png", "lists/a.png").replace('"../', '"')


def test_a_listing_that_is_reached_by_a_link_leads_to_the_same_images(listing, tmp_path):
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "away")
    out = tmp_path / "link" / "cleaned.csv"
    write_delimited(listing.path, listing, outcome(listing.dataset, Decisions({}, {}), "drop"), out, out.parent)
    assert read(out).x.tolist() == listing.dataset.x.tolist()


def test_paths_through_a_link_of_folders_lead_to_the_same_images(photos, tmp_path, source_of):
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "link").symlink_to(photos.path / "ant")
    (tmp_path / "lists" / "list.csv").write_text("path,label\nlink/0.png,a\nlink/../bee/1.png,b\n")
    source, out = source_of(tmp_path / "lists" / "list.csv"), tmp_path / "cleaned.csv"
    write_delimited(source.path, source, outcome(source.dataset, Decisions({}, {}), "drop"), out, tmp_path)
    assert out.read_text() == "path,label\nlists/link/0.png,a\nlists/link/../bee/1.png,b\n"
    assert read(out).x.tolist() == source.dataset.x.tolist()


def test_a_listing_in_parquet_leads_to_the_same_images(listing, tmp_path, source_of, monkeypatch):
    monkeypatch.setattr(pd, "read_parquet", pd.read_pickle)  # pyarrow may be missing
    monkeypatch.setattr(pd.DataFrame, "to_parquet", pd.DataFrame.to_pickle)
    path = listing.path.with_suffix(".parquet")
    pd.read_csv(listing.path, sep=";").to_parquet(path)
    source, out = source_of(path), tmp_path / "cleaned.parquet"
    write_parquet(path, source, outcome(source.dataset, Decisions({}, {}), "drop"), out, tmp_path)
    assert read(out).x.tolist() == listing.dataset.x.tolist()


def test_a_column_of_paths_beside_numbers_is_no_listing(tmp_path, source_of):
    path = tmp_path / "t.csv"
    path.write_text("path,x,label\na,1,u\nb,2,v\n")
    source, out = source_of(path), tmp_path / "deep" / "t.csv"
    out.parent.mkdir()
    write_delimited(path, source, outcome(source.dataset, Decisions({}, {}), "drop"), out, out.parent)
    assert out.read_bytes() == path.read_bytes()


def test_parquet_is_written_likewise(tmp_path, people, source_of):
    pytest.importorskip("pyarrow")
    import pandas as pd

    frame = pd.DataFrame({"x": range(6), "label": [1, 2, None, 1, 2, 2], "note": list("abcdef")})
    frame.to_parquet(tmp_path / "t.parquet")
    source = source_of(tmp_path / "t.parquet")
    for mode, labels in {"relabel": [2, 2, None, 1, 2, 2], "drop": [2, None, 1, 2, 2]}.items():
        done = outcome(source.dataset, Decisions({0: 1}, {}), mode)
        write_parquet(source.path, source, done, tmp_path / f"{mode}.parquet", tmp_path)
        found = pd.read_parquet(tmp_path / f"{mode}.parquet")
        assert [None if pd.isna(label) else label for label in found["label"]] == labels
        assert found["note"].tolist() == list("abcdef")[6 - len(labels) :]
