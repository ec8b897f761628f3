import shlex
import subprocess
import sys

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from labelnoise.cli import main
from labelnoise.data.dataset import DATASETS
from labelnoise.data.factor import OPTIONS
from labelnoise.data.standard import convert
from labelnoise.data.standard.cache import save
from labelnoise.data.standard.catalogue import CARDS
from labelnoise.noise import load_corrupted


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    """A data root with three training and two test images of CIFAR-10, one of which people label wrongly."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABELNOISE_DATA", str(tmp_path / "root"))
    pixels, labels = np.zeros((5, 3, 32, 32), np.uint8), np.array([0, 1, 2, 0, 1])
    save(CARDS["cifar10"], {"x": (pixels,), "y": (labels,)}, {"train": 3, "classes": ["plane", "car", "bird"]})
    save(CARDS["cifar10n"], {"clean_label": (labels[:3],), "worse_label": (np.array([0, 1, 0]),)}, {})
    return tmp_path / "root"


def typed(*words):
    return CliRunner().invoke(main, ["data", *words])


def test_the_list_has_every_name_and_says_what_is_ready(root):
    lines = typed("list").output.splitlines()
    rows = {line.split()[0]: line for line in lines[1:] if line and not line.startswith("rows + rows")}
    assert set(rows) == set(DATASETS)
    ready = {name for name, row in rows.items() if "  yes  " in row}
    built_in = set(DATASETS) - {name for card in CARDS.values() for name in card.names}
    assert ready == built_in | {"cifar10", *CARDS["cifar10n"].names}
    assert lines[-1].endswith(f"data root: {root}")


def test_the_list_tells_rows_classes_and_shape():
    rows = {line.split()[0]: line.split() for line in typed("list").output.splitlines() if line}
    assert rows["svhn"][:10] == ["svhn", "73,257", "+", "26,032", "10", "3", "×", "32", "×", "32"]
    assert rows["digits"][:8] == ["digits", "1,797", "10", "1", "×", "8", "×", "8"]


def test_what_is_not_ready_is_told_how_to_get():
    result = typed("info", "svhn")
    for part in ("licence        non-commercial use only", "http://ufldl.stanford.edu/housenumbers", "246 MB"):
        assert part in result.output
    assert (
        "not ready      type `labelnoise data fetch svhn`, or get train_32x32.mat and test_32x32.mat" in result.output
    )


def test_of_what_is_ready_classes_and_wrong_labels_are_counted():
    output = typed("info", "cifar10n:worst").output
    assert "rows           5, of which 2 for the test\n" in output
    assert "classes        3: plane (2), car (1), bird (0)\n" in output
    assert "wrong labels   33.33 % outside the test part\n" in output
    assert "by default     network resnet32, 40 epochs, batches of 64\n" in output


def test_without_its_images_a_set_of_labels_is_not_ready(root):
    (root / "cifar10.npz").unlink()
    assert "not ready      type `labelnoise data fetch cifar10`" in typed("info", "cifar10n").output


def test_the_augmentation_of_a_card_can_be_typed_as_it_stands():
    (line,) = (line for line in typed("info", "cifar10").output.splitlines() if line.startswith("augmentation"))
    words = shlex.split(line.removeprefix("augmentation"))
    command = ["train", "--data", "digits", "--print-config", "--methods", "ce", *words]
    found = yaml.safe_load(CliRunner().invoke(main, command).output)["train"]["augment"]
    assert (found["crop"], found["flip"]) == (4, True)
    assert (found["mean"], found["std"]) == ([0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616])


def test_built_in_data_are_described():
    output = typed("info", "moons").output
    assert "classes        2: upper (1,000), lower (1,000)\n" in output
    assert "inputs         2\n" in output


def test_a_file_of_ones_own_is_read_and_not_trained(tmp_path):
    lines = ["id,size,kind,truth", *(f"r{i},{i},{'ab'[i % 2]},{'ab'[i % 2 if i else 1]}" for i in range(10))]
    (tmp_path / "mine.csv").write_text("\n".join(lines))
    columns = ["--label-column", "kind", "--true-label-column", "truth", "--id-column", "id"]
    result = typed("info", "mine.csv", *columns)
    assert result.exit_code == 0, result.output
    for line in (
        "rows           10",
        "classes        2: a (5), b (5)",
        "wrong labels   10.00 %",
        "network mlp, 40 epochs",
    ):
        assert line in result.output
    assert "note           inputs are made of 1 column" in result.output
    assert "unknown, for there are no true ones" in typed("info", "mine.csv", "--label-column", "kind").output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.csv", "root"]


def test_of_many_classes_the_rarest_and_the_commonest_are_named(tmp_path):
    rows = [f"{number},{label}" for label in range(30) for number in range(2 + (label == 7) - (label == 9))]
    (tmp_path / "mine.csv").write_text("\n".join(["size,label", *rows]))
    assert "classes        30, from 1 rows (9) to 3 (7)\n" in typed("info", "mine.csv").output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["info", "minst"], "unknown data set 'minst', and no file or folder of that name; did you mean 'mnist'?"),
        (["info", "cifar10n:wurst"], "did you mean 'cifar10n:worst'?"),
        (["info", "nowhere.csv"], "there is no file or folder 'nowhere.csv'"),
        (["info", "digits", "--label-column", "y"], "--label-column is for data of one's own, which 'digits' is not"),
        (["info", "minst", "--label-column", "y"], "unknown data set 'minst', and no file or folder of that name"),
        (["info", "digits", "data.drop=[a]"], "data.drop is for data of one's own, which 'digits' is not"),
        (["info", "a.csv", "train.epochs=5"], "only how data are read can be set here, such as data.drop=[name]"),
        (["info", "a.csv", "data.source=b.csv"], "only how data are read can be set here"),
        (["info", "a.csv", "data.dorp=[a]"], "data: unknown key 'dorp'; did you mean 'drop'?"),
        (["info", "a.csv", "data.drop=a"], "data.drop must be a list, such as [a, b]"),
        (["convert", "mnist", "root"], "holds no file 'train-images-idx3-ubyte'"),
        (["convert", "digits", "root"], "unknown standard data set 'digits'"),
        (["convert", "cifar10", "root"], "cifar10.npz exists; use --force to replace it"),
        (["fetch", "imagenet"], "imagenet cannot be downloaded by a program; get the folder with train/ and val/"),
        (["fetch", "digits"], "unknown standard data set 'digits'"),
    ],
)
def test_mistakes_are_one_sentence_and_code_2(words, sentence):
    result = typed(*words)
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1


def test_settings_without_an_option_are_keys(tmp_path):
    (tmp_path / "mine.csv").write_text("size,zip,label\n1,10,a\n2,20,b\n3,30,b\n")
    told = typed("info", "mine.csv", "data.drop=[zip]").output
    assert "note           inputs are made of 1 column: size (numbers)\n" in told
    typed("corrupt", "mine.csv", "data.categorical=[zip]", "--noise", "none", "--out", "a.npz")
    assert load_corrupted("a.npz")[0].shape == (4,)


def test_a_file_is_converted_and_its_place_printed(tmp_path, root, monkeypatch):
    monkeypatch.setitem(convert.READERS, "mnist", lambda *_: convert.Content({"y": (np.arange(3),)}))
    (tmp_path / "official").mkdir()
    expected = f"reading official\nchecked: MD5 of each idx file, unpacked\n{root}/mnist.npz\n"
    assert typed("convert", "mnist", "official").output == expected
    assert typed("convert", "mnist", "official", "--force").output == expected


def test_data_with_noise_are_saved_with_what_is_known_of_it(tmp_path):
    result = typed("corrupt", "digits", "--noise", "instance:0.45", "--seed", "3", "--out", "noisy.npz")
    assert result.exit_code == 0, result.output
    dataset, found = load_corrupted(tmp_path / "noisy.npz")
    assert (found.definition, found.seed) == ("instance:0.45:raw", 3)
    rate = 100 * dataset.noise_rate
    said = f"instance:0.45:raw, seed 3: 45.00 % of labels were expected to become wrong; wrong now: {rate:.2f} %"
    assert result.output.splitlines() == [said, "noisy.npz"]


def test_saved_data_with_noise_are_described_and_trained_on(tmp_path):
    typed("corrupt", "moon", "--noise", "score:0.3", "--out", "noisy.npz")
    output = typed("info", "noisy.npz").output
    assert "rows           20,000, of which 10,000 for the test\n" in output
    wrong = float(output.split("wrong labels")[1].split("%")[0])
    assert abs(wrong - 30) < 2
    words = ["train", "--data", "noisy.npz", "--methods", "ce", "--epochs", "1", "--seeds", "1", "--quiet"]
    assert CliRunner().invoke(main, words).exit_code == 0


def test_ones_own_data_get_noise_too(tmp_path):
    (tmp_path / "mine.csv").write_text("a,kind\n" + "1.5,cat\n2.5,dog\n" * 50)
    result = typed("corrupt", "mine.csv", "--label-column", "kind", "--noise", "pair:0.2:exact", "--out", "noisy.npz")
    assert "expected to become wrong; wrong now: 20.00 %, if the labels before noise were right\n" in result.output


def test_noise_upon_noise_and_odd_noise_are_said(tmp_path):
    typed("corrupt", "moon", "--noise", "score:0.3", "--out", "once.npz")
    said = typed("corrupt", "once.npz", "--noise", "instance:0.1", "--out", "twice.npz").output.splitlines()
    assert said[0] == "with two classes instance noise does not depend on the input; score does"
    rate = 100 * load_corrupted(tmp_path / "once.npz")[1].realised_rate
    assert said[1].endswith(f"; {rate:.2f} % were before")


def test_of_labels_whose_truth_is_unknown_nothing_is_claimed(tmp_path):
    (tmp_path / "mine.csv").write_text("a,label\n" + "1.5,cat\n2.5,dog\n" * 50)
    said = typed("corrupt", "mine.csv", "--noise", "none", "--out", "plain.npz").output
    assert "wrong now: unknown, for there are no true ones\n" in said


@pytest.mark.parametrize("there", ["noisy.npz", "noisy.json"])
def test_saved_data_do_not_replace_a_file(tmp_path, there):
    (tmp_path / there).write_text("precious")
    words = ["corrupt", "digits", "--noise", "pair:0.2", "--out", "noisy.npz"]
    refused = typed(*words)
    assert refused.exit_code == 2
    assert f"{there} exists; choose another name, or replace it with --force" in refused.output
    assert (tmp_path / there).read_text() == "precious"
    assert typed(*words, "--force").exit_code == 0
    assert load_corrupted(tmp_path / "noisy.npz")[1].seed == 0


def test_the_help_of_the_group_imports_no_torch():
    code = "import sys; from labelnoise.cli import main; main(['data', '--help'], standalone_mode=False);"
    code += "sys.exit(bool({'torch', 'numpy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0


def test_settings_that_sentences_call_options_are_those_that_commands_have():
    options = main.commands["data"].commands["info"].params
    assert {each.name for each in options} - {"source", "keys"} == set(OPTIONS)
