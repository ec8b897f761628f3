import pytest
import torch
from torch import Tensor
from torch.autograd.functional import jacobian
from torch.distributions import MultivariateNormal

from labelnoise.losses.rank_one import rank_one


def dense(r: Tensor, c: Tensor, lam: Tensor) -> Tensor:
    """The same by a dense normal law: its negative log-likelihood less that of r = 0 and c = 0."""
    eye = torch.eye(r.shape[-1], dtype=r.dtype)
    each = []
    for row, scale, floor in zip(r, c, lam, strict=True):
        root = torch.outer(scale, scale) + floor * eye
        zero = MultivariateNormal(torch.zeros_like(row), floor.square() * eye).log_prob(torch.zeros_like(row))
        each.append(zero - MultivariateNormal(torch.zeros_like(row), root @ root).log_prob(row))
    return torch.stack(each).unsqueeze(-1)


@pytest.mark.parametrize("compiling", [False, True])
def test_value_and_gradients_are_those_of_a_dense_normal(monkeypatch: pytest.MonkeyPatch, compiling: bool) -> None:
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: compiling)
    generator = torch.Generator().manual_seed(0)
    r, c = (torch.randn(5, 4, generator=generator, dtype=torch.float64) for _ in range(2))
    inputs = (r, c, torch.full((5, 1), 0.5, dtype=torch.float64))
    torch.testing.assert_close(rank_one(*inputs), dense(*inputs))
    torch.testing.assert_close(jacobian(rank_one, inputs), jacobian(dense, inputs))
