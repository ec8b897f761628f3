import pytest

from labelnoise.config import Data
from labelnoise.data import load
from labelnoise.errors import InputError
from labelnoise.reviewing.source import Source, inside, is_inside


def test_a_name_of_built_in_data_is_no_path():
    source = Source.read(Data("digits"))
    assert (source.path, source.kind) == (None, "saved")
    assert source.dataset.fingerprint == load("digits", 0).fingerprint


def test_a_table_is_read_as_settings_say(people):
    source = Source.read(Data(str(people.path), id_column="note"))
    assert (source.path, source.dataset.ids[:2]) == (people.path, ("a, 0", "a, 1"))


def test_every_cell_of_a_table_counts(people):
    first = Source.read(people.settings).dataset.fingerprint
    people.path.write_text(people.path.read_text().replace("a, 7", "a, 8"))
    assert Source.read(people.settings).dataset.fingerprint != first


def test_classes_may_be_named_that_no_row_has(people):
    source = Source.read(people.settings, ("tall", "huge", "short"))
    assert source.dataset.classes == ("short", "tall", "huge")
    same = Source.read(people.settings, ("tall", "short")).dataset
    assert same.fingerprint == Source.read(people.settings).dataset.fingerprint


def test_the_kind_is_the_form_of_the_data(people, photos, arrays):
    assert [source.kind for source in (people, photos, arrays)] == [".csv", "folder", ".npz"]


def test_a_file_below_a_folder_is_inside(photos):
    assert inside(photos.path, "ant/0.png") == (photos.path / "ant" / "0.png").resolve()


@pytest.mark.parametrize("path", ["../secret.png", "ant/../../secret.png", "/etc/passwd", "link.png", "folder/0.png"])
def test_what_leads_out_is_refused(photos, path, tmp_path):
    (tmp_path / "secret.png").touch()
    (tmp_path / "elsewhere").mkdir()
    (photos.path / "link.png").symlink_to(tmp_path / "secret.png")
    (photos.path / "folder").symlink_to(tmp_path / "elsewhere")
    assert not is_inside(photos.path, path)
    with pytest.raises(InputError, match="leads out of"):
        inside(photos.path, path)


def test_a_link_that_stays_inside_is_followed(photos):
    (photos.path / "ant" / "link.png").symlink_to(photos.path / "bee" / "0.png")
    assert inside(photos.path, "ant/link.png").name == "0.png"
