import numpy as np
import pytest
import torch
from PIL import Image

from labelnoise.config import Data
from labelnoise.data import read, read_inputs
from labelnoise.data.images import SUFFIXES, Listed, conform, stack
from labelnoise.data.pictures import Pictures, read_windows
from labelnoise.errors import InputError

RNG = np.random.default_rng(0)
GREY = RNG.integers(256, size=(6, 4), dtype=np.uint8)  # height 6, width 4
COLOUR = RNG.integers(256, size=(6, 4, 3), dtype=np.uint8)


def save(folder, images):
    for name, image in images.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        (image if isinstance(image, Image.Image) else Image.fromarray(image)).save(path)


def test_grey_images_have_one_channel_and_colour_three(tmp_path):
    save(
        tmp_path,
        {"g/x/1.png": GREY, "g/y/1.png": GREY.T.copy().reshape(6, 4), "c/x/1.png": COLOUR, "c/y/1.png": COLOUR},
    )
    grey, colour = read(tmp_path / "g"), read(tmp_path / "c")
    assert grey.x[0, 0].tolist() == GREY.tolist()
    assert colour.x[0].tolist() == COLOUR.transpose(2, 0, 1).tolist()
    assert grey.x.dtype == colour.x.dtype == torch.uint8
    assert grey.encoding == {"kind": "images", "shape": [1, 6, 4], "resize": 0}


def test_ids_are_paths_and_classes_are_folders(tmp_path):
    save(tmp_path, {f"{name}.png": GREY for name in ("10/b", "10/a", "9/deep/er/a", ".cache/x/a", "9/.hidden")})
    data = read(tmp_path)
    assert data.classes == ("9", "10")
    assert data.ids == ("10/a.png", "10/b.png", "9/deep/er/a.png")
    assert data.y_given.tolist() == [1, 1, 0]
    assert data.notes == ()


def test_other_files_are_left_out_with_a_note(tmp_path):
    save(tmp_path, {"x/1.png": GREY, "y/1.png": GREY, "beside.png": GREY})
    data = read(tmp_path)
    assert data.notes == ("file 'beside.png' is left out: no image of a class",)
    (tmp_path / "x" / "a.txt").write_text("?")
    assert read(tmp_path).notes == ("2 files, such as 'beside.png', are left out: no image of a class",)
    assert len(data) == 2


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_common_format_is_read(suffix, tmp_path):
    save(tmp_path, {f"x/1{suffix}": np.full((6, 4), 200, np.uint8), f"y/1{suffix}": np.full((6, 4), 200, np.uint8)})
    x = read(tmp_path).x
    assert x.shape[2:] == (6, 4)
    assert (x.int() - 200).abs().max() <= 2  # some formats lose a little


@pytest.mark.parametrize(
    ("mode", "channels"), [("1", 1), ("L", 1), ("LA", 1), ("RGB", 3), ("P", 3), ("RGBA", 3), ("CMYK", 3)]
)
def test_images_of_one_mode_become_grey_or_colour(mode, channels):
    image = Image.fromarray(np.full((6, 4, 3), 255, np.uint8)).convert(mode)
    x, notes, _ = stack([Listed("a", image)] * 2, 0)
    assert x.shape == (2, channels, 6, 4)
    assert x.unique().tolist() == [255]
    assert notes == ()


def test_transparent_parts_are_white_and_noted():
    layers = np.zeros((2, 2, 4), np.uint8)
    layers[0, 0, 3] = 255  # one black pixel that is seen
    x, notes, _ = stack([Listed("a", Image.fromarray(layers))], 0)
    assert x[0].tolist() == [[[0, 255], [255, 255]]] * 3
    assert notes == ("transparent parts of 1 image are shown on white",)


def test_images_of_all_sizes_and_modes_are_scaled_if_so_asked(tmp_path):
    flat = {"x/1.png": np.full((9, 5), 7, np.uint8), "x/2.png": np.full((3, 3, 3), 9, np.uint8)}
    save(tmp_path, flat | {"y/1.png": np.full((20, 30), 11, np.uint8)})
    data = read(tmp_path, Data(image_size=8))
    assert data.shape == (3, 8, 8)
    assert [image.unique().tolist() for image in data.x] == [[7], [9], [11]]
    assert data.encoding == {"kind": "images", "shape": [3, 8, 8], "resize": 8}


def test_scaled_images_stay_grey_if_all_are(tmp_path):
    save(tmp_path, {"x/1.png": GREY, "y/1.png": Image.fromarray(GREY).convert("LA")})
    assert read(tmp_path, Data(image_size=3)).shape == (1, 3, 3)


def test_scaling_down_takes_every_pixel_into_account():
    checks = np.indices((8, 8)).sum(0) % 2 * 255
    x, _, _ = stack([Listed("a", Image.fromarray(checks.astype(np.uint8)))], 2)
    assert (x.float() - 127.5).abs().max() < 8


def test_an_image_of_a_million_pixels_is_read_if_it_is_scaled():
    x, _, _ = stack([Listed("a", Image.new("L", (1000, 1000), 5))], 16)
    assert x.unique().tolist() == [5]


def test_new_images_become_what_the_old_ones_were(tmp_path):
    save(tmp_path, {"old/x/1.png": GREY, "old/y/1.png": COLOUR, "new/1.png": GREY, "new/deep/2.png": COLOUR})
    (tmp_path / "new" / "notes.txt").write_text("?")
    data = read(tmp_path / "old", Data(image_size=5))
    inputs = read_inputs(tmp_path / "new", data.encoding)
    assert torch.equal(inputs.x, data.x)
    assert inputs.ids == ("1.png", "deep/2.png")
    assert inputs.notes == ("file 'notes.txt' is left out: no image of a class",)


@pytest.mark.parametrize("sides", [(12, 12), (20, 12), (12, 31), (7, 9)])
def test_new_images_of_a_model_of_streamed_ones_are_cut_as_these_were(sides, tmp_path):
    image = RNG.integers(256, size=(*sides, 3), dtype=np.uint8)
    save(tmp_path, {"1.png": image})
    pictures = Pictures(tmp_path, np.array([b"1.png"]), size=6, resize=10)
    streamed = read_windows(pictures.files([0]), [0], None, size=6, resize=10)
    assert torch.equal(read_inputs(tmp_path, pictures.encoding).x, streamed)


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (COLOUR, "1.png has 4 × 6 pixels in mode RGB, but the model knows grey images; convert it"),
        (GREY[:5], "1.png has 4 × 5 pixels in mode L, but the model knows 4 × 6 pixels; scale it"),
        (None, "i holds no images; their names end in .png, .jpg, .jpeg, .bmp, .gif, .webp, .tif, .tiff"),
    ],
)
def test_images_that_a_model_cannot_know_are_refused(image, message, tmp_path):
    (tmp_path / "i").mkdir()
    save(tmp_path / "i", {} if image is None else {"1.png": image})
    with pytest.raises(InputError) as error:
        read_inputs(tmp_path / "i", {"kind": "images", "shape": [1, 6, 4], "resize": 0})
    assert str(error.value).endswith(message)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("=cmd().png", "i/=cmd().png: '=cmd().png', the id of an image, is a spreadsheet formula; rename the file"),
        ("=cmd/1.png", "i/=cmd: '=cmd/1.png', the id of an image, is a spreadsheet formula; rename the folder"),
        ("@b/c(1).png", "i/@b: '@b/c(1).png', the id of an image, is a spreadsheet formula; rename the folder"),
    ],
)
def test_new_images_called_like_a_formula_are_refused(name, message, tmp_path):
    save(tmp_path / "i", {"1.png": GREY, name: GREY})
    with pytest.raises(InputError) as error:
        read_inputs(tmp_path / "i", {"kind": "images", "shape": [1, 6, 4], "resize": 0})
    assert str(error.value) == f"{tmp_path}/{message}"


def test_a_class_folder_called_like_a_formula_is_refused(tmp_path):
    save(tmp_path, {"=cmd/1.png": GREY, "y/1.png": GREY})
    with pytest.raises(InputError) as error:
        read(tmp_path)
    assert str(error.value) == (
        f"{tmp_path}/=cmd: '=cmd/1.png', the id of an image, is a spreadsheet formula; rename the folder"
    )


def test_images_are_not_scaled_to_a_million_pixels(tmp_path):
    save(tmp_path, {"x/1.png": GREY, "y/1.png": GREY})
    with pytest.raises(InputError) as error:
        read(tmp_path, Data(image_size=50_000))
    assert str(error.value) == "images of 50000 × 50000 pixels have a million or more; scale them to fewer than 1000"
    assert read(tmp_path, Data(image_size=999)).shape == (1, 999, 999)


def test_images_that_need_too_much_memory_are_refused_before_they_are_read():
    with pytest.raises(InputError) as error:
        stack([Listed("no file", None)] * 100_000, 900)
    assert str(error.value) == (
        "100000 images of 900 × 900 pixels need 75.4 GiB of memory; "  # 81e9 / 2**30
        "give fewer, or scale them down, such as by --image-size 64"
    )


def test_images_for_which_there_is_no_memory_are_refused(monkeypatch):
    def empty(*_):
        raise MemoryError

    monkeypatch.setattr(np, "empty", empty)
    with pytest.raises(InputError, match=r"^2 images of 8192 × 4096 pixels need 0\.0625 GiB of memory; give fewer, "):
        conform([Listed("a", None)] * 2, {"kind": "images", "shape": [1, 4096, 8192], "resize": 0})


def test_colour_after_grey_keeps_what_was_grey():
    shades = [Listed("a", Image.fromarray(GREY)), Listed("b", Image.fromarray(COLOUR))]
    x, _, _ = stack([*shades, shades[0]], 6)
    assert torch.equal(x[0], x[2])
    assert all(torch.equal(x[0, 0], x[0, channel]) for channel in range(3))
