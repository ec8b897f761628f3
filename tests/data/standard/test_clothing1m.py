import numpy as np
import pytest
from PIL import Image

from labelnoise.data.loader import Task
from labelnoise.data.split import Splits
from labelnoise.data.standard.clothing1m import BALANCED, CLASSES, TEST_COUNTS, TRAIN, balanced, dataset, index
from labelnoise.data.stream import Stream
from labelnoise.errors import InputError

TRAIN_ROWS, TEST_ROWS = 56, 28


def keys(rows, kind):
    return [f"images/{row % 10}/{row % 7:02}/{row}{kind},123.jpg" for row in range(rows)]


TRAIN_KEYS, TEST_KEYS = keys(TRAIN_ROWS, 1), keys(TEST_ROWS, 2)
NOISY = {key: row % 14 for row, key in enumerate(TRAIN_KEYS)}
CLEAN = {key: (3 * row) % 14 for row, key in enumerate(TEST_KEYS)}


def write(folder, place=".", *, bare_keys=False, bare_folders=False):
    """A small Clothing1M; other images have labels too, and the label files have an order of their own."""
    text = folder / place
    text.mkdir(parents=True, exist_ok=True)

    def shown(key):
        return key.removeprefix("images/") if bare_keys else key

    def pairs(labels):
        others = {"images/0/00/other,1.jpg": 3}
        return "".join(f"{shown(key)} {label}\n" for key, label in reversed({**others, **labels}.items()))

    (text / "category_names_eng.txt").write_text("\n".join([*CLASSES]) + "\n")
    (text / "noisy_train_key_list.txt").write_text("".join(f"{shown(key)}\n" for key in TRAIN_KEYS))
    (text / "clean_test_key_list.txt").write_text("".join(f"{shown(key)}\n" for key in TEST_KEYS))
    (text / "noisy_label_kv.txt").write_text(pairs(NOISY))
    (text / "clean_label_kv.txt").write_text(pairs(CLEAN))
    for key in (*TRAIN_KEYS, *TEST_KEYS):
        path = folder / (key.removeprefix("images/") if bare_folders else key)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return folder


@pytest.mark.parametrize("place", [".", "annotations", "label"])
@pytest.mark.parametrize("bare_keys", [True, False])
@pytest.mark.parametrize("bare_folders", [True, False])
def test_every_layout_in_use_gives_the_same_rows(tmp_path, place, bare_keys, bare_folders):
    data = dataset(index(write(tmp_path, place, bare_keys=bare_keys, bare_folders=bare_folders)))
    expected = [*TRAIN_KEYS, *TEST_KEYS]
    assert data.ids == tuple(key.removeprefix("images/") if bare_folders else key for key in expected)
    assert data.y_given.tolist() == [*NOISY.values(), *CLEAN.values()]
    assert data.y_true is None
    assert data.test.tolist() == list(range(TRAIN_ROWS, TRAIN_ROWS + TEST_ROWS))
    assert data.classes == CLASSES


def test_the_official_figures_are_those_published():
    assert (TRAIN, sum(TEST_COUNTS), len(CLASSES), 14 * BALANCED) == (1_000_000, 10_526, 14, 265_664)


def test_a_part_of_the_data_set_is_noted(tmp_path):
    expected = "a part of Clothing1M: 56 of 1000000 training and 28 of 10526 test images"
    assert dataset(index(write(tmp_path))).notes == (expected,)


def test_images_of_both_parts_are_kept_for_the_test_alone(tmp_path):
    write(tmp_path)
    with (tmp_path / "noisy_train_key_list.txt").open("a") as file:
        file.write(f"{TEST_KEYS[0]}\n")
    data = dataset(index(tmp_path))
    assert len(data) == TRAIN_ROWS + TEST_ROWS
    assert data.notes[-1] == "1 images are in the lists of both parts; they are kept for the test alone"


def test_the_balanced_subset_has_so_many_of_each_noisy_label_and_the_whole_test_part(tmp_path):
    arrays = index(write(tmp_path))
    data = balanced(arrays, 3)
    train = data.y_given[: -len(data.test)]
    assert train.bincount().tolist() == [3] * 14
    assert [NOISY[key] for key in data.ids[:42]] == train.tolist()
    assert data.ids[42:] == tuple(TEST_KEYS)
    assert data.test.tolist() == list(range(42, 42 + TEST_ROWS))
    assert data.name == "clothing1m:balanced"


def test_the_balanced_subset_is_always_the_same_and_no_mere_beginning(tmp_path):
    arrays = index(write(tmp_path))
    one, again = balanced(arrays, 2), balanced(arrays, 2)
    assert one.ids == again.ids
    assert one.ids[:28] != tuple(TRAIN_KEYS[:28])
    assert set(one.ids) < set(balanced(arrays, 3).ids)


def test_a_class_with_too_few_images_cannot_be_balanced(tmp_path):
    sentence = r"needs 5 training images of every class, but there are 4 of 'T-shirt'; use clothing1m, or convert the"
    with pytest.raises(InputError, match=sentence):
        balanced(index(write(tmp_path)), 5)


def changed(name, change):
    def apply(folder):
        path = folder / name
        path.write_text(change(path.read_text()))

    return apply


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (
            lambda folder: (folder / "noisy_label_kv.txt").unlink(),
            "neither {0} nor its annotations or label folder holds noisy_label_kv.txt; name the folder of Clothing1M",
        ),
        (
            changed("noisy_label_kv.txt", lambda text: text.replace(" 5\n", " 14\n", 1)),
            "{0}/noisy_label_kv.txt, line 9: not a key and a label from 0 to 13; download the file again",
        ),
        (
            changed("clean_label_kv.txt", lambda text: "\n" + text.replace(" ", ",", 1)),
            "{0}/clean_label_kv.txt, line 2: not a key and a label from 0 to 13; download the file again",
        ),
        (
            changed("clean_label_kv.txt", lambda text: text.split("\n", 1)[1]),
            "{0}/clean_label_kv.txt has no label of '7/06/272,123.jpg'; download the file again",
        ),
        (
            changed("clean_test_key_list.txt", lambda text: text + TEST_KEYS[3]),
            "{0}/clean_test_key_list.txt lists 1 images twice; download it again",
        ),
        (
            changed("clean_test_key_list.txt", lambda text: text + "images/../../secret.jpg\n"),
            "{0}/clean_test_key_list.txt lists 'images/../../secret.jpg', which lies outside its folder; refused",
        ),
        (
            changed("clean_test_key_list.txt", lambda _: "/etc/secret.jpg\n"),
            "{0}/clean_test_key_list.txt lists '/etc/secret.jpg', which lies outside its folder; refused",
        ),
        (
            changed("category_names_eng.txt", lambda text: text.replace("Shawl\nDress", "Dress\nShawl")),
            f"{{0}}/category_names_eng.txt names other classes than {', '.join(CLASSES)}; "
            "it belongs to another data set",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, spoil, sentence):
    spoil(write(tmp_path))
    with pytest.raises(InputError) as error:
        index(tmp_path)
    assert str(error.value) == sentence.format(tmp_path)


def test_class_names_may_be_spelt_in_other_letters(tmp_path):
    changed("category_names_eng.txt", lambda text: text.replace("T-shirt", "T-Shirt").replace("Down Coat", "Downcoat"))(
        write(tmp_path)
    )
    assert dataset(index(tmp_path)).classes == CLASSES


def test_verified_labels_of_all_test_images_must_have_the_official_counts(tmp_path):
    labels = np.repeat(np.arange(14), TEST_COUNTS).tolist()
    for swapped, expected in ((labels, None), ([13, *labels[1:]], r"^verified test labels have counts \[844, 636,")):
        write(tmp_path)
        whole = keys(sum(TEST_COUNTS), 2)
        pairs = zip(whole, swapped, strict=True)
        (tmp_path / "clean_test_key_list.txt").write_text("\n".join(whole))
        (tmp_path / "clean_label_kv.txt").write_text("\n".join(f"{key} {label}" for key, label in pairs))
        with pytest.raises(InputError, match=expected or "^there is no image"):  # the images themselves are not there
            index(tmp_path)


def test_its_images_are_streamed(tmp_path):
    write(tmp_path)
    for row, key in enumerate((*TRAIN_KEYS, *TEST_KEYS)):
        Image.new("RGB", (300, 260 + row), (row, 0, 0)).save(tmp_path / key, quality=95)
    data = dataset(index(tmp_path))
    rows = np.arange(len(data))
    loader = Stream([Task(data, Splits(*map(data.test.new_tensor, np.split(rows, [50, 56]))), 0)], workers=0)
    (chunk,) = loader.chunks("validation", 10)
    assert chunk.x.shape == (1, 6, 3, 224, 224)
    assert np.allclose(255 * chunk.x[0, :, 0].mean((1, 2)), np.arange(50, 56), atol=2)
    assert chunk.y_given[0].tolist() == list(NOISY.values())[50:]
