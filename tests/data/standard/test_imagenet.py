import pytest
from PIL import Image

from labelnoise.data.standard.imagenet import dataset, index
from labelnoise.errors import InputError

WNIDS = ("n01440764", "n02012849", "n03126707")


@pytest.fixture
def folder(tmp_path):
    """Three classes with three, four and five training images and two validation images each."""
    for place, wnid in enumerate(reversed(WNIDS)):
        for part, images in (("train", 5 - place), ("val", 2)):
            (tmp_path / part / wnid).mkdir(parents=True)
            for image in range(images):
                Image.new("RGB", (8, 8)).save(tmp_path / part / wnid / f"{wnid}_{image}.JPEG")
    return tmp_path


def test_rows_are_the_training_images_class_by_class_then_the_validation_images(folder):
    data = dataset(index(folder))
    expected = [f"train/{wnid}/{wnid}_{image}.JPEG" for place, wnid in enumerate(WNIDS) for image in range(3 + place)]
    expected += [f"val/{wnid}/{wnid}_{image}.JPEG" for wnid in WNIDS for image in range(2)]
    assert data.ids == tuple(expected)
    assert data.y_given.tolist() == [0] * 3 + [1] * 4 + [2] * 5 + [0, 0, 1, 1, 2, 2]
    assert data.test.tolist() == list(range(12, 18))
    assert data.noise_rate == 0


def test_classes_are_numbers_of_wordnet_where_there_are_no_names(folder):
    assert dataset(index(folder)).classes == WNIDS


def test_classes_of_one_name_are_told_apart(folder):
    lines = ["n01440764 tench, Tinca tinca", "n02012849 crane", "n03126707 crane", "n99999999 unused"]
    (folder / "LOC_synset_mapping.txt").write_text("\n".join(lines))
    assert dataset(index(folder)).classes == ("tench, Tinca tinca", "crane (n02012849)", "crane (n03126707)")


def test_a_part_of_the_data_set_is_noted(folder):
    expected = "a part of ImageNet: 3 of 1000 classes, 12 of 1281167 training images, 6 of 50000 validation images"
    assert dataset(index(folder)).notes == (expected,)


def test_what_is_no_image_or_class_is_left_out(folder):
    (folder / "train" / WNIDS[0] / "notes.txt").touch()
    (folder / "train" / "other").mkdir()
    assert len(dataset(index(folder))) == 18


def flat(folder):
    for wnid in WNIDS:
        for path in (folder / "val" / wnid).iterdir():
            path.rename(folder / "val" / path.name)
        (folder / "val" / wnid).rmdir()


def emptied(folder):
    for path in (folder / "val" / WNIDS[1]).iterdir():
        path.unlink()


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (
            flat,
            "{0}/val holds no folders of classes such as n01440764; make one for every class and move its images there",
        ),
        (
            lambda folder: (folder / "val").rename(folder / "validation"),
            "there is no folder {0}/val; name the folder with train and val of ImageNet",
        ),
        (
            lambda folder: (folder / "val" / WNIDS[1]).rename(folder / "n02012849"),
            "class n02012849 is in only one of {0}/train and {0}/val; add it to the other",
        ),
        (
            emptied,
            "{0}/val/n02012849 holds no images, whose names end in .jpeg, .jpg, .png; unpack them there",
        ),
    ],
)
def test_what_is_wrong_with_the_folder_is_said(folder, spoil, sentence):
    spoil(folder)
    with pytest.raises(InputError) as error:
        index(folder)
    assert str(error.value) == sentence.format(folder)
