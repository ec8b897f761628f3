import pytest
import torch

from labelnoise.errors import InputError
from labelnoise.methods import build
from labelnoise.methods.ce import CE
from labelnoise.methods.correction import bounded_inverse
from labelnoise.methods.forward import Forward
from labelnoise.types import Context, Snapshot

SNAPSHOT = Snapshot(torch.full((12, 3), 1 / 3), torch.zeros(12), 0.0)
ROWS = [[0.9, 0.1, 0.0], [0.2, 0.7, 0.1], [0.0, 0.3, 0.7]]


def test_an_estimated_matrix_takes_two_stages_and_a_known_one() -> None:
    first, second = Forward().stages()
    assert (first.method, second.restart) == (CE(), ("net",))
    (only,) = Forward(matrix="symmetric").stages()
    assert (only.share, only.restart) == (1.0, ())


def test_a_symmetric_matrix_is_that_of_alpha() -> None:
    T = Forward(matrix="symmetric", alpha=0.3).estimate(SNAPSHOT)["T"]
    torch.testing.assert_close(T, 0.7 * torch.eye(3).double() + 0.1)


def test_a_matrix_may_be_told_in_rows_or_as_a_file(tmp_path) -> None:
    (tmp_path / "T.csv").write_text("\n".join(",".join(map(str, row)) for row in ROWS))
    for matrix in (".9 .1 0; .2 .7 .1; 0 .3 .7", str(tmp_path / "T.csv")):
        torch.testing.assert_close(Forward(matrix=matrix).estimate(SNAPSHOT)["T"], torch.tensor(ROWS).double())


def test_a_settled_method_no_longer_needs_the_file(tmp_path) -> None:
    (tmp_path / "T.csv").write_text("\n".join(",".join(map(str, row)) for row in ROWS))
    settled = Forward(matrix=str(tmp_path / "T.csv")).settled()
    assert settled.matrix == "0.9 0.1 0.0; 0.2 0.7 0.1; 0.0 0.3 0.7"
    assert settled.settled() == settled
    assert Forward().settled() == Forward()


def test_the_preset_smoothing_is_the_use_of_the_label_smoothing_paper() -> None:
    method = build("forward", {"preset": "smoothing", "alpha": 0.2})
    assert (method.matrix, method.alpha, method.noisy_validation) == ("symmetric", 0.2, False)


def test_smoothed_forward_has_the_published_loss(table, labelled) -> None:
    method = Forward(matrix="symmetric", alpha=0.3)
    ctx = Context(aux=method.estimate(SNAPSHOT))
    loss = method.objective({"net": table([[2.0, 0.5, -1.0]] * 3)}, labelled([0, 1, 2]), ctx).loss
    assert loss.item() == pytest.approx((0.43090919 + 1.50191500 + 2.06058994) / 3, abs=1e-8)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"warm_up": 1.0}, "warm_up must lie between 0 and 1, not 1.0"),
        ({"alpha": 1.0}, "alpha must be at least 0 and below 1, not 1.0"),
        ({"matrix": ".9 .1; .2 .8"}, "the setting matrix is for 2 classes, but the data have 3"),
        ({"matrix": ".9 .2; .2 .8"}, "the setting matrix cannot be used: row 0 of T sums to 1.1, not to 1"),
        ({"matrix": ".9 x; .2 .8"}, "the setting matrix cannot be used: T must be a square table of numbers"),
        ({"matrix": ".9 .1"}, "matrix must be estimated, symmetric, a .csv file or rows, not '.9 .1'"),
        ({"alpha": 0.3}, "alpha has no effect here, only with matrix=symmetric; leave it out"),
        ({"matrix": "symmetric", "warm_up": 0.5}, "warm_up has no effect here, only with matrix=estimated"),
        ({"matrix": "symmetric", "quantile": 0.9}, "quantile has no effect here, only with matrix=estimated"),
        ({"matrix": "symetric"}, "matrix must be estimated, symmetric, a .csv file or rows, not 'symetric'"),
        ({"quantile": "abc"}, "quantile must be above 0 and at most 1, 'auto', or None"),
        ({"matrix": "nowhere.csv"}, "the noise matrix in nowhere.csv cannot be used"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence(settings, message) -> None:
    with pytest.raises(InputError, match=message):
        Forward(**settings).estimate(SNAPSHOT)


def test_a_matrix_of_another_size_is_refused_before_anything_is_trained(spec) -> None:
    with pytest.raises(InputError, match="the setting matrix is for 2 classes, but the data have 3"):
        Forward(matrix=".9 .1; .2 .8").networks(spec)


def test_an_inverse_is_exact_down_to_a_hundredth_and_bounded_below() -> None:
    """Of (1 - a) I + a / 3, whose singular values are 1 and 1 - a."""
    kept, lost = (a * torch.full((3, 3), 1 / 3).double() + (1 - a) * torch.eye(3).double() for a in (0.98, 0.999))
    torch.testing.assert_close(bounded_inverse(kept) @ kept, torch.eye(3).double())
    torch.testing.assert_close(bounded_inverse(lost), torch.full((3, 3), 1 / 3).double())
