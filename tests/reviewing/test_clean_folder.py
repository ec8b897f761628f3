import csv
import os
import re
from pathlib import Path

import pytest

from labelnoise.data import read
from labelnoise.errors import InputError
from labelnoise.reviewing.clean_folder import leading_out, targets, within, write_folder, write_listing
from labelnoise.reviewing.corrections import Decisions
from labelnoise.reviewing.outcome import outcome


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.png")}


def cleaned(source, corrected, mode, out):
    write_folder(source.path, source.dataset, outcome(source.dataset, Decisions(corrected, {}), mode), out)
    return files(out)


def test_dropped_images_are_left_out_and_the_others_the_same(photos, tmp_path):
    before = files(photos.path)
    found = cleaned(photos, {0: 1}, "drop", tmp_path / "out")
    assert found == {name: data for name, data in before.items() if name != "ant/0.png"}
    assert files(photos.path) == before


def test_relabelled_images_move_and_take_no_ones_place(photos, tmp_path):
    before = files(photos.path)
    found = cleaned(photos, {0: 1, 8: 1}, "relabel", tmp_path / "out")
    assert found["bee/ant-0.png"] == before["ant/0.png"]
    assert found["bee/cat-0.png"] == before["cat/0.png"]
    assert len(found) == 12
    assert set(read(tmp_path / "out").ids) == set(found)


def test_a_name_that_is_free_is_kept(photos):
    (photos.path / "bee" / "0.png").unlink()
    dataset = read(photos.path)
    done = outcome(dataset, Decisions({0: 1}, {}), "relabel")
    assert targets(dataset, done)["ant/0.png"] == "bee/0.png"


def test_images_are_linked_and_take_no_room(photos, tmp_path):
    cleaned(photos, {}, "drop", tmp_path / "out")
    assert os.path.samefile(tmp_path / "out" / "ant" / "1.png", photos.path / "ant" / "1.png")


def test_images_are_copied_where_links_are_impossible(photos, tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError

    monkeypatch.setattr(os, "link", refuse)
    assert cleaned(photos, {}, "drop", tmp_path / "out") == files(photos.path)


def test_a_folder_of_somebody_else_is_never_replaced(photos, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "precious.txt").touch()
    with pytest.raises(InputError, match="was not written here"):
        cleaned(photos, {}, "drop", out)
    assert [path.name for path in out.iterdir()] == ["precious.txt"]


def test_a_folder_written_here_is_replaced_whole(photos, tmp_path):
    cleaned(photos, {}, "drop", tmp_path / "out")
    assert len(cleaned(photos, {0: 1}, "drop", tmp_path / "out")) == 11
    assert {path.name for path in tmp_path.iterdir()} == {"photos", "out"}


def test_what_a_killed_process_has_left_beside_it_goes_when_it_is_written_again(photos, tmp_path, monkeypatch):
    child = os.fork()
    if not child:
        monkeypatch.setattr(os, "link", lambda *_: os._exit(1))
        cleaned(photos, {}, "drop", tmp_path / "out")
    os.waitpid(child, 0)
    assert len(list(tmp_path.iterdir())) == 2
    cleaned(photos, {}, "drop", tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} == {"photos", "out"}


def test_a_folder_that_is_not_there_is_not_made(photos, tmp_path):
    with pytest.raises(InputError, match="there is no folder"):
        cleaned(photos, {}, "drop", tmp_path / "nodir" / "out")
    assert {path.name for path in tmp_path.iterdir()} == {"photos"}


@pytest.mark.parametrize("name", ["notes.txt", "ant/new.png", "mine/deep/photo.png", "ant/.hidden"])
def test_what_people_have_added_is_named_and_stays(photos, tmp_path, name):
    cleaned(photos, {}, "drop", tmp_path / "out")
    (tmp_path / "out" / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "out" / name).write_text("mine")
    before = sorted((tmp_path / "out").rglob("*"))
    with pytest.raises(InputError, match=f"{re.escape(repr(name))}, which would be lost; move that elsewhere"):
        cleaned(photos, {0: 1}, "drop", tmp_path / "out")
    assert sorted((tmp_path / "out").rglob("*")) == before


def test_of_many_files_that_were_added_a_few_are_named(photos, tmp_path):
    cleaned(photos, {}, "drop", tmp_path / "out")
    for number in range(5):
        (tmp_path / "out" / f"{number}.txt").touch()
    with pytest.raises(InputError, match=r"'0\.txt', '1\.txt', '2\.txt' and 2 more, which"):
        cleaned(photos, {}, "drop", tmp_path / "out")


def test_an_image_that_was_painted_anew_is_kept(photos, tmp_path):
    cleaned(photos, {}, "drop", tmp_path / "out")
    image = tmp_path / "out" / "ant" / "1.png"
    image.unlink()
    image.write_text("better")
    with pytest.raises(InputError, match=r"'ant/1\.png', which would be lost"):
        cleaned(photos, {}, "drop", tmp_path / "out")
    assert image.read_text() == "better"


def test_an_image_that_was_painted_over_in_the_data_is_replaced(photos, tmp_path):
    cleaned(photos, {}, "drop", tmp_path / "out")
    os.utime(photos.path / "ant" / "1.png", ns=(0, 0))
    assert len(cleaned(photos, {0: 1}, "drop", tmp_path / "out")) == 11


def test_what_a_system_leaves_in_folders_is_replaced_with_them(photos, tmp_path):
    cleaned(photos, {}, "drop", tmp_path / "out")
    (tmp_path / "out" / "ant" / ".DS_Store").touch()
    assert len(cleaned(photos, {0: 1}, "drop", tmp_path / "out")) == 11


@pytest.mark.parametrize("seal", ["{}", "", "[]", '{"files": 1}'])
def test_a_folder_whose_seal_tells_no_files_is_not_replaced(photos, tmp_path, seal):
    cleaned(photos, {}, "drop", tmp_path / "out")
    (tmp_path / "out" / ".labelnoise.json").write_text(seal)
    with pytest.raises(InputError, match=r"'ant/0\.png', .* and 9 more, which would be lost"):
        cleaned(photos, {}, "drop", tmp_path / "out")


@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_folder_that_cannot_be_replaced_is_there_as_before(photos, tmp_path, monkeypatch, problem):
    cleaned(photos, {}, "drop", tmp_path / "out")
    before, replace = sorted(tmp_path.rglob("*")), Path.replace

    def refuse(path, target):
        if path.is_dir():
            raise problem
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises((InputError, KeyboardInterrupt)):
        cleaned(photos, {0: 1}, "drop", tmp_path / "out")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("place", ["photos/out", "photos", "."])
def test_the_data_and_what_holds_them_are_left_alone(photos, tmp_path, place):
    with pytest.raises(InputError, match="lie in one another"):
        cleaned(photos, {}, "drop", tmp_path / place)


@pytest.fixture
def linked(photos, tmp_path, source_of):
    """The folder of images with one that is a link to a file outside."""
    (photos.path / "ant" / "0.png").rename(tmp_path / "secret.png")
    (photos.path / "ant" / "0.png").symlink_to(tmp_path / "secret.png")
    return source_of(photos.path)


def test_an_image_that_is_a_link_out_is_left_out(linked):
    assert leading_out(linked.path, linked.dataset) == [0]
    done = within(linked.path, linked.dataset, outcome(linked.dataset, Decisions({1: 1}, {}), "drop"))
    assert done.kept.nonzero()[0].tolist() == list(range(2, 12))


def test_it_is_never_brought_along_and_nothing_is_left(linked, tmp_path):
    with pytest.raises(InputError, match="leads out of"):
        cleaned(linked, {}, "drop", tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} == {"photos", "secret.png"}


def test_a_listing_can_be_read_as_data(photos, tmp_path):
    done = outcome(photos.dataset, Decisions({0: 1}, {}), "relabel")
    write_listing(photos.path, photos.dataset, done, tmp_path / "list.csv", tmp_path)
    found = read(tmp_path / "list.csv")
    assert [found.classes[label] for label in found.y_given] == ["bee", *["ant"] * 3, *["bee"] * 4, *["cat"] * 4]
    assert found.x.equal(photos.dataset.x)


@pytest.mark.parametrize(("place", "relative"), [("list.csv", True), ("elsewhere/list.csv", False)])
def test_paths_of_a_listing_start_at_its_folder_where_images_lie_below(photos, tmp_path, place, relative):
    (tmp_path / "elsewhere").mkdir()
    done = outcome(photos.dataset, Decisions({}, {}), "drop")
    write_listing(photos.path, photos.dataset, done, tmp_path / place, (tmp_path / place).parent)
    start = "" if relative else f"{tmp_path.resolve()}/"
    assert read(tmp_path / place).ids[0] == f"{start}photos/ant/0.png"


def test_a_listing_has_weights_where_they_are_asked_for(photos, tmp_path):
    done = outcome(photos.dataset, Decisions({0: 1}, dict.fromkeys(range(12), 0.0) | {1: 0.25}), "weight")
    write_listing(photos.path, photos.dataset, done, tmp_path / "list.csv", tmp_path)
    with (tmp_path / "list.csv").open(newline="") as file:
        assert [row["label_weight"] for row in csv.DictReader(file)][:3] == ["0.0", "0.75", "1.0"]
