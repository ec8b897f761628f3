import numpy as np
import pytest
import torch
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.noise.flip import flip
from labelnoise.transition import estimate
from labelnoise.transition.compare import implied_prior

T = torch.tensor([[0.8, 0.2, 0.0], [0.1, 0.7, 0.2], [0.05, 0.15, 0.8]], dtype=torch.float64)
PRIOR = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
REPETITIONS = 60


def world(rows: int, seed: int) -> tuple[Tensor, Tensor]:
    """True and given labels, drawn from the prior and T."""
    generator = torch.Generator().manual_seed(seed)
    true = torch.multinomial(PRIOR, rows, replacement=True, generator=generator)
    return true, flip(true, T, seed=seed)


def test_prior_is_the_one_whose_labels_would_be_as_given() -> None:
    counts = (1000 * PRIOR @ T).round().long()
    labels = torch.arange(3).repeat_interleave(counts)
    torch.testing.assert_close(implied_prior(T, labels), PRIOR, rtol=1e-12, atol=0)


def test_prior_is_one_of_probabilities_where_t_does_not_fit() -> None:
    prior = implied_prior(T, torch.zeros(50, dtype=torch.long))
    assert (prior >= 0).all()
    assert prior.sum().item() == pytest.approx(1)


def test_rate_of_known_pairs_is_the_share_of_wrong_labels() -> None:
    true, given = world(500, 0)
    known = estimate(T[true], given, y_true=true, bootstrap=0)["known"]
    assert known.rate.item() == pytest.approx((true != given).double().mean().item(), abs=1e-12)
    assert known.error is None


def test_errors_are_those_against_the_known_matrix() -> None:
    true, given = world(500, 0)
    estimates = estimate(T[true], given, y_true=true, bootstrap=0)
    expected = np.abs(estimates["anchor"].T.numpy() - estimates["known"].T.numpy()).mean()
    error = estimates["anchor"].error
    assert error is not None
    assert error.mean_absolute.item() == pytest.approx(expected, abs=1e-15)


def test_intervals_are_quantiles_over_resampled_pairs() -> None:
    """The share of wrong labels has a binomial bootstrap, whose quantiles are known."""
    true, given = world(2000, 1)
    known = estimate(T[true], given, y_true=true, bootstrap=1000, methods=("anchor",))["known"]
    rate = (true != given).double().mean().item()
    spread = 1.96 * (rate * (1 - rate) / 2000) ** 0.5
    assert known.rate_interval is not None
    assert known.rate_interval.low.item() == pytest.approx(rate - spread, abs=0.15 * spread)
    assert known.rate_interval.high.item() == pytest.approx(rate + spread, abs=0.15 * spread)


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    """Of sixty 95 % intervals 51 or fewer cover with probability 0.3 %, and all of 60 with 4.6 %."""
    truth = 1 - (PRIOR @ T.diagonal()).item()
    hits = dict.fromkeys(("anchor", "confident", "dual"), 0)
    entries = []  # of the confident joint: anchors are exact here, and their intervals points
    for seed in range(REPETITIONS):
        true, given = world(1000, seed)
        found = estimate(T[true], given, methods=("anchor", "confident"), bootstrap=100, seed=seed).methods
        found |= estimate(torch.eye(3)[true], given, methods=("dual",), bootstrap=100, seed=seed).methods
        for name in hits:
            rate = found[name].rate_interval
            assert rate is not None
            hits[name] += int(rate.low <= truth <= rate.high)
        entry = found["confident"].T_interval
        assert entry is not None
        entries.append(((entry.low <= T) & (entry.high >= T))[T > 0].double().mean().item())
    assert all(52 <= hit <= 60 for hit in hits.values()), hits
    assert 0.91 <= np.mean(entries) <= 0.98


def test_the_same_seed_gives_the_same_intervals_and_another_others() -> None:
    true, given = world(200, 0)

    def low(seed: int) -> Tensor:
        interval = estimate(T[true], given, methods=("confident",), bootstrap=20, seed=seed)["confident"].rate_interval
        assert interval is not None
        return interval.low

    assert low(3) == low(3) != low(4)


def test_arrays_are_as_good_as_tensors() -> None:
    true, given = world(200, 0)
    tensors, arrays = (
        estimate(T[true], given, bootstrap=20),
        estimate(T[true].numpy(), given.numpy(), bootstrap=20),
    )
    assert all(torch.equal(tensors[name].T, arrays[name].T) for name in tensors)


def test_without_bootstrap_there_are_no_intervals() -> None:
    true, given = world(200, 0)
    found = estimate(T[true], given, methods=("anchor",), bootstrap=0)
    assert (found["anchor"].T_interval, found["anchor"].rate_interval, found.resamples) == (None, None, 0)


def test_it_prints_as_a_table_with_a_line_for_each_method() -> None:
    true, given = world(300, 0)
    estimates = estimate(T[true], given, y_true=true, bootstrap=20, level=0.9)
    header, *lines = str(estimates).splitlines()
    assert "90 % interval" in header
    assert [line.split()[0] for line in lines] == ["anchor", "dual", "confident", "known"]
    assert f"{estimates['confident'].rate:.4f}" in lines[2]


def test_open_set_rows_are_no_pairs() -> None:
    true, given = world(300, 0)
    extra, wrong = torch.full((50,), -1), torch.zeros(50, dtype=torch.long)
    probs = torch.cat([T[true], T[wrong]])
    found = estimate(probs, torch.cat([given, wrong]), y_true=torch.cat([true, extra]), bootstrap=0)
    torch.testing.assert_close(found["known"].T, estimate(T[true], given, y_true=true, bootstrap=0)["known"].T)


def test_a_rare_class_is_estimated_once_the_quantile_admits_it() -> None:
    true = torch.tensor([0] * 198 + [1] * 4)
    probs = torch.eye(2)[true]
    with pytest.raises(InputError, match=r"class 1 has no anchor.*or leave 'anchor' out of methods"):
        estimate(probs, true, methods=("anchor",), bootstrap=0)
    assert torch.equal(estimate(probs, true, methods=("anchor",), quantile=None, bootstrap=0)["anchor"].T, torch.eye(2))


def test_resamples_that_lost_a_class_are_left_out() -> None:
    true = torch.tensor([0] * 50 + [1] * 2)  # without the two in (1 - 2 / 52)^52 = 13 % of the resamples
    found = estimate(torch.eye(2)[true], true, methods=("confident",), bootstrap=200)
    assert 160 <= found.resamples <= 188


def test_a_class_that_most_resamples_lose_is_refused() -> None:
    true = torch.arange(4).repeat_interleave(torch.tensor([50, 1, 1, 1]))
    with pytest.raises(InputError, match="no example left of some class; give more examples of rare classes"):
        estimate(torch.eye(4)[true], true, methods=("confident",))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"methods": ("magic",)}, "methods must be some of anchor, dual, confident, known"),
        ({"methods": ()}, "methods must be some of"),
        ({"methods": "dual"}, "methods must be some of"),
        ({"methods": ("known",)}, "method 'known' needs y_true"),
        ({"bootstrap": 5}, "bootstrap must be at least 20, or 0"),
        ({"level": 95}, "level must lie between 0 and 1"),
        ({"y_true": torch.zeros(3, dtype=torch.long)}, "y_true has 3 rows but labels has 200"),
    ],
)
def test_wrong_settings_are_refused(settings: dict, sentence: str) -> None:
    true, given = world(200, 0)
    with pytest.raises(InputError, match=sentence):
        estimate(T[true], given, **settings)
