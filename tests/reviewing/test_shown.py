import base64
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from labelnoise.config import Data
from labelnoise.data import Dataset, load
from labelnoise.data.pictures import Pictures
from labelnoise.reviewing.shown import MOST_CELLS, MOST_LETTERS, MOST_PIXELS, outside, picture, shown
from labelnoise.reviewing.source import Source


def pixels(address):
    head, data = address.split(",")
    assert head in ("data:image/png;base64", "data:image/jpeg;base64")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))


def test_small_images_are_shown_pixel_by_pixel():
    grey = np.arange(36, dtype=np.uint8).reshape(1, 6, 6)
    colour = np.arange(108, dtype=np.uint8).reshape(3, 6, 6)
    assert (pixels(picture(grey)) == grey[0]).all()
    assert (pixels(picture(colour)) == colour.transpose(1, 2, 0)).all()


def test_large_images_are_scaled_down():
    assert pixels(picture(np.zeros((3, 400, 200), np.uint8))).shape == (MOST_PIXELS, MOST_PIXELS // 2, 3)


def test_numbers_of_an_image_are_shown_from_black_to_white():
    found = pixels(picture(np.linspace(-3, 5, 16).reshape(1, 4, 4)))
    assert (found[0, 0], found[-1, -1]) == (0, 255)
    assert (pixels(picture(np.ones((1, 2, 2)))) == 0).all()


def test_images_of_a_folder_are_shown(photos):
    found = shown(photos, [0, 5])
    assert [pixels(each["image"])[0, 0] for each in found] == [0, 81]


def test_an_image_that_lies_outside_the_data_is_not_shown(photos, tmp_path, source_of):
    (tmp_path / "secret.png").write_bytes((photos.path / "ant" / "0.png").read_bytes())
    (photos.path / "ant" / "0.png").unlink()
    (photos.path / "ant" / "0.png").symlink_to(tmp_path / "secret.png")
    assert list(shown(source_of(photos.path), [0])[0]) == ["hidden"]


@pytest.mark.parametrize(("path", "key"), [("photos/ant/0.png", "image"), ("../secret.png", "hidden")])
def test_images_that_a_table_lists_are_shown_from_below_its_folder(photos, tmp_path, source_of, path, key):
    (tmp_path.parent / "secret.png").write_bytes((photos.path / "ant" / "0.png").read_bytes())
    (tmp_path / "list.csv").write_text(f"path,label\n{path},a\nphotos/bee/1.png,b\n")
    assert [list(each) for each in shown(source_of(tmp_path / "list.csv"), [0, 1])] == [[key], ["image"]]


@pytest.mark.parametrize(("folder", "key"), [(None, "hidden"), ("photos", "image"), ("photos/ant", "hidden")])
def test_images_elsewhere_are_shown_where_their_folder_is_named(photos, tmp_path, source_of, folder, key):
    (tmp_path / "audit").mkdir()
    (tmp_path / "audit" / "list.csv").write_text(f"path,label\n../photos/bee/0.png,a\n{photos.path}/bee/1.png,b\n")
    source = source_of(tmp_path / "audit" / "list.csv")._replace(images=folder and tmp_path / folder)
    assert [list(each) for each in shown(source, [0, 1])] == [[key], [key]]


@pytest.mark.parametrize(("folder", "rows"), [(None, [0, 1]), ("photos", []), ("photos/bee", [0])])
def test_images_outside_the_folder_are_found_in_all_rows(photos, tmp_path, source_of, folder, rows):
    (tmp_path / "audit").mkdir()
    (tmp_path / "audit" / "list.csv").write_text(f"path,label\n../photos/ant/0.png,a\n{photos.path}/bee/1.png,b\n")
    source = source_of(tmp_path / "audit" / "list.csv")._replace(images=folder and tmp_path / folder)
    files = photos.path.resolve() / "ant" / "0.png", photos.path.resolve() / "bee" / "1.png"
    assert outside(source) == [str(files[row]) for row in rows]


def test_only_a_table_of_images_has_some_outside(people, photos, arrays):
    assert [outside(source) for source in (people, photos, arrays)] == [[], [], []]


def test_images_that_a_table_holds_itself_are_shown(photos, tmp_path, source_of, monkeypatch):
    monkeypatch.setattr(pd, "read_parquet", pd.read_pickle)  # pyarrow may be missing
    images = [{"bytes": (photos.path / name).read_bytes(), "path": None} for name in photos.dataset.ids]
    pd.DataFrame({"image": images, "label": ["a", "b"] * 6}).to_pickle(tmp_path / "hub.parquet")
    found = shown(source_of(tmp_path / "hub.parquet"), [0, 11])
    assert [each["image"] for each in found] == [each["image"] for each in shown(photos, [0, 11])]


def test_rows_of_a_table_are_shown_as_they_are_written_without_label_and_id(tmp_path, source_of):
    (tmp_path / "t.csv").write_text("id,label,a,b\nx,u,1,p q\ny,,2,r\nz,v,3,\n")
    source = source_of(tmp_path / "t.csv", id_column="id", categorical=("b",))
    assert source.dataset.ids == ("x", "z")
    assert shown(source, [1, 0]) == [{"cells": [("a", "3"), ("b", "")]}, {"cells": [("a", "1"), ("b", "p q")]}]


def test_a_table_of_labels_alone_has_no_cells(tmp_path, source_of):
    (tmp_path / "t.csv").write_text("id,label\nx,u\ny,v\n")
    assert shown(source_of(tmp_path / "t.csv", id_column="id"), [0, 1]) == [{"cells": []}, {"cells": []}]


def test_long_rows_and_cells_are_cut(tmp_path, source_of):
    names = [f"c{n}" for n in range(MOST_CELLS + 5)]
    rows = [
        ",".join([f"{'long ' * 200}{r}", *(str(r + n) for n in range(len(names) - 1)), "ab"[r % 2]]) for r in range(6)
    ]
    (tmp_path / "t.csv").write_text("\n".join([",".join([*names, "label"]), *rows]))
    (found,) = shown(source_of(tmp_path / "t.csv"), [0])
    assert len(found["cells"]) == MOST_CELLS
    assert len(found["cells"][0][1]) == MOST_LETTERS + 1


def test_arrays_are_shown_in_their_own_numbers(arrays):
    (found,) = shown(arrays, [3])
    assert [float(text) for _, text in found["cells"]] == pytest.approx(np.load(arrays.path)["x"][3], rel=1e-4)


def test_a_square_of_numbers_is_shown_as_an_image():
    (found,) = shown(Source(None, Data(), load("digits", 0)), [0])
    assert pixels(found["image"]).shape == (8, 8)


def test_images_that_stay_on_disk_are_read(photos):
    paths = np.array([name.encode() for name in photos.dataset.ids])
    made = Dataset("d", Pictures(Path(photos.path), paths, 6, 6), photos.dataset.y_given, None, ("a", "b", "c"))
    found = shown(Source(None, Data(), made), [5])
    assert (pixels(found[0]["image"]) == 81).all()
