import importlib.util
import io
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from labelnoise.config import Data
from labelnoise.data import read, read_inputs
from labelnoise.errors import InputError

PIXELS = np.arange(32, dtype=np.uint8).reshape(2, 4, 4)


def split(columns, **features):
    """What the library's own class shows to others."""
    frame = pd.DataFrame(columns)
    return SimpleNamespace(
        features={name: features.get(name, SimpleNamespace(dtype="int64")) for name in columns},
        column_names=list(columns),
        to_pandas=frame.copy,
        info=SimpleNamespace(dataset_name="toy"),
    )


def png(pixels):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "png")
    return {"bytes": file.getvalue(), "path": None}


def test_class_names_keep_their_order_and_minus_one_is_no_label():
    names = SimpleNamespace(names=["zebra", "ant", "bee"])
    data = read(split({"a": [1, 2, 3], "label": [1, -1, 0]}, label=names))
    assert data.name == "toy"
    assert data.classes == ("zebra", "ant", "bee")
    assert data.y_given.tolist() == [1, 0]
    assert data.ids == ("0", "2")


@pytest.mark.parametrize("cells", [[png(image) for image in PIXELS], [Image.fromarray(image) for image in PIXELS]])
def test_images_are_found_in_their_column(cells):
    source = split({"img": cells, "fine": [4, 2]})
    data = read(source, Data(label_column="fine"))
    assert data.x[:, 0].tolist() == PIXELS.tolist()
    assert data.classes == ("2", "4")
    assert read_inputs(source, data.encoding).x[:, 0].tolist() == PIXELS.tolist()


def test_a_damaged_image_is_named_by_its_row():
    with pytest.raises(InputError) as error:
        read(split({"img": [png(PIXELS[0]), {"bytes": b"?", "path": None}], "label": [0, 1]}))
    assert str(error.value) == (
        "the SimpleNamespace, row 1, column 'img' cannot be read as an image; mend it or remove it"
    )


def test_several_parts_are_not_read_as_one():
    parts = SimpleNamespace(column_names={}, keys=lambda: ["train", "test"])
    with pytest.raises(InputError, match=r"^a Hugging Face data set is read from one of its parts, train, test$"):
        read(parts)


def test_a_stream_is_not_read():
    stream = SimpleNamespace(column_names=["a"], features={})
    with pytest.raises(InputError, match=r"^a Hugging Face data set is read from a data set that is not a stream$"):
        read(stream)


@pytest.mark.skipif(not importlib.util.find_spec("datasets"), reason="datasets is not installed")
def test_the_library_itself_is_read():
    import datasets

    label = datasets.ClassLabel(names=["zebra", "ant"])
    images = datasets.Dataset.from_dict(
        {"image": [Image.fromarray(image) for image in PIXELS], "label": [1, 0]},
        datasets.Features({"image": datasets.Image(), "label": label}),
    )
    data = read(images)
    assert data.x[:, 0].tolist() == PIXELS.tolist()
    assert data.classes == ("zebra", "ant")
    numbers = datasets.Dataset.from_dict({"a": [1.0, 3.0], "label": ["u", "v"]})
    assert read(numbers).x.tolist() == [[-1], [1]]
    with pytest.raises(InputError, match="one of its parts, train"):
        read(datasets.DatasetDict({"train": numbers}))
