import pytest

from labelnoise.data import load
from labelnoise.errors import InputError
from labelnoise.reviewing.source import Source, inside, is_inside


def test_a_name_of_built_in_data_is_no_path():
    source = Source.named("digits", {}, load("digits", 0))
    assert (source.path, source.kind) == (None, "saved")


def test_options_that_were_given_are_settings(people):
    source = Source.named(str(people.path), {"label_column": "label", "id_column": None}, people.dataset)
    assert (source.path, source.settings.label_column, source.settings.id_column) == (people.path, "label", "")


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
