import math

import pytest
import torch
from torch import Tensor
from torch.func import vmap

from labelnoise.losses import noisy_logits
from labelnoise.losses.monte_carlo import monte_carlo_nll

B, K, S, R = 5, 4, 23, 2
TARGET = torch.tensor([0, 3, 1, 2, 2])


def normal(*size: int, seed: int = 0) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


LAW = (2 * normal(B, K), normal(B, K, seed=1), normal(B, K, R, seed=2))
NORMALS = {
    "own": (normal(S, B, K, seed=3), normal(S, B, R, seed=4)),
    "shared": (normal(S, 1, K, seed=3), normal(S, 1, R, seed=4)),
}


@pytest.fixture(params=[1, 3 * B * K, 10**6], ids=["one by one", "by threes", "at once"])
def chunked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noisy_logits, "NUMBERS", request.param)


def plain(loc: Tensor, scale: Tensor, factors: Tensor, normals: tuple[Tensor, Tensor]) -> Tensor:
    """The same by autograd, all draws at once."""
    noise, factor_noise = normals
    logits = loc + scale * noise + (factors * factor_noise.unsqueeze(-2)).sum(-1)  # (S, B, K)
    log_p = logits.log_softmax(-1)[:, torch.arange(B), TARGET]
    return math.log(S) - log_p.logsumexp(0)


@pytest.mark.usefixtures("chunked")
@pytest.mark.parametrize("normals", NORMALS.values(), ids=NORMALS)
def test_value_and_gradients_equal_those_of_all_draws_at_once(normals: tuple[Tensor, Tensor]) -> None:
    law = [part.clone().requires_grad_() for part in LAW]
    found, expected = monte_carlo_nll(tuple(law), TARGET, normals), plain(*law, normals)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
    weights = normal(B, seed=5)
    grads = [torch.autograd.grad((weights * nll).sum(), law) for nll in (found, expected)]
    for own, other in zip(*grads, strict=True):
        torch.testing.assert_close(own, other, rtol=1e-10, atol=1e-13)


@pytest.mark.usefixtures("chunked")
def test_mapped_over_laws_and_draws_it_equals_the_loop() -> None:
    laws = [torch.stack([part, part / 2, -part]).requires_grad_() for part in LAW]
    normals = [torch.stack([each, -each, each / 3]) for each in NORMALS["shared"]]
    mapped = vmap(lambda *given: monte_carlo_nll(given[:3], TARGET, given[3:]))(*laws, *normals)
    looped = torch.stack([monte_carlo_nll(given[:3], TARGET, given[3:]) for given in zip(*laws, *normals, strict=True)])
    torch.testing.assert_close(mapped, looped, rtol=1e-12, atol=0)
    grads = [torch.autograd.grad(nll.sum(), laws) for nll in (mapped, looped)]
    for own, other in zip(*grads, strict=True):
        torch.testing.assert_close(own, other, rtol=1e-10, atol=1e-13)


def test_labels_alone_can_be_mapped() -> None:
    targets = torch.stack([TARGET, TARGET.flip(0)])
    mapped = vmap(lambda target: monte_carlo_nll(LAW, target, NORMALS["own"]))(targets)
    looped = torch.stack([monte_carlo_nll(LAW, target, NORMALS["own"]) for target in targets])
    torch.testing.assert_close(mapped, looped, rtol=1e-12, atol=0)


def test_a_second_derivative_is_refused_rather_than_wrong() -> None:
    law = [part.clone().requires_grad_() for part in LAW]
    nll = monte_carlo_nll(tuple(law), TARGET, NORMALS["own"]) ** 2
    (grad,) = torch.autograd.grad(nll.sum(), law[0], create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.sum().backward()


def test_a_label_that_no_draw_makes_likely_has_a_finite_gradient() -> None:
    loc = torch.tensor([[1e4, -1e4]], requires_grad=True)
    law = (loc, torch.full((1, 2), 1e4), torch.full((1, 2, 1), 1e4))
    nll = monte_carlo_nll(law, torch.tensor([1]), (torch.zeros(9, 1, 2), torch.zeros(9, 1, 1)))
    assert nll.item() == pytest.approx(2e4)
    assert torch.autograd.grad(nll.sum(), loc)[0].tolist() == [[1.0, -1.0]]


def test_backward_keeps_nothing_of_the_size_of_all_draws() -> None:
    saved: list[int] = []

    def note(tensor: Tensor) -> Tensor:
        saved.append(tensor.numel())
        return tensor

    law = tuple(part.clone().requires_grad_() for part in LAW)
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        monte_carlo_nll(law, TARGET, NORMALS["shared"])
    assert max(saved) == B * K * R


@pytest.mark.parametrize("normals", NORMALS.values(), ids=NORMALS)
def test_what_a_compiler_is_given_has_the_same_value_and_gradients(normals: tuple[Tensor, Tensor]) -> None:
    law = [part.clone().requires_grad_() for part in LAW]
    compiled = torch.compile(monte_carlo_nll, backend="eager", fullgraph=True)
    weights = normal(B, seed=5)
    found = [nll(tuple(law), TARGET, normals) for nll in (compiled, monte_carlo_nll)]
    torch.testing.assert_close(*found, rtol=1e-12, atol=0)
    grads = [torch.autograd.grad((weights * nll).sum(), law) for nll in found]
    for own, other in zip(*grads, strict=True):
        torch.testing.assert_close(own, other, rtol=1e-10, atol=1e-13)
