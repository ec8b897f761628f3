from dataclasses import replace

import pytest
import torch

from labelnoise.config import Augment
from labelnoise.data.augment import augment, check, draw, normalise, to_float
from labelnoise.errors import InputError
from labelnoise.rng import Rng

IMAGES = Rng(0, "images", dtype=torch.float64).uniform(6, 3, 5, 7)


def cropped(x, top, left, padding):
    """One pixel at a time; beyond the edge is zero."""
    out = torch.zeros_like(x)
    n, _, height, width = x.shape
    for i in range(n):
        for row in range(height):
            for column in range(width):
                r, c = row + top[i] - padding, column + left[i] - padding
                if 0 <= r < height and 0 <= c < width:
                    out[i, :, row, column] = x[i, :, r, c]
    return out


def test_a_crop_is_the_shifted_image_with_zeros_beyond_the_edge():
    settings = Augment(crop=2)
    draws = {"top": torch.tensor([0, 1, 2, 3, 4, 2]), "left": torch.tensor([4, 0, 2, 1, 3, 0])}
    expected = cropped(IMAGES, draws["top"].tolist(), draws["left"].tolist(), 2)
    assert torch.equal(augment(IMAGES, draws, settings), expected)


def test_a_flip_mirrors_the_chosen_images_left_to_right():
    out = augment(IMAGES, {"flip": torch.tensor([0, 1, 0, 0, 1, 1])}, Augment(flip=True))
    expected = torch.stack([x[:, :, list(range(6, -1, -1))] if i in (1, 4, 5) else x for i, x in enumerate(IMAGES)])
    assert torch.equal(out, expected)


def test_upside_down_mirrors_the_chosen_images_top_to_bottom():
    out = augment(IMAGES, {"upside_down": torch.tensor([0, 1, 0, 0, 1, 1])}, Augment(upside_down=True))
    expected = torch.stack([x[:, list(range(4, -1, -1))] if i in (1, 4, 5) else x for i, x in enumerate(IMAGES)])
    assert torch.equal(out, expected)


def test_of_turned_images_a_flip_is_what_upside_down_is_of_upright_ones():
    chosen = torch.tensor([0, 1, 0, 0, 1, 1])
    turned = augment(IMAGES.mT, {"flip": chosen}, Augment(flip=True))
    assert torch.equal(turned.mT, augment(IMAGES, {"upside_down": chosen}, Augment(upside_down=True)))


def test_a_rotation_by_nothing_is_the_identity():
    out = augment(IMAGES, {"angle": torch.zeros(6)}, Augment(rotation=30))
    torch.testing.assert_close(out, IMAGES, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("degrees", "turns"), [(90.0, 1), (-90.0, -1), (180.0, 2)])
def test_a_rotation_by_quarter_turns_goes_counter_clockwise(degrees, turns):
    square = IMAGES[..., :5]
    out = augment(square, {"angle": torch.full((6,), degrees)}, Augment(rotation=180))
    torch.testing.assert_close(out, torch.rot90(square, turns, (2, 3)), rtol=0, atol=1e-6)


def test_a_rotated_oblong_is_not_sheared():
    # a quarter turn of a (5, 7) image keeps its middle (5, 5) square turned, and brings in zeros at both sides
    out = augment(IMAGES, {"angle": torch.full((6,), 90.0)}, Augment(rotation=90))
    torch.testing.assert_close(out[..., 1:6], torch.rot90(IMAGES[..., 1:6], 1, (2, 3)), rtol=0, atol=1e-6)
    assert out[..., [0, 6]].abs().max() < 1e-6


def test_each_image_is_rotated_by_its_own_angle():
    angles = torch.tensor([0.0, 10, -20, 30, -40, 50])
    settings = Augment(rotation=50)
    together = augment(IMAGES, {"angle": angles}, settings)
    alone = torch.cat([augment(IMAGES[i : i + 1], {"angle": angles[i : i + 1]}, settings) for i in range(6)])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-12)


def test_crop_comes_before_flip_and_flip_before_rotation():
    settings = Augment(crop=1, flip=True, upside_down=True, rotation=90)
    square = IMAGES[..., :5]
    draws = draw(settings, 6, Rng(0, "augment"))
    x = augment(square, draws, Augment(crop=1))
    x = augment(x, draws, Augment(flip=True, upside_down=True))
    x = augment(x, draws, Augment(rotation=90))
    assert torch.equal(augment(square, draws, settings), x)


def test_augmentation_can_be_mapped_over_runs():
    settings = Augment(crop=1, flip=True, rotation=20)
    draws = [draw(settings, 6, Rng(seed, "augment")) for seed in (0, 1)]
    stacked = {name: torch.stack([one[name] for one in draws]) for name in draws[0]}
    packed = torch.func.vmap(lambda draws: augment(IMAGES, draws, settings))(stacked)
    alone = torch.stack([augment(IMAGES, one, settings) for one in draws])
    torch.testing.assert_close(packed, alone, rtol=0, atol=1e-12)


def test_augmentation_never_looks_at_values():
    # tensors without values: whatever would wait for a device raises
    settings = Augment(crop=1, flip=True, rotation=20, mean=(0.5,) * 3, std=(0.2,) * 3)
    draws = {name: values.to("meta") for name, values in draw(settings, 6, Rng(0, "augment")).items()}
    assert normalise(augment(IMAGES.to("meta"), draws, settings), settings).shape == IMAGES.shape


def test_draws_are_made_only_for_what_is_asked():
    asked = [Augment(), Augment(crop=2), Augment(flip=True), Augment(upside_down=True), Augment(rotation=5)]
    drawn = [set(draw(settings, 4, Rng(0, "augment"))) for settings in asked]
    assert drawn == [set(), {"top", "left"}, {"flip"}, {"upside_down"}, {"angle"}]


def test_draws_fill_their_ranges():
    draws = draw(Augment(crop=2, flip=True, rotation=30), 2000, Rng(0, "augment"))
    assert {name: values.shape for name, values in draws.items()} == dict.fromkeys(draws, (2000,))
    assert set(draws["top"].tolist()) == set(draws["left"].tolist()) == {0, 1, 2, 3, 4}
    assert set(draws["flip"].tolist()) == {0, 1}
    assert -30 <= draws["angle"].min() < -29
    assert 29 < draws["angle"].max() <= 30


@pytest.mark.parametrize("lead", [(6,), (2, 3)])
def test_images_are_normalised_channel_by_channel(lead):
    settings = Augment(mean=(0.1, 0.2, 0.3), std=(0.5, 0.25, 2.0))
    out = normalise(IMAGES.view(*lead, 3, 5, 7), settings)
    for channel, (mean, std) in enumerate(zip(settings.mean, settings.std, strict=True)):
        expected = (IMAGES[:, channel] - mean) / std
        torch.testing.assert_close(out.view(6, 3, 5, 7)[:, channel], expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("shape", [(4, 2), (2, 2, 2)])
def test_vectors_are_normalised_feature_by_feature(shape):
    x = torch.arange(8.0).view(shape)
    expected = torch.stack([x[..., 0] - 1, (x[..., 1] - 2) / 4], -1)
    assert torch.equal(normalise(x, Augment(mean=(1, 2), std=(1, 4))), expected)


def test_without_mean_and_std_nothing_is_normalised():
    assert normalise(IMAGES, Augment()) is IMAGES


def test_pixels_become_floats_on_the_unit_interval():
    assert to_float(torch.tensor([0, 51, 255], dtype=torch.uint8)).tolist() == pytest.approx([0, 0.2, 1], abs=1e-7)


def test_floats_stay_as_they_are():
    assert to_float(IMAGES) is IMAGES


@pytest.mark.parametrize(
    ("settings", "shape", "message"),
    [
        (Augment(crop=2), (64,), "crop needs images, (channels, height, width), but an input has shape (64,)"),
        (Augment(flip=True), (8, 8), "flip needs images, (channels, height, width), but an input has shape (8, 8)"),
        (
            Augment(upside_down=True),
            (2,),
            "upside_down needs images, (channels, height, width), but an input has shape (2,)",
        ),
        (Augment(rotation=5), (2,), "rotation needs images, (channels, height, width), but an input has shape (2,)"),
        (Augment(crop=9), (1, 8, 9), "crop must lie between 0 and the image size 8, not 9"),
        (Augment(crop=-1), (1, 8, 8), "crop must lie between 0 and the image size 8, not -1"),
        (Augment(rotation=-5), (1, 8, 8), "rotation must lie between 0 and 180 degrees, not -5"),
        (
            Augment(mean=(0.1, 0.2)),
            (3, 8, 8),
            "mean has 2 entries, but an input has shape (3, 8, 8); give one per channel",
        ),
        (Augment(std=(0.1,)), (2,), "std has 1 entries, but an input has shape (2,); give one per channel"),
        (Augment(mean=(0.1,) * 4), (4, 4), "mean has 4 entries, but an input has shape (4, 4); give one per channel"),
        (Augment(std=(0.1, 0.0)), (2,), "every entry of std must be above 0, but it is (0.1, 0.0)"),
    ],
)
def test_settings_that_do_not_fit_are_refused_with_a_sentence(settings, shape, message):
    with pytest.raises(InputError) as error:
        check(settings, shape)
    assert str(error.value) == message


@pytest.mark.parametrize(("settings", "shape"), [(Augment(), (64,)), (Augment(mean=(0.5,) * 2), (2,))])
def test_vectors_may_be_normalised_but_not_augmented(settings, shape):
    assert check(settings, shape) is None
    with pytest.raises(InputError):
        check(replace(settings, flip=True), shape)
