from dataclasses import replace

import pytest
import torch
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.methods import build
from labelnoise.methods.ce import CE
from labelnoise.methods.noise_against_noise import NoiseAgainstNoise
from labelnoise.rng import Rng
from labelnoise.testing import CHECKS, TRAIN, training
from labelnoise.types import Context, DataSpec, Snapshot

LOGITS = [[2.0, -1.0, 0.5]]
NOISE = {"noise": torch.tensor([[0.4, -1.2, 0.3]], dtype=torch.float64)}
PROBS = torch.tensor([[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [0.1, 0.1, 0.8]], dtype=torch.float64)
LABELS = torch.tensor([0, 1, 0])


def taught(method: NoiseAgainstNoise, progress: float) -> dict[str, Tensor]:
    """What the method makes of a snapshot."""
    (stage,) = method.stages()
    return dict(stage.refresh(Snapshot(PROBS, LABELS, progress)))


def test_objective_is_the_published_value(table, labelled) -> None:
    loss = NoiseAgainstNoise(0.5).objective({"net": table(LOGITS)}, labelled([2]), Context(draws=NOISE)).loss
    assert loss.item() == pytest.approx(0.1059834725, abs=1e-9)


def test_the_preset_tensorflow_has_the_published_gradient(table, labelled) -> None:
    net, method = table(LOGITS), build("noise_against_noise", {"preset": "tensorflow", "sigma": 0.5})
    method.objective({"net": net}, labelled([2]), Context(draws=NOISE)).loss.backward()
    assert net.logits.grad[0].tolist() == pytest.approx([0.5855970346, 0.6391125733, -0.9747096079], abs=1e-9)


def test_no_noise_gives_cross_entropy(table, labelled) -> None:
    nets, batch = {"net": table(LOGITS)}, labelled([1])
    found, plain = (m.objective(nets, batch, Context(draws=NOISE)).loss for m in (NoiseAgainstNoise(0.0), CE()))
    torch.testing.assert_close(found, plain, rtol=1e-13, atol=0)


def test_every_example_has_its_own_noise(spec: DataSpec) -> None:
    noise = NoiseAgainstNoise().draws(spec, 500, Rng(0, dtype=torch.float64))["noise"]
    assert noise.shape == (500, 3)
    assert noise.std().item() == pytest.approx(1, abs=0.08)
    assert len(noise.unique()) == 1500


def test_labels_stay_as_given_until_the_correction_begins() -> None:
    found = taught(NoiseAgainstNoise(correction=0.25), 0.74)
    assert found["labels"].tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0]]
    assert found["disturbed"] == 1


@pytest.mark.parametrize("soft", [False, True])
def test_corrected_labels_weigh_label_and_prediction_by_the_loss(soft: bool) -> None:
    """l y + (1 - l) ŷ, where l is the loss brought to [0, 1]: 0 for the first row, 1 for the last."""
    found = taught(NoiseAgainstNoise(correction=0.25, soft=soft), 0.75)
    given, guess = torch.eye(3).double()[LABELS], PROBS if soft else torch.eye(3).double()[torch.tensor([0, 0, 2])]
    losses = -torch.tensor([0.7, 0.3, 0.1], dtype=torch.float64).log()
    share = ((losses - losses[0]) / (losses[2] - losses[0]))[:, None]
    torch.testing.assert_close(found["labels"], share * given + (1 - share) * guess, rtol=1e-12, atol=1e-15)
    assert found["disturbed"] == 0


def test_corrected_labels_are_learnt_without_noise(table, labelled) -> None:
    method, batch = NoiseAgainstNoise(0.5, correction=0.25), labelled([2])._replace(rows=torch.tensor([1]))
    labels = torch.tensor([[1.0, 0, 0], [0.2, 0.3, 0.5]], dtype=torch.float64)
    aux = {"labels": labels, "disturbed": torch.zeros((), dtype=torch.float64)}
    loss = method.objective({"net": table(LOGITS)}, batch, Context(draws=NOISE, aux=aux)).loss
    ce = torch.tensor([0.2413112967, 3.2413112967, 1.7413112967], dtype=torch.float64)
    assert loss.item() == pytest.approx((labels[1] @ ce).item(), abs=1e-9)


def test_without_correction_nothing_is_looked_at_between_epochs() -> None:
    (stage,) = NoiseAgainstNoise().stages()
    assert stage.before is None
    assert stage.refresh is None


@pytest.mark.parametrize("check", ["packed_equals_alone", "state_round_trips", "learns_separable_blobs"])
def test_the_official_preset_keeps_the_contract(check: str) -> None:
    settings = {"average": 0.9}  # the preset's mean needs more steps than a check has
    CHECKS[check](build("noise_against_noise", {"preset": "official", **settings}))


@pytest.mark.parametrize("settings", [{"sigma": -1.0}, {"gradient": "jax"}, {"correction": 1.0}])
def test_settings_without_a_meaning_are_refused(settings) -> None:
    with pytest.raises(InputError, match="must be"):
        build("noise_against_noise", settings)


def test_the_mean_follows_the_network_by_its_decay_and_predicts() -> None:
    trained = training([NoiseAgainstNoise(average=0.75)], seeds=[0], train=replace(TRAIN, epochs=1, batch=20))
    trained.begin(trained.phases[0])
    lane = trained.executor.lanes[0]
    net = [value for name, value in lane.params.items() if name.startswith("nets.net.")]
    mean = [value for name, value in lane.params.items() if name.startswith("nets.mean.")]
    assert all(torch.equal(one, other) for one, other in zip(net, mean, strict=True))
    expected = [value.detach().clone() for value in net]
    for step, (batch, _) in enumerate(trained.loader.epoch(0, 20, 0)):
        trained.executor.step(batch, (), {}, trained.clock(trained.phases[0], step, 3))
        expected = [0.75 * old + 0.25 * new.detach() for old, new in zip(expected, net, strict=True)]
    for one, other in zip(expected, mean, strict=True):
        torch.testing.assert_close(one, other.detach())
    x = next(trained.loader.chunks("test", 64)).x
    networks = lane.module.networks
    predicted = networks["mean"].eval()(x[0]).log_softmax(-1)
    torch.testing.assert_close(trained.executor.log_probs(x)[0], predicted.detach())


def test_a_decay_of_one_is_refused() -> None:
    with pytest.raises(InputError, match=r"average 1.0 must be in \[0, 1\)"):
        NoiseAgainstNoise(average=1.0)


def test_as_a_teacher_it_corrects_labels_in_the_last_of_its_own_epochs() -> None:
    """Half of twelve epochs are the teacher's; correction=0.5 begins after three of them."""
    (first, *_) = build("distillation", {"teacher": "noise_against_noise(correction=0.5)"}).stages()
    for progress, corrected in ((0.0, False), (2 / 6, False), (3 / 6, True)):
        found = first.refresh(Snapshot(PROBS, LABELS, progress))
        assert bool(found["teacher.disturbed"] == 0) == corrected
