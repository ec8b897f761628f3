"""A network whose rows are divided: among processes, and within one into pieces that are computed one after the other.

Outside the network every process holds the same full tensors and the same gradients of them, so that an objective sees
the whole batch, whatever it compares. Inside, gradients are those of the own rows times the number of processes: their
mean over the processes is the gradient of the whole batch, and so it is for a parameter that all of them use in full.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.checkpoint import checkpoint

from labelnoise.engine import ranks
from labelnoise.nets.dropout import Dropout, Window


def divide(net: nn.Module, pieces: int = 1, *, synchronised: bool = False) -> nn.Module:
    """The network with another forward: names of its weights, and its class, stay what they are."""
    if synchronised:
        for norm in (module for module in net.modules() if isinstance(module, _BatchNorm)):
            vars(norm)["forward"] = Synchronised(norm)
    vars(net)["forward"] = Divided(net, pieces)
    return net


class Divided:
    """The forward of a network that makes of each row what it makes of it alone, BatchNorm aside.

    Tensors may have the rows several times over, one block after the other; all that have them are divided. Fewer rows
    than processes are not. Pieces of a training step keep no activations: the backward pass computes them again, piece
    by piece. One step is one batch to BatchNorm's running statistics, however many pieces it has.
    """

    def __init__(self, net: nn.Module, pieces: int) -> None:
        self.net, self.pieces, self.whole = net, pieces, net.forward
        self.dropouts = [module for module in net.modules() if isinstance(module, Dropout)]
        self.norms = [module for module in net.modules() if isinstance(module, _BatchNorm)]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The network's output for all rows."""
        given = (args, kwargs)
        rows = next(len(each) for each in tree_leaves(given) if isinstance(each, Tensor))
        learns = self.net.training and torch.is_grad_enabled()
        pieces = min(self.pieces, rows // ranks.count()) if learns else 1
        if rows < ranks.count() or ranks.count() == pieces == 1:
            return self.whole(*args, **kwargs)
        own = ranks.own_rows(rows)
        mine = tree_map(lambda each: _taken(each, rows), given)
        cuts = ranks.bounds(own.stop - own.start, pieces)
        windows = [Window(own.start + cut.start, cut.stop - cut.start, rows) for cut in cuts]
        found = self._pieces(mine, own.stop - own.start, windows)
        return tree_map(lambda *each: _joined(each, windows), *found)

    def _pieces(self, mine: Any, own: int, windows: Sequence[Window]) -> list[Any]:
        if len(windows) == 1:
            return [self._piece(windows[0], mine)]
        found = []
        for number, window in enumerate(windows):
            here = slice(window.first - windows[0].first, window.first - windows[0].first + window.own)
            some = tree_map(partial(_cut, rows=own, here=here), mine)
            with self._counting(number, len(windows)):
                found.append(checkpoint(self._piece, window, some, use_reentrant=False, context_fn=self._contexts))
        return found

    def _piece(self, window: Window, given: Any) -> Any:
        args, kwargs = given
        divided = [norm.forward for norm in self.norms if isinstance(norm.forward, Synchronised)]
        with _set(self.dropouts, "window", window), _set(divided, "divided", ranks.count() > 1):
            return self.whole(*args, **kwargs)

    def _contexts(self) -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
        return nullcontext(), self._again()

    @contextmanager
    def _again(self) -> Iterator[None]:
        # What is computed again must not count again: running statistics are copies meanwhile.
        with ExitStack() as stack:
            for norm in self.norms:
                for name, value in norm.named_buffers(recurse=False):
                    stack.enter_context(_set([norm], name, value.clone()))
            yield

    @contextmanager
    def _counting(self, number: int, pieces: int) -> Iterator[None]:
        # The running mean after all pieces is 1 - m times the old one plus m times the mean of the pieces' statistics.
        with ExitStack() as stack:
            for norm in self.norms:
                if (m := norm.momentum) is not None:
                    share = (m / pieces) / (1 - m + (number + 1) * m / pieces)
                    stack.enter_context(_set([norm], "momentum", share))
            yield
        for norm in self.norms:
            if number and norm.momentum is not None and norm.training and norm.num_batches_tracked is not None:
                norm.num_batches_tracked.sub_(1)


class Synchronised:
    """The forward of a BatchNorm layer by the statistics of the rows of all processes; torch's own is for GPUs only."""

    def __init__(self, norm: _BatchNorm) -> None:
        self.norm, self.alone = norm, norm.forward
        self.divided = False  # whether other processes have other rows

    def __call__(self, x: Tensor) -> Tensor:
        """As `torch.nn.BatchNorm` does it, of x (B, C, ...)."""
        norm = self.norm
        if not (norm.training and self.divided):
            return self.alone(x)
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        var, mean = torch.var_mean(wide, [0, *range(2, x.dim())], correction=0)  # (C,)
        size = torch.full_like(mean, x.numel() / len(mean))
        means, variances, sizes = _show_all(torch.stack([mean, var, size])).unbind(1)  # (processes, C)
        share = sizes / sizes.sum(0)
        mean = (share * means).sum(0)
        var = (share * (variances + (means - mean) ** 2)).sum(0)
        self._note(mean.detach(), var.detach(), sizes.sum(0))
        scale = (var + norm.eps).rsqrt() if norm.weight is None else norm.weight * (var + norm.eps).rsqrt()
        shift = -mean * scale if norm.bias is None else norm.bias - mean * scale
        place = (-1, *(1 for _ in x.shape[2:]))
        return torch.addcmul(shift.reshape(place), wide, scale.reshape(place)).to(x.dtype)

    @torch.no_grad()
    def _note(self, mean: Tensor, var: Tensor, size: Tensor) -> None:
        seen, momentum = self.norm.num_batches_tracked, self.norm.momentum
        if seen is None or not self.norm.track_running_stats:
            return
        seen.add_(1)
        for running, now in ((self.norm.running_mean, mean), (self.norm.running_var, var * size / (size - 1))):
            if running is not None:
                running.lerp_(now.to(running.dtype), 1 / seen if momentum is None else torch.full_like(mean, momentum))


class _Taken(torch.autograd.Function):
    # the own rows of a tensor that all processes have; back go the gradients of all rows, to all processes

    @staticmethod
    def forward(ctx: Any, whole: Tensor) -> Tensor:
        ctx.rows = len(whole)
        return whole[ranks.own_rows(len(whole))].clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return ranks.gathered(grad, ctx.rows) / ranks.count()


class _Given(torch.autograd.Function):
    # all rows, of which each process has its own; back goes the gradient of the own rows, times the processes

    @staticmethod
    def forward(ctx: Any, own: Tensor, rows: int) -> Tensor:
        ctx.rows = rows
        return ranks.gathered(own, rows)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad[ranks.own_rows(ctx.rows)] * ranks.count(), None


class _Shown(torch.autograd.Function):
    # a tensor of each process, (processes, ...); each goes on with it in its own way, so gradients are summed

    @staticmethod
    def forward(ctx: FunctionCtx, own: Tensor) -> Tensor:
        return ranks.gathered(own.unsqueeze(0), ranks.count())

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> Tensor:
        return ranks.summed(grad)[ranks.rank()]


_take_own: Callable[[Tensor], Tensor] = _Taken.apply
_give_all: Callable[[Tensor, int], Tensor] = _Given.apply
_show_all: Callable[[Tensor], Tensor] = _Shown.apply


def _rows_first(tensor: Tensor, rows: int) -> Tensor:
    # (blocks · rows, ...) -> (rows, blocks, ...)
    return tensor.reshape(len(tensor) // rows, rows, *tensor.shape[1:]).transpose(0, 1)


def _blocks_first(tensor: Tensor) -> Tensor:
    # and back
    return tensor.transpose(0, 1).flatten(0, 1)


def _taken(given: Any, rows: int) -> Any:
    if ranks.count() == 1 or not _has(given, rows):
        return given
    whole = _rows_first(given, rows)
    if whole.requires_grad and torch.is_grad_enabled():
        return _blocks_first(_take_own(whole))
    return _blocks_first(whole[ranks.own_rows(rows)])


def _cut(given: Any, rows: int, here: slice) -> Any:
    return _blocks_first(_rows_first(given, rows)[here]) if _has(given, rows) else given


def _joined(pieces: Sequence[Any], windows: Sequence[Window]) -> Tensor:
    for each, window in zip(pieces, windows, strict=True):
        if not _has(each, window.own):
            raise TypeError("a network that is divided by rows must return tensors of rows, or tuples or dicts of them")
    own = torch.cat([_rows_first(each, window.own) for each, window in zip(pieces, windows, strict=True)])
    return _blocks_first(own if ranks.count() == 1 else _give_all(own, windows[0].rows))


def _has(given: Any, rows: int) -> bool:
    return isinstance(given, Tensor) and given.dim() > 0 and len(given) % rows == 0


@contextmanager
def _set(things: Sequence[Any], name: str, value: Any) -> Iterator[None]:
    before = [getattr(thing, name) for thing in things]
    try:
        for thing in things:
            setattr(thing, name, value)
        yield
    finally:
        for thing, old in zip(things, before, strict=True):
            setattr(thing, name, old)
