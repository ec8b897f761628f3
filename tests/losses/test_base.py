"""What every loss must hold, and the parts they share."""

import doctest
import importlib
import pkgutil
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch.func import vmap

from labelnoise import losses
from labelnoise.errors import InputError
from labelnoise.losses import (
    DIVERGENCES,
    BackwardLoss,
    CELoss,
    DistillationLoss,
    FDivergenceLoss,
    ForwardLoss,
    GCELoss,
    HeteroscedasticLoss,
    LabelSmoothingLoss,
    LogisticNormalLoss,
    Loss,
    PeerLoss,
    ReweightLoss,
    SmearedLoss,
    backward_corrected,
    distilled,
    forward_corrected,
    forward_smoothed,
    heteroscedastic_nll,
    importance_weighted,
    joint_term,
    label_smoothed,
    logistic_normal_nll,
    peer_loss,
    product_term,
    reduce,
    smeared,
)
from labelnoise.losses.base import log_softmax, neighbours, picked, widened
from labelnoise.losses.bi_tempered import BiTemperedLoss, bi_tempered
from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.losses.gce import gce, truncated_gce
from labelnoise.losses.stochastic_labels import StochasticLabelLoss, stochastic_cross_entropy
from labelnoise.noise.matrix import pair, random_redraw

B, K, S, R = 6, 3, 5, 2
DOUBLE = torch.float64


def normal(*size: int, seed: int = 0) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=DOUBLE)


LOGITS = 2 * normal(B, K)
TARGET = torch.tensor([0, 1, 2, 2, 1, 0])
T = torch.tensor([[0.7, 0.3, 0.0], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6]], dtype=DOUBLE)  # with a zero
MATRICES = torch.stack([T, 0.5 * T + 0.5 * torch.eye(K, dtype=DOUBLE), torch.eye(K, dtype=DOUBLE)])
STREAM = torch.Generator().manual_seed(7)
NOISE, FACTOR_NOISE = (torch.randn(S, B, n, generator=STREAM) for n in (K, R))


def law(logits: Tensor) -> tuple[Tensor, ...]:
    """Normal logits whose mean, spread and factors all move with the logits."""
    return logits, nn.functional.softplus(logits) + 1e-3, torch.stack([logits, logits.flip(-1)], -1) / 4


def nll(logits: Tensor, target: Tensor, temperature: float | Tensor) -> Tensor:
    noise, factor_noise = (normals.to(widened(logits).dtype) for normals in (NOISE, FACTOR_NOISE))
    return heteroscedastic_nll(*law(logits), target, noise=noise, factor_noise=factor_noise, temperature=temperature)


class Replayed(HeteroscedasticLoss):
    """Draws the noise above at every call, and reads logits."""

    def per_example(self, output: Tensor, target: Tensor) -> Tensor:
        self.generator = torch.Generator().manual_seed(7)
        return super().per_example(law(output), target)


def one_forward(name: str, logits: Tensor, target: Tensor, alpha: float | Tensor, M: Tensor | None = None) -> Tensor:
    log_probs, kind = log_softmax(logits), DIVERGENCES[name]
    product = product_term(log_probs, target.roll(1), kind, M)
    return alpha * product - joint_term(log_probs, target, kind, M)


def peers(logits: Tensor, target: Tensor, alpha: float | Tensor) -> Tensor:
    return peer_loss(logits, target, target.roll(1), alpha)


LABEL_NOISE = torch.randn(B, K, generator=torch.Generator().manual_seed(7))


def disturbed(logits: Tensor, target: Tensor, sigma: float | Tensor, gradient: str) -> Tensor:
    return stochastic_cross_entropy(logits, target, LABEL_NOISE, sigma, gradient)


class Disturbed(StochasticLabelLoss):
    """Draws the same noise at every call."""

    def per_example(self, output: Tensor, target: Tensor) -> Tensor:
        self.generator = torch.Generator().manual_seed(7)
        return super().per_example(output, target)


TEACHER = normal(K, K, seed=5)  # its logits, by the label


def taught(logits: Tensor, target: Tensor, temperature: float | Tensor, on_student: str) -> Tensor:
    return distilled(logits, TEACHER[target], temperature, 0.2, on_student)


class Taught(DistillationLoss):
    """Looks its teacher up by the label."""

    def per_example(self, output: Tensor, target: Tensor) -> Tensor:
        return super().per_example(output, TEACHER[target])


def centred(logits: Tensor) -> tuple[Tensor, Tensor]:
    """mu and a c that moves with it."""
    return logits, logits.flip(-1) / 2


def logistic_normal(logits: Tensor, target: Tensor, tau: float | Tensor) -> Tensor:
    return logistic_normal_nll(*centred(logits), target, tau=tau, lam=0.5)


class Centred(LogisticNormalLoss):
    """Reads logits."""

    def per_example(self, output: Tensor, target: Tensor) -> Tensor:
        return super().per_example(centred(output), target)


class Case(NamedTuple):
    function: Callable[..., Tensor]  # (logits, target, *given)
    module: Callable[[str], Loss]  # by reduction
    given: tuple[Any, ...]  # what the module was made with
    hypers: Tensor | None  # values for several runs along the first axis


def doubles(*values: float) -> Tensor:
    return torch.tensor(values, dtype=DOUBLE)


CASES = {
    "cross_entropy": Case(cross_entropy, lambda r: CELoss(1e-5, r), (1e-5,), None),
    "gce": Case(gce, lambda r: GCELoss(0.7, r), (0.7,), doubles(0.1, 0.7, 1.0)),
    "truncated gce": Case(
        lambda z, y, k: truncated_gce(z, y, 0.7, k),
        lambda r: GCELoss(0.7, r, truncation=0.3),
        (0.3,),
        doubles(0.1, 0.5, 0.9),
    ),
    **{
        f"bi_tempered, smoothing {share}": Case(
            lambda z, y, t2, share=share: bi_tempered(z, y, 0.7, t2, share),
            lambda r, share=share: BiTemperedLoss(0.7, 2.0, share, reduction=r),
            (2.0,),
            doubles(0.8, 1.0, 4.0),
        )
        for share in (0.0, 0.1)
    },
    **{
        f"stochastic labels, {gradient} gradient": Case(
            partial(disturbed, gradient=gradient), partial(Disturbed, 0.5, gradient), (0.5,), doubles(0, 0.5, 1)
        )
        for gradient in ("true", "tf")
    },
    "forward": Case(forward_corrected, lambda r: ForwardLoss(T, r), (T,), MATRICES),
    "reweight": Case(partial(importance_weighted, detach=True), lambda r: ReweightLoss(T, r), (T,), MATRICES),
    "revision": Case(partial(importance_weighted, detach=False), lambda r: ReweightLoss(T, r), (T,), MATRICES),
    "label_smoothing": Case(label_smoothed, lambda r: LabelSmoothingLoss(0.3, r), (0.3,), doubles(-0.5, 0.0, 0.3)),
    "forward_smoothed": Case(
        forward_smoothed, lambda r: ForwardLoss(random_redraw(K, 0.3), r), (0.3,), doubles(0.0, 0.3, 0.9)
    ),
    "smeared": Case(smeared, lambda r: SmearedLoss(2 * torch.eye(K) - T, r), (2 * torch.eye(K) - T,), MATRICES),
    "backward": Case(
        backward_corrected,
        lambda r: BackwardLoss(T, reduction=r),
        (torch.linalg.inv(T),),
        torch.linalg.inv(MATRICES),
    ),
    **{
        name: Case(partial(one_forward, name), partial(FDivergenceLoss, name, 1.5, None), (1.5,), doubles(0, 1, 3))
        for name in DIVERGENCES
    },
    "corrected jeffrey": Case(
        partial(one_forward, "jeffrey", M=torch.linalg.inv(T)),
        partial(FDivergenceLoss, "jeffrey", 1.5, T),
        (1.5,),
        doubles(0, 1, 3),
    ),
    "peer": Case(peers, lambda r: PeerLoss(1.5, r), (1.5,), doubles(0, 1, 3)),
    **{
        f"distillation {how}": Case(
            partial(taught, on_student=how),
            partial(Taught, 2.0, 0.0 if how == "none" else 0.2, how, False),
            (2.0,),
            doubles(0.5, 1, 4),
        )
        for how in ("none", "smoothing", "forward")
    },
    "logistic_normal": Case(logistic_normal, lambda r: Centred(0.7, reduction=r), (0.7,), doubles(0.1, 0.5, 1.0)),
    "heteroscedastic": Case(nll, lambda r: Replayed(1.3, S, r), (1.3,), doubles(0.5, 1.0, 10.0)),
}
every_loss = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


@every_loss
def test_function_gives_one_value_per_example(case: Case) -> None:
    assert case.function(LOGITS, TARGET, *case.given).shape == (B,)


@every_loss
def test_module_equals_function(case: Case) -> None:
    torch.testing.assert_close(
        case.module("none")(LOGITS, TARGET), case.function(LOGITS, TARGET, *case.given), rtol=1e-12, atol=0
    )


@every_loss
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_reduction_is_that_of_the_values(case: Case, reduction: str) -> None:
    values = case.module("none")(LOGITS, TARGET)
    assert torch.equal(case.module(reduction)(LOGITS, TARGET), getattr(values, reduction)())


@pytest.mark.parametrize("name", [name for name in CASES if name != "reweight"])  # detached on purpose
def test_gradient_is_that_of_the_value(name: str) -> None:
    logits, case = LOGITS.clone().requires_grad_(), CASES[name]
    assert torch.autograd.gradcheck(lambda z: case.function(z, TARGET, *case.given), logits)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.hypers is not None])
def test_mapped_over_hyper_parameters_equals_the_loop(name: str) -> None:
    function, hypers = CASES[name].function, CASES[name].hypers
    mapped = vmap(lambda hyper: function(LOGITS, TARGET, hyper))(hypers)
    torch.testing.assert_close(mapped, torch.stack([function(LOGITS, TARGET, h) for h in hypers]), rtol=1e-12, atol=0)


@every_loss
def test_mapped_gradient_over_runs_equals_the_loop(case: Case) -> None:
    runs, targets = 3, torch.stack([TARGET, TARGET.flip(0), TARGET.roll(1)])
    logits = normal(runs, B, K, seed=3).requires_grad_()
    hypers = torch.zeros(runs) if case.hypers is None else case.hypers

    def loss(z: Tensor, y: Tensor, hyper: Tensor) -> Tensor:
        return case.function(z, y, *(case.given if case.hypers is None else (hyper,)))

    (mapped,) = torch.autograd.grad(vmap(loss)(logits, targets, hypers).sum(), logits)
    looped = sum(loss(*run).sum() for run in zip(logits, targets, hypers, strict=True))
    torch.testing.assert_close(mapped, torch.autograd.grad(looped, logits)[0], rtol=1e-10, atol=1e-14)


@every_loss
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_extreme_logits_give_finite_values_and_gradients(case: Case, dtype: torch.dtype) -> None:
    logits = torch.tensor([[1e4, -1e4, 0], [-1e4, 1e4, 1e4]] * 3, dtype=dtype, requires_grad=True)
    values = case.function(logits, TARGET, *case.given)
    (grad,) = torch.autograd.grad(values.sum(), logits)
    assert values.isfinite().all()
    assert grad.isfinite().all()


Sized = Callable[[Tensor, Tensor], Tensor]
WITHOUT_MATRIX: dict[str, Sized] = {
    "cross_entropy": cross_entropy,
    "gce": lambda z, y: gce(z, y, 0.7),
    "truncated gce": lambda z, y: truncated_gce(z, y, 0.7, 0.5),
    "bi_tempered": lambda z, y: bi_tempered(z, y, 0.7, 2.0),
    "bi_tempered, smoothed": lambda z, y: bi_tempered(z, y, 0.5, 1.1, 0.1),
    "label_smoothing": lambda z, y: label_smoothed(z, y, 0.3),
    "sharpening": lambda z, y: label_smoothed(z, y, -0.5),
    "forward_smoothed": lambda z, y: forward_smoothed(z, y, 0.3),
    **{name: partial(one_forward, name, alpha=1.5) for name in DIVERGENCES},
    "peer": lambda z, y: peers(z, y, 1.5),
    **{
        f"distillation {how}": lambda z, y, how=how: distilled(z, z.detach().roll(1, 0), 2.0, 0.1, how)
        for how in ("none", "smoothing", "forward")
    },
}
WITH_MATRIX: dict[str, Callable[[Tensor, Tensor], Sized]] = {  # by T and its inverse
    "forward": lambda T, inverse: lambda z, y: forward_corrected(z, y, T),
    "backward": lambda T, inverse: lambda z, y: backward_corrected(z, y, inverse),
    **{name: lambda T, inverse, name=name: partial(one_forward, name, alpha=1.5, M=inverse) for name in DIVERGENCES},
}
every_dtype = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])


@cache
def matrices(classes: int) -> tuple[Tensor, Tensor]:
    """T, all but two entries of a row zero, and its inverse."""
    T = pair(classes, 0.3)
    return T.probs, T.inverse()


def assert_finite(loss: Sized, classes: int, dtype: torch.dtype) -> None:
    """At logits of ±1e4 and 0 in turn, for labels that are certain, hopeless and in between."""
    steps = torch.arange(6)[:, None] + torch.arange(classes)
    logits = (1e4 * (steps % 3 - 1)).to(dtype).requires_grad_()
    values = loss(logits, torch.arange(6) * 5 % classes)
    (grad,) = torch.autograd.grad(values.sum(), logits)
    assert values.dtype == torch.float32
    assert values.isfinite().all()
    assert grad.isfinite().all()


@every_dtype
@pytest.mark.parametrize("classes", [2, 10, 1000, 20_000])
@pytest.mark.parametrize("name", WITHOUT_MATRIX)
def test_extreme_logits_of_many_classes_stay_finite(name: str, classes: int, dtype: torch.dtype) -> None:
    assert_finite(WITHOUT_MATRIX[name], classes, dtype)


@every_dtype
@pytest.mark.parametrize("classes", [2, 10, 1000])
@pytest.mark.parametrize("name", WITH_MATRIX)
def test_extreme_logits_stay_finite_with_a_matrix_full_of_zeros(name: str, classes: int, dtype: torch.dtype) -> None:
    assert_finite(WITH_MATRIX[name](*matrices(classes)), classes, dtype)


@every_loss
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_value_is_float32_or_wider_whatever_the_hyper_parameter(case: Case, dtype: torch.dtype) -> None:
    wide = torch.promote_types(dtype, torch.float32)
    assert case.function(LOGITS.to(dtype), TARGET, *case.given).dtype == wide
    if case.hypers is not None:
        mapped = vmap(lambda hyper: case.function(LOGITS.to(dtype), TARGET, hyper))(case.hypers)
        assert mapped.dtype == wide


@pytest.mark.parametrize("module", [module.name for module in pkgutil.iter_modules(losses.__path__)])
def test_examples_in_docstrings_are_right(module: str) -> None:
    loaded = importlib.import_module(f"labelnoise.losses.{module}")
    result = doctest.testmod(loaded)
    twins = [cls for cls in vars(loaded).values() if isinstance(cls, type) and cls.__module__ == loaded.__name__]
    assert result.failed == 0
    assert result.attempted >= 2 * sum(issubclass(cls, Loss) and cls is not Loss for cls in twins)


def test_public_modules_are_covered_here() -> None:
    public = {thing for thing in vars(losses).values() if isinstance(thing, type) and issubclass(thing, Loss)}
    covered = {cls for case in CASES.values() for cls in type(case.module("none")).__mro__}
    assert public <= covered


def test_reduce_refuses_an_unknown_reduction() -> None:
    with pytest.raises(InputError, match="'none', 'mean' or 'sum', not 'max'"):
        reduce(torch.ones(2), "max")


def test_module_refuses_an_unknown_reduction_when_it_is_made() -> None:
    with pytest.raises(InputError, match="not 'average'"):
        CELoss(reduction="average")


def test_log_softmax_of_half_precision_is_that_of_the_widened_logits() -> None:
    logits = LOGITS.to(torch.bfloat16)
    assert torch.equal(log_softmax(logits), logits.float().log_softmax(-1))


def test_picked_takes_one_entry_per_row() -> None:
    assert picked(LOGITS, TARGET).tolist() == [LOGITS[i, y].item() for i, y in enumerate(TARGET.tolist())]


def test_neighbours_are_the_labels_of_the_rows_before() -> None:
    assert neighbours(torch.tensor([3, 1, 2])).tolist() == [2, 3, 1]
    assert (
        neighbours(torch.tensor([[0.2, 0.8], [0.5, 0.5]])).tolist() == torch.tensor([[0.5, 0.5], [0.2, 0.8]]).tolist()
    )


@pytest.mark.parametrize("loss", [PeerLoss(), FDivergenceLoss()])
def test_one_row_cannot_be_compared_with_another(loss) -> None:
    with pytest.raises(InputError, match="needs batches of at least two"):
        loss(torch.zeros(1, 3), torch.tensor([0]))


@pytest.mark.parametrize(
    "make",
    [
        lambda: PeerLoss(float("nan")),
        lambda: FDivergenceLoss(alpha=float("inf")),
        lambda: DistillationLoss(alpha=1.5, on_student="forward"),
        lambda: DistillationLoss(alpha=0.5),
    ],
)
def test_an_alpha_that_means_nothing_is_refused(make) -> None:
    with pytest.raises(InputError, match="alpha"):
        make()
