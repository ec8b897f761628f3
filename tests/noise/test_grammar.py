import pytest
import torch

from labelnoise.errors import InputError
from labelnoise.noise import (
    CIFAR10_MAP,
    DIGIT_MAP,
    TransitionMatrix,
    annotators,
    asymmetric,
    expected_rate,
    identity,
    pair,
    parse,
    random_redraw,
    sparse_pairs,
    symmetric,
    voted,
)

UNEVEN = TransitionMatrix.from_rows([[0.7, 0.1, 0.2], [0.0, 0.9, 0.1], [0.45, 0.15, 0.4]])


@pytest.mark.parametrize(
    ("text", "definition", "T"),
    [
        ("none", "none", identity(10)),
        ("symmetric:0.40", "symmetric:0.4", symmetric(10, 0.4)),
        ("symmetric:4e-1:exact", "symmetric:0.4:exact", symmetric(10, 0.4)),
        ("random:0.4", "random:0.4", random_redraw(10, 0.4)),
        ("pair:0.3", "pair:0.3", pair(10, 0.3)),
        ("asymmetric:.3", "asymmetric:0.3:patrini", asymmetric(10, 0.3, DIGIT_MAP)),
        ("sparse:0.3", "sparse:0.3", sparse_pairs(10, 0.3, 0.3)),
        ("sparse:high", "sparse:high:stated", sparse_pairs(10, 0.6, 0.2)),
        ("uniform:low", "uniform:low:stated", symmetric(10, 0.2)),
        ("annotators:0.2", "annotators:0.2:random", voted(annotators(10, 0.2), "random")),
        ("annotators:0.2:worst", "annotators:0.2:worst", voted(annotators(10, 0.2), "worst")),
    ],
)
def test_a_noise_is_read_from_its_text(text, definition, T):
    noise = parse(f" {text} ", 10, "digits")
    assert noise.definition == definition
    assert torch.equal(noise.T.probs, T.probs)
    assert noise.rate == T.rate()


@pytest.mark.parametrize(
    ("text", "definition", "rate"),
    [
        ("instance:0.2", "instance:0.2:raw", expected_rate(0.2)),
        ("instance:0.45:centred", "instance:0.45:centred", expected_rate(0.45)),
        ("instance:0.45:published", "instance:0.45:published", expected_rate(0.45)),
        ("score:0.3", "score:0.3", 0.3),
        ("open_set:0.25", "open_set:0.25", 0.25),
        ("open_set:0.25:circles", "open_set:0.25:circles", 0.25),
    ],
)
def test_a_noise_that_looks_at_inputs_has_a_rate_and_no_matrix(text, definition, rate):
    noise = parse(text, 10)
    assert (noise.definition, noise.rate, noise.T) == (definition, rate, None)


def test_a_definition_means_itself():
    for text in ("asymmetric:0.3", "sparse:low", "uniform:high", "instance:0.4", "annotators:0.1:aggregate"):
        definition = parse(text, 10, "mnist").definition
        assert parse(definition, 10, "mnist").definition == definition


def test_foreign_inputs_must_not_be_those_of_the_same_images():
    with pytest.raises(InputError, match="inputs of cifar10 belong to the classes of cifar10n; name another data set"):
        parse("open_set:0.2:cifar10", 10, "cifar10n:worst")


def test_a_data_set_of_an_unknown_name_is_refused():
    with pytest.raises(InputError, match="unknown data set 'mnits'; did you mean 'mnist'"):
        parse("sparse:high", 10, "mnits")


def test_published_noise_of_another_number_of_classes_is_refused():
    with pytest.raises(InputError, match="sparse:high of cifar100 is for 100 classes, but the data have 10"):
        parse("sparse:high", 10, "cifar100")


def test_a_definition_keeps_every_digit_of_a_rate():
    assert parse("symmetric:0.12345678", 10).definition == "symmetric:0.12345678"


def test_label_sets_of_human_annotators_share_the_noise_of_their_data_set():
    T = parse("asymmetric:0.4", 10, "cifar10n:worst").T
    assert torch.equal(T.probs, asymmetric(10, 0.4, CIFAR10_MAP).probs)


def test_a_noise_matrix_is_read_from_a_file(tmp_path):
    path = tmp_path / "T.csv"
    path.write_text("\ufeff0.7, 0.1,0.2\n\n0,0.9,0.1\n0.45,0.15,0.4\n", encoding="utf-8")
    assert torch.equal(parse(f"matrix:{path}", 3).T.probs, UNEVEN.probs)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("symetric:0.4", "unknown noise 'symetric'; did you mean 'symmetric'?"),
        (
            "",
            "unknown noise ''; known are annotators, asymmetric, instance, matrix, none, open_set, pair, random, "
            "score, sparse, symmetric, uniform",
        ),
        ("symmetric", "noise 'symmetric' needs a rate, as in symmetric:0.4, not ''"),
        ("pair:many", "noise 'pair' needs a rate, as in pair:0.4, not 'many'"),
        ("random:1", "a noise rate must be at least 0 and below 1, not 1.0"),
        ("symmetric:nan", "a noise rate must be at least 0 and below 1, not nan"),
        ("none:0.4", "noise 'none' takes nothing after it, but '0.4' follows"),
        ("symmetric:0.4:0.3", "noise 'symmetric' has no use for '0.3'; leave it out"),
        ("instance:0.4:exact", "noise 'instance' cannot be drawn in exact counts; leave out exact"),
        ("instance:0.4:centered", "noise 'instance' has no variant 'centered'; did you mean 'centred'?"),
        ("instance:1", "a noise rate must be at least 0 and below 1, not 1.0"),
        ("score:-1", "a noise rate must be at least 0 and below 0.5, not -1.0"),
        ("score:0.5", "a noise rate must be at least 0 and below 0.5, not 0.5"),
        ("open_set:1", "a noise rate must be at least 0 and below 1, not 1.0"),
        ("matrix:", "noise 'matrix' needs a file, as in matrix:T.csv"),
        ("open_set:0.2:moons", "inputs of moons belong to the classes of moons; name another data set"),
        ("uniform", "noise 'uniform' needs low or high, as in uniform:low"),
        ("uniform:middle", "noise 'uniform' has no variant 'middle'; known are high, low"),
        ("sparse", "noise 'sparse' needs low, high or a rate, as in sparse:0.4, not ''"),
        ("sparse:medium", "noise 'sparse' needs low, high or a rate, as in sparse:0.4, not 'medium'"),
        ("symmetric:40", "a noise rate must be at least 0 and below 1, not 40.0; write 0.4 for 40 %"),
        ("open_set:0.2:cirles", "unknown data set 'cirles'; did you mean 'circles'?"),
        ("annotators:0.7", "annotators must be at least 2 with a rate from 0 to below 2/3, not 3 with 0.7"),
    ],
)
def test_a_bad_text_is_refused_with_a_sentence(text, message):
    with pytest.raises(InputError) as error:
        parse(text, 2, "moons")
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "1,0\n0,x\n",
            "the noise matrix in PATH cannot be used: line 2 is not a row of numbers between commas",
        ),
        ("1,0\n1\n", "the noise matrix in PATH cannot be used: row 1 has 1 entries, not 2"),
        ("1,0\n", "the noise matrix in PATH cannot be used: row 0 has 2 entries, not 1"),
        ("", "the noise matrix in PATH cannot be used: T must be square with at least two classes, not of shape (0,)"),
        ("1,0\n0.5,0.4\n", "the noise matrix in PATH cannot be used: row 1 of T sums to 0.9, not to 1"),
        ("1,0,0\n0,1,0\n0,0,1\n", "the noise matrix in PATH is for 3 classes, but the data have 2"),
    ],
)
def test_a_bad_matrix_file_is_refused_with_a_sentence(tmp_path, content, message):
    path = tmp_path / "T.csv"
    path.write_text(content)
    with pytest.raises(InputError) as error:
        parse(f"matrix:{path}", 2)
    assert str(error.value) == message.replace("PATH", str(path))


@pytest.mark.parametrize("name", ["missing.csv", "folder", "image.png"])
def test_a_matrix_file_that_cannot_be_read_is_named(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "image.png").write_bytes(b"\x89PNG")
    with pytest.raises(
        InputError, match=rf"^the noise matrix in .*{name} cannot be used: the file .*; name a \.csv file$"
    ):
        parse(f"matrix:{tmp_path / name}", 2)
