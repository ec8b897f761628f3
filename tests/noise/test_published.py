import numpy as np
import pytest

from labelnoise.errors import InputError
from labelnoise.noise import flip, parse
from labelnoise.noise.published import class_map

# Wei & Liu's label files: realised rate, and the determinant of the matrix that they were drawn with.
RELEASED = {
    ("cifar10", "sparse:low"): (0.2002, 0.6**5),
    ("cifar10", "sparse:high"): (0.4017, 0.2**5),
    ("cifar10", "uniform:low"): (0.1800, 0.8**9),
    ("cifar10", "uniform:high"): (0.5310, 0.41**9),
    ("cifar10", "random:0.5"): (0.4490, 0.5**9),
    ("cifar10", "random:0.7"): (0.6290, 0.3**9),
    ("mnist", "sparse:low"): (0.250, 0.5**5),
    ("mnist", "sparse:high"): (0.450, 0.1**5),
    ("mnist", "uniform:low"): (0.422, 0.53**9),
    ("mnist", "uniform:high"): (0.739, 0.178**9),
    ("fashion_mnist", "uniform:low"): (0.423, 0.53**9),
    ("fashion_mnist", "uniform:high"): (0.740, 0.178**9),
    ("mnist", "random:0.2"): (0.1787, 0.8**9),
    ("mnist", "random:0.7"): (0.6277, 0.3**9),
}
MNIST_COUNTS = np.array([5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949])


@pytest.mark.parametrize(("dataset", "text"), RELEASED)
def test_released_matrices_have_the_rate_and_determinant_of_their_files(dataset, text):
    T, (rate, determinant) = parse(text, 10, dataset).T, RELEASED[dataset, text]
    counts = MNIST_COUNTS if dataset == "mnist" else np.full(10, 1)
    expected = ((1 - np.diag(np.asarray(T))) * counts).sum() / counts.sum()
    assert abs(expected - rate) < 0.003  # four standard deviations of a file of 50,000 labels are 0.009
    assert np.linalg.det(np.asarray(T)) == pytest.approx(determinant, rel=1e-9)


def test_the_sparse_noise_of_cifar100_has_fifty_pairs_whose_rates_sum_to_about_0_8():
    T = np.asarray(parse("sparse:high", 100, "cifar100").T)
    off = T - np.diag(np.diag(T))
    assert ((off > 0).sum(1) == 1).all()
    partner = off.argmax(1)
    assert (partner[partner] == np.arange(100)).all()
    sums = off.max(1) + off.max(1)[partner]
    assert sums.mean() == pytest.approx(0.805, abs=0.002)
    assert off.sum() / 100 == pytest.approx(0.4027, abs=1e-4)
    assert (T[0, 17], T[17, 0], T[96, 91]) == (0.052, 0.778, 0.120)


def test_the_uniform_noise_of_cifar100_is_uniform_off_the_diagonal_with_the_files_rate():
    T = np.asarray(parse("uniform:low", 100, "cifar100").T)
    e = np.array([np.delete(T[:, j], j) for j in range(100)])
    np.testing.assert_allclose(e, e[:, :1].repeat(99, 1))
    assert e[:, 0].sum() == pytest.approx(0.2473, abs=1e-9)
    assert (1 - np.diag(T)).mean() == pytest.approx(0.2448, abs=1e-4)
    assert e.max() < 0.0055


@pytest.mark.parametrize(
    ("text", "rate"),
    [("sparse:low", 0.2), ("sparse:high", 0.4), ("uniform:low", 0.2), ("uniform:high", 0.55)],
)
@pytest.mark.parametrize("dataset", ["mnist", "fashion_mnist", "cifar10"])
def test_stated_noise_has_the_rate_that_the_paper_tells(dataset, text, rate):
    assert parse(f"{text}:stated", 10, dataset).T.rate() == pytest.approx(rate)


@pytest.mark.parametrize(("text", "rate"), [("sparse:high:stated", 0.4), ("uniform:low:stated", 0.25)])
def test_stated_noise_of_cifar100_has_the_rate_that_the_paper_tells(text, rate):
    assert parse(text, 100, "cifar100").T.rate() == pytest.approx(rate)


def test_other_data_of_a_hundred_classes_are_not_taken_for_cifar100():
    assert parse("uniform:high", 100).T.rate() == pytest.approx(0.55)
    T = np.asarray(parse("sparse:low", 100).T)
    assert (T[0, 1], T[1, 0], T[98, 99]) == (0.3, 0.1, 0.3)


def test_stated_pairs_of_cifar100_are_disjoint_and_not_neighbours():
    T = np.asarray(parse("sparse:high:stated", 100, "cifar100").T)
    off = T - np.diag(np.diag(T))
    partner = off.argmax(1)
    assert (partner[partner] == np.arange(100)).all()
    assert (np.abs(partner - np.arange(100)) > 1).mean() > 0.9


def test_released_is_meant_where_a_file_was_released_and_stated_elsewhere():
    assert parse("sparse:high", 10, "mnist").definition == "sparse:high:released"
    assert parse("sparse:high", 10, "digits").definition == "sparse:high:stated"


def test_exact_goes_without_saying_where_files_were_drawn_so():
    assert parse("uniform:high:released:exact", 10, "mnist").definition == "uniform:high:released"
    assert parse("sparse:high:released:exact", 10, "cifar10").definition == "sparse:high:released:exact"


def test_labels_of_exact_files_have_exact_counts():
    y = np.repeat(np.arange(10), MNIST_COUNTS)
    T = np.asarray(parse("uniform:high", 10, "mnist").T)
    given = flip(y, T, seed=0, exact=True)
    for true, size in enumerate(MNIST_COUNTS):
        counts = np.bincount(given[y == true], minlength=10)
        assert np.abs(counts - size * T[true]).max() < 1


@pytest.mark.parametrize(
    ("dataset", "classes", "name", "rate"),
    [
        ("mnist", 10, "patrini", 0.5),
        ("digits", 10, "patrini", 0.5),
        ("cifar10", 10, "patrini", 0.5),
        ("cifar10", 10, "englesson_text", 0.4),
        ("cifar10", 10, "dmi", 0.4),
        ("cifar100", 100, "next", 1.0),
        ("cifar100", 100, "patrini", 1.0),
        ("cifar100", 100, "superclass", 1.0),
        ("moons", 2, "first", 0.5),
    ],
)
def test_maps_affect_the_share_of_classes_that_their_papers_tell(dataset, classes, name, rate):
    assert parse(f"asymmetric:0.3:{name}", classes, dataset).T.rate() == pytest.approx(0.3 * rate)


def test_asymmetric_mnist_noise_flips_0_4949_of_the_rate_on_the_training_set():
    T = parse("asymmetric:0.4", 10, "mnist").T
    wrong = ((1 - np.diag(np.asarray(T))) * MNIST_COUNTS).sum() / 60_000
    assert wrong == pytest.approx(0.4 * 29_693 / 60_000)


def test_patrinis_blocks_of_cifar100_are_five_neighbouring_numbers():
    _, mapping = class_map("cifar100", 100, "patrini")
    assert [mapping[label] for label in (0, 4, 5, 99)] == [1, 0, 6, 95]


def test_superclass_noise_never_leaves_a_superclass():
    fish = {1: 32, 32: 67, 67: 73, 73: 91, 91: 1}  # aquarium fish, flatfish, ray, shark, trout
    _, mapping = class_map("cifar100", 100, "superclass")
    assert {true: mapping[true] for true in fish} == fish
    assert sorted(mapping.values()) == list(range(100))


@pytest.mark.parametrize(
    ("text", "dataset", "classes", "message"),
    [
        (
            "asymmetric:0.3",
            "svhn",
            10,
            "asymmetric noise has no class map for svhn, only for two classes and for digits, mnist, cifar10, "
            "cifar100, cifar10n, cifar100n; use pair or matrix",
        ),
        (
            "asymmetric:0.3:nearest",
            "cifar10",
            10,
            "asymmetric noise for cifar10 has no map 'nearest', only patrini, englesson_text, dmi",
        ),
        (
            "asymmetric:0.3:patrini",
            "",
            2,
            "asymmetric noise for two classes has no map 'patrini', only first",
        ),
        ("uniform:high", "cifar100", 100, "on cifar100 the paper has this noise at one level, low, not high; use low"),
        ("sparse:low", "cifar100n", 100, "on cifar100n the paper has this noise at one level, high, not low; use high"),
        (
            "sparse:low:released",
            "cifar100",
            100,
            "no labels with noise sparse:low were released for cifar100, only sparse:high of cifar10, sparse:high of "
            "cifar100, sparse:high of mnist, sparse:low of cifar10, sparse:low of mnist; use sparse:low:stated",
        ),
    ],
)
def test_noise_that_was_not_published_is_refused_with_a_sentence(text, dataset, classes, message):
    with pytest.raises(InputError) as error:
        parse(text, classes, dataset)
    assert str(error.value) == message
