from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from labelnoise.data.pictures import Pictures, read_windows
from labelnoise.errors import InputError


def saved(path, width, height, mode="RGB"):
    """A PNG whose red grows by one from column to column and whose green grows by one from row to row."""
    row, column = np.mgrid[:height, :width].astype(np.uint8)
    Image.fromarray(np.stack([column, row, np.zeros_like(row)], -1)).convert(mode).save(path)
    return str(path)


def test_it_has_the_shape_and_type_of_the_tensor_in_whose_place_it_stands():
    pictures = Pictures(Path("somewhere"), np.array([b"a.jpg", b"b/c.jpg"]), size=8, resize=10)
    assert pictures.shape == (2, 3, 8, 8)
    assert pictures.dtype == torch.uint8
    assert len(pictures) == 2


def test_names_are_the_paths_from_the_folder_on_also_where_they_are_no_ascii():
    assert Pictures(Path("x"), np.array(["ä,1.jpg".encode(), b"b.jpg"])).names == ("ä,1.jpg", "b.jpg")


def test_files_of_rows_are_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pictures = Pictures(Path("here"), np.array([b"a.jpg", b"b.jpg", b"c.jpg"]))
    assert pictures.files([2, 0]) == [str(tmp_path / "here" / "c.jpg"), str(tmp_path / "here" / "a.jpg")]


def test_a_window_larger_than_the_image_is_refused():
    with pytest.raises(InputError, match="a window of 9 pixels does not fit images scaled to 8; cut less"):
        Pictures(Path("x"), np.array([b"a"]), size=9, resize=8)


@pytest.mark.parametrize(("width", "height"), [(20, 10), (10, 20), (10, 10)])
def test_without_places_the_window_lies_in_the_middle(tmp_path, width, height):
    (window,) = read_windows([saved(tmp_path / "a.png", width, height)], [0], None, size=6, resize=10)
    top, left = (height - 6) // 2, (width - 6) // 2
    assert window[0].tolist() == [list(range(left, left + 6))] * 6
    assert window[1].tolist() == [[row] * 6 for row in range(top, top + 6)]
    assert not window[2].any()


def test_places_reach_every_window_and_no_further(tmp_path):
    file = saved(tmp_path / "a.png", 12, 10)
    ends = np.nextafter(np.float32([[0, 0], [1, 1]]), np.float32(0))
    first, last = read_windows([file], [0, 0], ends, size=6, resize=10)
    assert (first[1, 0, 0], first[0, 0, 0]) == (0, 0)
    assert (last[1, -1, -1], last[0, -1, -1]) == (9, 11)
    even = np.stack([np.full(700, 0.5), (np.arange(700) + 0.5) / 700], 1).astype(np.float32)
    lefts = read_windows([file], [0] * 700, even, size=6, resize=10)[:, 0, 0, 0]
    assert lefts.bincount().tolist() == [100] * 7


def test_each_window_is_cut_from_the_file_it_names(tmp_path):
    files = [saved(tmp_path / f"{side}.png", side, side) for side in (8, 10, 12)]
    together = read_windows(files, [2, 0, 2, 1], None, size=8, resize=8)
    alone = [read_windows([files[which]], [0], None, size=8, resize=8)[0] for which in (2, 0, 2, 1)]
    assert torch.equal(together, torch.stack(alone))


@pytest.mark.parametrize(("width", "height"), [(30, 60), (61, 30), (7, 9), (999, 30)])
def test_the_short_side_is_scaled_and_the_shape_kept(tmp_path, width, height):
    # Of an image that is one third black, two thirds white the middle window shows the border where it is.
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[height // 3 :] = 255
    Image.fromarray(pixels).save(tmp_path / "a.png")
    (window,) = read_windows([str(tmp_path / "a.png")], [0], None, size=20, resize=20)
    scaled = round(height * 20 / min(width, height))
    border = (height // 3) / height * scaled - (scaled - 20) // 2
    assert abs((window[0, :, 10] < 128).sum().item() - min(max(border, 0), 20)) <= 1


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "CMYK", "1"])
def test_images_of_any_mode_become_rgb(tmp_path, mode):
    path = tmp_path / ("a.tif" if mode == "CMYK" else "a.png")
    saved(path, 10, 10, mode)
    assert read_windows([str(path)], [0], None, size=8, resize=10).shape == (1, 3, 8, 8)


def test_a_large_jpeg_is_decoded_at_less_than_its_size_to_nearly_the_same_pixels(tmp_path):
    smooth = Image.fromarray(np.random.default_rng(0).integers(0, 256, (4, 4, 3), np.uint8)).resize((800, 800))
    smooth.save(tmp_path / "a.jpg", quality=95)
    (window,) = read_windows([str(tmp_path / "a.jpg")], [0], None, size=96, resize=96)
    exact = np.asarray(smooth.resize((96, 96), Image.Resampling.BILINEAR)).transpose(2, 0, 1).astype(int)
    assert np.abs(window.numpy() - exact).max() <= 6


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, r"^there is no image \S*a\.jpg; put it back, or convert the data set again$"),
        (b"", r"^\S*a\.jpg cannot be read as an image; mend it or replace it$"),
        (b"no image at all", r"^\S*a\.jpg cannot be read as an image; mend it or replace it$"),
        ("truncated", r"^\S*a\.jpg cannot be read as an image; mend it or replace it$"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, content, sentence):
    path = tmp_path / "a.jpg"
    if content == "truncated":
        Image.effect_noise((64, 64), 50).save(path)
        content = path.read_bytes()[:-200]
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        read_windows([str(path)], [0], None, size=8, resize=8)
