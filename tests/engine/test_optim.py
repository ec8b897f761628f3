import math
from dataclasses import replace

import pytest
import torch

from labelnoise.config import Optimiser, Schedule
from labelnoise.engine import optim
from labelnoise.engine.optim import OPTIMISERS, Updater, factor, late_beta1

SETTINGS = {
    "adam": Optimiser("adam", lr=0.1, betas=(0.8, 0.95)),
    "adam with decay": Optimiser("adam", lr=0.1, weight_decay=0.3),
    "adamw": Optimiser("adamw", lr=0.1, weight_decay=0.3),
    "sgd": Optimiser("sgd", lr=0.1, weight_decay=0.3),
    "sgd with momentum": Optimiser("sgd", lr=0.1, momentum=0.9),
    "sgd with nesterov": Optimiser("sgd", lr=0.1, momentum=0.9, nesterov=True),
    "adagrad": Optimiser("adagrad", lr=0.1),
}
every_optimiser = pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)


def numbers(*size, seed=0):
    return torch.randn(size, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def plain(settings, param):
    """torch's own optimiser in its plainest form: one tensor at a time, not fused."""
    own = {"lr": settings.lr, "weight_decay": settings.weight_decay, "foreach": False, "fused": False}
    if settings.name == "sgd":
        own |= {"momentum": settings.momentum, "nesterov": settings.nesterov}
    elif settings.name != "adagrad":
        own["betas"] = settings.betas
    return OPTIMISERS[settings.name]([param], **own)


def stepped(settings, start, grads, flags=None):
    """The parameter after plain steps with those gradients whose flag is set."""
    param = start.clone().contiguous().requires_grad_()
    optimizer = plain(settings, param)
    for grad, flag in zip(grads, flags or [1] * len(grads), strict=True):
        if flag:
            param.grad = grad.clone().contiguous()
            optimizer.step()
    return param.detach()


def test_a_constant_schedule_is_one():
    assert [factor(Schedule(), epoch, 10) for epoch in (0, 3.5, 9.9)] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("schedule", "reference"),
    [
        (Schedule("cosine"), lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 12)),
        (Schedule("step", (4, 7), 0.3), lambda o: torch.optim.lr_scheduler.MultiStepLR(o, [4, 7], 0.3)),
        (Schedule("step", (4, 4)), lambda o: torch.optim.lr_scheduler.MultiStepLR(o, [4, 4], 0.1)),
    ],
)
def test_schedules_are_torchs_at_whole_epochs(schedule, reference):
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    scheduler, expected = reference(optimizer), []
    for _ in range(12):
        expected.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    assert [factor(schedule, epoch, 12) for epoch in range(12)] == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_cosine_goes_on_within_an_epoch():
    assert factor(Schedule("cosine"), 2.5, 10) == pytest.approx((1 + math.cos(math.pi / 4)) / 2, rel=1e-12)


@pytest.mark.parametrize(
    ("epochs", "start", "epoch", "lr"),
    [
        (200, 80, 0, 1e-3),
        (200, 80, 79, 1e-3),
        (200, 80, 80, 1e-3),
        (200, 80, 81, 9.916667e-4),
        (200, 80, 140, 5e-4),
        (200, 80, 199, 8.333e-6),
        (100, 40, 41, 9.833333e-4),
        (100, 40, 70, 5e-4),
        (100, 40, 99, 1.6667e-5),
    ],
)
def test_linear_follows_the_plan_of_co_teaching(epochs, start, epoch, lr):
    assert 1e-3 * factor(Schedule("linear", start=start), epoch, epochs) == pytest.approx(lr, rel=1e-4)


def test_linear_is_constant_within_an_epoch():
    schedule = Schedule("linear", start=2)
    assert factor(schedule, 5.9, 10) == factor(schedule, 5, 10) == 5 / 8


def test_linear_that_would_start_after_the_end_stays_one():
    assert [factor(Schedule("linear", start=80), epoch, 60) for epoch in (0, 30, 59.5)] == [1.0, 1.0, 1.0]


def test_a_late_beta_holds_from_its_start_on():
    schedule = Schedule("linear", start=80, beta1=0.1)
    assert [late_beta1(schedule, epoch) for epoch in (0, 79, 80, 199)] == [0, 0, 0.1, 0.1]
    assert late_beta1(Schedule("linear", start=80), 100) == 0


@pytest.mark.parametrize("name", ["adam", "adamw"])
@pytest.mark.parametrize(("runs", "skips"), [(None, False), (4, False), (4, True)], ids=["alone", "packed", "skipping"])
def test_steps_with_a_late_beta_equal_plain_torch_whose_groups_are_changed(name, runs, skips):
    settings, start, grads = Optimiser(name, lr=0.1), numbers(4, 3), numbers(6, 4, 3, seed=1)
    param, expected = start.clone(), start.clone().requires_grad_()
    updater, optimizer = Updater({"net": {"w": param}}, settings, {}, runs=runs, skips=skips), plain(settings, expected)
    for grad, beta1 in zip(grads, (0, 0, 0, 0.1, 0.1, 0), strict=True):
        updater.set_rates(1.0, beta1)
        updater.step({"w": grad}, {})
        optimizer.param_groups[0]["betas"] = (beta1 or 0.9, 0.999)
        expected.grad = grad.clone()
        optimizer.step()
    torch.testing.assert_close(param, expected.detach(), rtol=0, atol=1e-12)


def test_a_late_beta_is_nothing_to_sgd():
    settings, start, grads = Optimiser("sgd", lr=0.1, momentum=0.9), numbers(4, 3), numbers(3, 4, 3, seed=1)
    param = start.clone()
    updater = Updater({"net": {"w": param}}, settings, {})
    for grad in grads:
        updater.set_rates(1.0, 0.1)
        updater.step({"w": grad}, {})
    torch.testing.assert_close(param, stepped(settings, start, grads), rtol=0, atol=1e-12)


@every_optimiser
def test_steps_equal_plain_torch(settings):
    start, grads = numbers(4, 3), numbers(6, 4, 3, seed=1)
    param = start.clone()
    updater = Updater({"net": {"w": param}}, settings, {})
    for grad in grads:
        updater.step({"w": grad}, {})
    torch.testing.assert_close(param, stepped(settings, start, grads), rtol=0, atol=1e-12)


@every_optimiser
@pytest.mark.parametrize("flags", [(0, 1, 0, 1, 1), (0, 0, 0, 0, 0), (1, 0, 0, 1, 0)], ids=str)
def test_a_skipped_step_is_a_step_not_taken(settings, flags):
    start, grads = numbers(4, 3), numbers(5, 4, 3, seed=1)
    param = start.clone()
    updater = Updater({"net": {"w": param}}, settings, {}, skips=True)
    for grad, flag in zip(grads, flags, strict=True):
        updater.step({"w": grad}, {"net": torch.tensor(float(flag))})
    torch.testing.assert_close(param, stepped(settings, start, grads, flags), rtol=0, atol=1e-12)


@every_optimiser
def test_runs_of_a_pack_skip_steps_on_their_own(settings):
    start, grads = numbers(3, 3, 3), numbers(5, 3, 3, 3, seed=1)
    flags = torch.tensor([[0, 1, 1], [1, 1, 0], [0, 1, 0], [1, 1, 1], [0, 1, 1]])
    param = start.clone()
    updater = Updater({"net": {"w": param}}, settings, {}, runs=3, skips=True)
    for grad, flag in zip(grads, flags, strict=True):
        updater.step({"w": grad}, {"net": flag.double()})
    for run in range(3):
        expected = stepped(settings, start[run], grads[:, run], flags[:, run].tolist())
        torch.testing.assert_close(param[run], expected, rtol=0, atol=1e-12)


def test_only_the_skipping_network_stands_still():
    params = {"a": {"a.w": numbers(2)}, "b": {"b.w": numbers(2)}}
    before = {name: param.clone() for named in params.values() for name, param in named.items()}
    updater = Updater(params, Optimiser(lr=0.1), {}, skips=True)
    grads = dict.fromkeys(before, torch.ones(2, dtype=torch.float64))
    updater.step(grads, {"a": torch.tensor(0.0), "b": torch.tensor(1.0)})
    assert torch.equal(params["a"]["a.w"], before["a.w"])
    assert not torch.equal(params["b"]["b.w"], before["b.w"])


def test_a_skip_in_a_pack_that_declared_none_is_refused():
    updater = Updater({"net": {"w": numbers(2, 2)}}, Optimiser(), {}, runs=2)
    with pytest.raises(ValueError, match="must declare `skips`"):
        updater.step({"w": numbers(2, 2)}, {"net": torch.ones(2)})


@every_optimiser
def test_where_nothing_is_fused_a_step_is_skipped_as_well(settings, monkeypatch):
    start, grads, flags = numbers(4, 3), numbers(5, 4, 3, seed=1), (0, 1, 0, 1, 1)
    make = optim.make

    def unfused(settings, groups):
        optimizer = make(settings, groups)
        for each in (optimizer.defaults, *optimizer.param_groups):
            each["fused"] = False
        return optimizer

    monkeypatch.setattr(optim, "make", unfused)
    param = start.clone()
    updater = Updater({"net": {"w": param}}, settings, {}, skips=True)
    for grad, flag in zip(grads, flags, strict=True):
        updater.step({"w": grad}, {"net": torch.tensor(float(flag))})
    torch.testing.assert_close(param, stepped(settings, start, grads, flags), rtol=0, atol=1e-12)


def test_a_network_without_a_flag_is_stepped_even_after_one_that_said_no():
    start, grads = numbers(4, 3), numbers(2, 4, 3, seed=1)
    params = {"a": {"a.w": start.clone()}, "b": {"b.w": start.clone()}}
    updater = Updater(params, SETTINGS["adam"], {}, skips=True)
    updater.step(dict.fromkeys(("a.w", "b.w"), grads[0]), {"a": torch.tensor(0.0)})
    updater.step(dict.fromkeys(("a.w", "b.w"), grads[1]), {})
    torch.testing.assert_close(params["a"]["a.w"], stepped(SETTINGS["adam"], start, grads[1:]), rtol=0, atol=1e-12)
    torch.testing.assert_close(params["b"]["b.w"], stepped(SETTINGS["adam"], start, grads), rtol=0, atol=1e-12)


@every_optimiser
@pytest.mark.parametrize("skips", [False, True])
def test_gradients_that_lie_transposed_in_memory_are_read_right(settings, skips):
    start, grads = numbers(3, 3, 3), numbers(4, 3, 3, 3, seed=1).transpose(-1, -2)
    assert not grads[0].is_contiguous()
    param = start.clone()
    updater = Updater({"net": {"w": param}}, settings, {}, runs=3, skips=skips)
    for grad in grads:
        updater.step({"w": grad}, {})
    torch.testing.assert_close(param, stepped(settings, start, grads), rtol=0, atol=1e-12)


LAYOUTS = {
    "transposed": (numbers(4, 3).t().contiguous().t(), {}),
    "transposed in a pack": (numbers(2, 4, 3).mT.contiguous().mT, {"runs": 2}),
    "transposed in a skipping pack": (numbers(2, 4, 3).mT.contiguous().mT, {"runs": 2, "skips": True}),
    "biases of a pack, transposed": (numbers(4, 3).t().contiguous().t(), {"runs": 4}),
    "channels last": (numbers(4, 3, 2, 2).to(memory_format=torch.channels_last), {}),
    "channels last in a pack": (numbers(2, 4, 3, 2, 2).movedim(2, -1).contiguous().movedim(-1, 2), {"runs": 2}),
}


@every_optimiser
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("gradient_lies_alike", [False, True])
def test_parameters_are_stepped_right_however_they_lie_in_memory(settings, layout, gradient_lies_alike):
    start, pack = LAYOUTS[layout]
    assert not start.is_contiguous()
    grads = numbers(4, *start.shape, seed=1)
    param = start.clone()
    updater = Updater({"net": {"w": param}}, settings, {}, **pack)
    for grad in grads:
        updater.step({"w": torch.empty_like(start).copy_(grad) if gradient_lies_alike else grad}, {})
    torch.testing.assert_close(param, stepped(settings, start, grads), rtol=0, atol=1e-12)
    runs = pack.get("runs", 1)
    assert all(len(places) == runs for places in updater.places().values())
    assert all(
        place.dim() == 0 or place.numel() * runs == start.numel() for p in updater.places().values() for place in p
    )


@every_optimiser
def test_a_parameter_without_gradient_stands_still(settings):
    start = numbers(3)
    params = {"net": {"used": start.clone(), "unused": start.clone()}}
    updater = Updater(params, settings, {})
    for _ in range(3):
        updater.step({"used": start, "unused": None}, {})
    assert torch.equal(params["net"]["unused"], start)
    assert not torch.equal(params["net"]["used"], start)


def test_networks_have_learning_rates_of_their_own_and_the_scale_counts_for_all():
    params = {name: {name: torch.zeros(1, dtype=torch.float64)} for name in ("net", "revision")}
    updater = Updater(params, Optimiser("sgd", lr=0.5), {"revision": {"lr": 0.01}})
    updater.set_rates(0.1)
    updater.step(dict.fromkeys(params, torch.ones(1, dtype=torch.float64)), {})
    assert params["net"]["net"].item() == pytest.approx(-0.05, rel=1e-12)
    assert params["revision"]["revision"].item() == pytest.approx(-0.001, rel=1e-12)


def test_a_scale_is_forgotten_by_the_next_step():
    param = torch.zeros(1, dtype=torch.float64)
    updater = Updater({"net": {"w": param}}, Optimiser("sgd", lr=1.0), {})
    for scale in (0.1, 1.0):
        updater.set_rates(scale)
        updater.step({"w": torch.ones(1, dtype=torch.float64)}, {})
    assert param.item() == pytest.approx(-1.1, rel=1e-12)


@every_optimiser
@pytest.mark.parametrize(("runs", "skips"), [(None, False), (4, False), (4, True)], ids=["alone", "packed", "skipping"])
def test_renewed_at_every_epoch_it_is_a_new_one_of_torch_each_time(settings, runs, skips):
    param, expected, epochs = numbers(4, 3), numbers(4, 3), numbers(3, 2, 4, 3, seed=1)
    updater = Updater({"net": {"w": param}}, replace(settings, renew=True), {}, runs=runs, skips=skips)
    for grads in epochs:
        for step, grad in enumerate(grads):
            updater.set_rates(1.0, first=step == 0)
            updater.step({"w": grad}, {})
        expected = stepped(settings, expected, grads)
    torch.testing.assert_close(param, expected, rtol=0, atol=1e-12)


@every_optimiser
@pytest.mark.parametrize("skips", [False, True])
def test_state_copied_place_by_place_goes_on_the_same(settings, skips):
    start, grads = numbers(2, 3), numbers(6, 2, 3, seed=1)
    left, param = start.clone(), start.clone()
    first = Updater({"net": {"w": left}}, settings, {}, runs=2, skips=skips)
    for grad in grads[:3]:
        first.step({"w": grad}, {})
    param.copy_(left)
    second = Updater({"net": {"w": param}}, settings, {}, runs=2, skips=skips)
    for name, places in second.places().items():
        for place, saved in zip(places, first.places()[name], strict=True):
            place.copy_(saved)
    for grad in grads[3:]:
        second.step({"w": grad}, {})
    torch.testing.assert_close(param, stepped(settings, start, grads), rtol=0, atol=1e-12)


@every_optimiser
def test_making_an_updater_moves_nothing(settings):
    param = numbers(4, 3)
    Updater({"net": {"w": param}}, settings, {})
    assert torch.equal(param, numbers(4, 3))
