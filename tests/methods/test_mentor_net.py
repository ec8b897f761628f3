import pytest
import torch
from torch import nn

from labelnoise.errors import InputError
from labelnoise.methods import build
from labelnoise.methods.ce import CE
from labelnoise.methods.co_teaching import CoTeaching
from labelnoise.methods.mentor_net import MentorNet
from labelnoise.nets.mentor import Level, MeanLevel
from labelnoise.testing import CHECKS
from labelnoise.types import Context, DataSpec

LOGITS_A = [[3, 0, 0], [0, 2, 0], [0, 0, 0.5], [1.2, 1, 0], [0, 0, 4], [2, 0, 0]]
LOGITS_B = [[1, 0, 0], [0, 3, 0], [0, 0, 2], [0, 2.5, 0], [2, 0, 0], [0, 0, 1]]
LABELS = [0, 1, 2, 0, 2, 1]
LOSSES_A = [0.094923, 0.239545, 0.794377, 0.751381, 0.035976, 2.239545]


def at(epoch: float, **more) -> Context:
    return Context(epoch=torch.tensor(epoch, dtype=torch.float64), **more)


class Saying(nn.Module):
    """A mentor that gives every example the same logit, and keeps what it was asked."""

    def __init__(self, logit: float) -> None:
        super().__init__()
        self.logit = nn.Parameter(torch.tensor(logit, dtype=torch.float64))
        self.asked: list[tuple[torch.Tensor, ...]] = []

    def forward(self, loss, level, y, share):
        self.asked.append((loss, level, y, share))
        return self.logit.expand_as(loss)


def paced(net, **mentor):
    return {"net": net, "level": Level().double(), "mean": MeanLevel().double(), **mentor}


@pytest.mark.parametrize(("logits", "loss"), [(LOGITS_A, 0.280456), (LOGITS_B, 0.609339)])
def test_self_paced_loss_is_the_published_mean_over_its_own_picks(table, labelled, logits, loss: float) -> None:
    terms = MentorNet(1 / 3).objective({"net": table(logits)}, labelled(LABELS), at(20))
    assert terms.loss.item() == pytest.approx(loss, abs=1e-6)
    assert terms.kept["net"].sum() == 4


def test_identical_networks_make_co_teaching_a_pair_of_self_paced_ones(table, labelled) -> None:
    twins, batch = {"a": table(LOGITS_A), "b": table(LOGITS_A)}, labelled(LABELS)
    pair = CoTeaching(1 / 3).objective(twins, batch, at(20)).loss
    alone = MentorNet(1 / 3).objective({"net": twins["a"]}, batch, at(20)).loss
    torch.testing.assert_close(pair, 2 * alone, rtol=1e-14, atol=0)


def test_forgetting_nothing_gives_cross_entropy(table, labelled) -> None:
    nets, batch = {"net": table(LOGITS_A)}, labelled(LABELS)
    expected = CE().objective(nets, batch, Context()).loss
    torch.testing.assert_close(MentorNet(0.0).objective(nets, batch, at(20)).loss, expected, rtol=1e-14, atol=0)


def test_forgetting_nearly_all_keeps_the_smallest_loss(table, labelled) -> None:
    loss = MentorNet(1.0).objective({"net": table(LOGITS_A)}, labelled(LABELS), at(20)).loss
    assert loss.item() == pytest.approx(0.035976, abs=1e-6)


def test_quantile_keeps_losses_up_to_the_level_and_divides_by_the_batch(table, labelled) -> None:
    nets = paced(table(LOGITS_A))
    terms = MentorNet(1 / 3, 0, mentor="quantile").objective(nets, labelled(LABELS), at(0))
    assert terms.kept["net"].tolist() == [1, 1, 0, 1, 1, 0]  # a first level is that of its own batch, 0.751381
    assert terms.loss.item() == pytest.approx(4 * 0.280456 / 6, abs=1e-6)
    assert nets["level"].value.item() == pytest.approx(0.751381, abs=1e-6)


def test_quantile_remembers_levels_of_earlier_batches(table, labelled) -> None:
    nets = paced(table(LOGITS_A))
    nets["mean"].value.fill_(0.1 * 0.5)  # after one batch whose level was 0.1
    nets["mean"].known.fill_(0.5)
    terms = MentorNet(1 / 3, 0, mentor="quantile").objective(nets, labelled(LABELS), at(0))
    assert terms.kept["net"].tolist() == [1, 1, 0, 0, 1, 0]  # (0.1 / 4 + 0.751381 / 2) / 0.75 = 0.534


def test_the_official_preset_is_the_seventieth_percentile_from_the_first_step_on(table, labelled) -> None:
    method = build("mentor_net", {"preset": "official"})
    logits = [[float(place), 0.0, 0.0] for place in range(10)]
    assert method.objective(paced(table(logits)), labelled([0] * 10), at(0)).kept["net"].sum() == 7


def test_a_learnt_mentor_weighs_the_losses_and_learns_to_tell_agreement(table, labelled) -> None:
    """With one logit m for all, mean of sigmoid(m) times loss, and cross-entropy of agreement by confidence."""
    nets = paced(table(LOGITS_A), mentor=Saying(0.5))
    terms = MentorNet(1 / 3, 0, mentor="learnt").objective(nets, labelled(LABELS), at(0))
    weight = 1 / (1 + torch.tensor(-0.5).double().exp())
    confidence = nets["net"].logits.detach().softmax(-1).amax(-1)
    agrees = torch.tensor([1.0, 1, 1, 1, 1, 0]).double()
    told = -(confidence * (agrees * weight.log() + (1 - agrees) * (1 - weight).log())).sum() / confidence.sum()
    expected = weight * sum(LOSSES_A) / 6 + told
    assert terms.loss.item() == pytest.approx(expected.item(), abs=1e-6)
    assert terms.kept["net"].tolist() == pytest.approx([weight.item()] * 6)


def test_mentor_and_network_do_not_share_a_gradient(table, labelled) -> None:
    nets = paced(table(LOGITS_A), mentor=Saying(0.5))
    MentorNet(1 / 3, 0, mentor="learnt").objective(nets, labelled(LABELS), at(0)).loss.backward()
    probs, one_hot = nets["net"].logits.detach().softmax(-1), torch.eye(3)[LABELS]
    weight = 1 / (1 + torch.tensor(-0.5).double().exp())
    torch.testing.assert_close(nets["net"].logits.grad, weight * (probs - one_hot) / 6)
    assert nets["mentor"].logit.grad.abs() > 0.01


class Scaling(nn.Module):
    """A mentor whose logit is a multiple of the loss."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(-0.7, dtype=torch.float64))

    def forward(self, loss, level, y, share):
        return self.factor * loss


def test_a_mentor_that_goes_by_the_loss_passes_no_gradient_to_the_network_nor_gets_any_from_it(table, labelled) -> None:
    nets = paced(table(LOGITS_A), mentor=Scaling())
    MentorNet(1 / 3, 0, mentor="learnt").objective(nets, labelled(LABELS), at(0)).loss.backward()
    probs, loss = torch.tensor(LOGITS_A).double().softmax(-1), torch.tensor(LOSSES_A).double()
    weight = torch.sigmoid(-0.7 * loss)
    torch.testing.assert_close(nets["net"].logits.grad, weight[:, None] * (probs - torch.eye(3)[LABELS]) / 6)
    confidence, right = probs.max(-1).values, (probs.argmax(-1) == torch.tensor(LABELS)).double()
    expected = (confidence * (weight - right) * loss).sum() / confidence.sum()  # of weighted logistic regression
    torch.testing.assert_close(nets["mentor"].factor.grad, expected, rtol=1e-5, atol=1e-6)


def test_a_learnt_mentor_is_asked_about_loss_level_label_and_progress(table, labelled) -> None:
    nets = paced(table(LOGITS_A), mentor=Saying(0.0))
    share = torch.tensor(0.25, dtype=torch.float64)
    MentorNet(1 / 3, 0, mentor="learnt").objective(nets, labelled(LABELS), at(0, progress=share))
    ((loss, level, y, progress),) = nets["mentor"].asked
    assert loss.tolist() == pytest.approx(LOSSES_A, abs=1e-6)
    assert level.item() == pytest.approx(0.751381, abs=1e-6)
    assert (y.tolist(), progress.item()) == (LABELS, 0.25)


def test_rows_are_examined_for_their_weights(table, labelled) -> None:
    batch, nets = labelled(LABELS), paced(table(LOGITS_A), mentor=Saying(0.5))
    nets["mean"].value.fill_(0.3)
    nets["mean"].known.fill_(0.5)  # a level of 0.6
    found = {
        mentor: MentorNet(1 / 3, mentor=mentor).examine(nets, batch, Context())["weight"].tolist()
        for mentor in ("self_paced", "quantile", "learnt")
    }
    assert found["self_paced"] == [1, 1, 0, 1, 1, 0]
    assert found["quantile"] == [1, 1, 0, 0, 1, 0]
    assert found["learnt"] == pytest.approx([0.6224593] * 6)


@pytest.mark.parametrize(
    ("mentor", "names"),
    [("self_paced", ["net"]), ("quantile", ["net", "level", "mean"]), ("learnt", ["net", "level", "mean", "mentor"])],
)
def test_networks_are_those_that_the_mentor_needs(spec: DataSpec, mentor: str, names: list[str]) -> None:
    assert list(build("mentor_net", {"mentor": mentor}).networks(spec)) == names


@pytest.mark.parametrize("mentor", ["quantile", "learnt"])
@pytest.mark.parametrize("check", CHECKS)
def test_every_mentor_keeps_the_contract(mentor: str, check: str) -> None:
    CHECKS[check](build("mentor_net", {"mentor": mentor}))


def test_with_an_estimated_rate_the_network_starts_anew() -> None:
    first, second = MentorNet(rate="estimated").stages()
    assert (first.method.forget, second.restart) == (0.0, ("net",))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"mentor": "lstm"}, "mentor must be self_paced, quantile, learnt, not 'lstm'"),
        ({"mentor": "quantile", "rate": "estimated"}, "rate has no effect here, only with mentor=self_paced"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        build("mentor_net", settings)
