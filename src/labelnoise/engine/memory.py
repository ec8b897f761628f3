"""How much memory a run will need, found beforehand: its own objective is called on the CPU with a few rows.

What grows with the rows is scaled to the batch. All is counted in the precision of the weights, so it is more than is
needed where a GPU works with half of that; what libraries take for themselves is not in it, nor what a pack on a GPU
keeps for convolutions as products of matrices. Packs that do not fit all the same are halved.
"""

from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any, NamedTuple
from weakref import ref

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from labelnoise.config import Train
from labelnoise.engine.lanes import Alone
from labelnoise.engine.step import Clock, Feed
from labelnoise.methods.base import Estimate, Method
from labelnoise.rng import Rng
from labelnoise.types import Batch, DataSpec, Snapshot

FEW = 2  # rows that are tried, and then twice as many
MOST = 2**24  # numbers in the predictions from which estimates are made
SHORTAGES = (
    "can't allocate memory",
    "Cannot allocate memory",
    "std::bad_alloc",
    "out of memory",  # of torch, CUDA, its driver, Triton
    "STATUS_ALLOC_FAILED",
)
# Libraries say these where memory is full, but also where they are broken, or where labels are out of bounds; to take
# that for a shortage would leave every run out as too large, and never say why. So the device is asked.
DOUBTFUL = ("unable to find an engine", "STATUS_NOT_INITIALIZED", "ALLOCATION_FAILED")
LITTLE = 0.1  # of a GPU's memory: with more free, that is not what is short


class Need(NamedTuple):
    """Bytes that one run needs; they add up, for on a GPU recorded steps and predictions keep theirs."""

    state: int  # weights, the best so far, gradients, what the optimiser keeps, estimates, per-sample memory
    step: int  # a batch, what is kept of it for the backward pass, and what the widest operation reads and writes
    prediction: int  # rows that are predicted at once, and the most that there is of them on the way

    @property
    def total(self) -> int:
        """All of it."""
        return sum(self)


def needed(method: Method, spec: DataSpec, train: Train, rows: int) -> Need:
    """What one run needs, in whichever stage that is most; `rows` are predicted at once."""
    lane = Alone([method], spec, [0], torch.zeros(()))
    found = []
    for number, stage in enumerate(method.stages()):
        _estimate(lane, stage.before)
        lane.enter(number, train.optimiser)
        batch = min(stage.batch or train.batch, spec.samples)
        step = max(_scaled(partial(_step, lane, update=update), batch) for update in lane.updaters)
        prediction = sum(_scaled(partial(_prediction, lane, noisy=noisy), rows) for noisy in (False, True))
        found.append(Need(_state(lane), step, prediction))
        _estimate(lane, stage.refresh)
    return Need(*map(max, zip(*found, strict=True)))


def is_shortage(problem: BaseException) -> bool:
    """Whether an error says that memory is full."""
    if isinstance(problem, torch.cuda.OutOfMemoryError | MemoryError):
        return True
    if not isinstance(problem, RuntimeError):
        return False
    text = str(problem)
    return any(words in text for words in SHORTAGES) or (any(words in text for words in DOUBTFUL) and _is_full())


def _is_full() -> bool:
    cuda: Any = torch.cuda
    if not cuda.is_initialized():  # it was not this process, or no GPU
        return False
    free, total = torch.cuda.mem_get_info()
    return free < LITTLE * total


class _Operations(TorchFunctionMode):
    """Notes how many bytes there are at each operation: what it reads and writes, and what waits for a later one.

    The latter is known where no gradient is wanted. Weights, and the inputs of it all, are counted elsewhere.
    """

    def __init__(self, lane: Alone, inputs: Iterable[Tensor] = ()) -> None:
        super().__init__()
        state = (lane.params | lane.buffers | lane.aux).values()
        self.apart = {tensor.untyped_storage().data_ptr() for tensor in (*state, *inputs)}
        self.made: list[ref[Tensor]] = []
        self.bytes: list[int] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        waiting = [tensor for each in self.made if (tensor := each()) is not None]
        self.bytes.append(_bytes(_tensors((args, kwargs, result, waiting)), self.apart))
        if not torch.is_grad_enabled():
            self.made = [ref(tensor) for tensor in _tensors((result, waiting))]
        return result


def _scaled(count: Callable[[int], list[int]], rows: int) -> int:
    # Of what is held and of each operation a straight line through two counts; of the operations the widest.
    pairs = zip(count(FEW), count(2 * FEW), strict=False)
    held, *operations = (max(few, few + (more - few) * (rows - FEW) // FEW) for few, more in pairs)
    return held + max(operations)


def _state(lane: Alone) -> int:
    lane.keep_best(torch.tensor(True))
    gradients = [param for param in lane.params.values() if param.requires_grad]
    memory = lane.stage.method.memory(lane.spec)
    return sum(value.nbytes for value in (*lane.state().values(), *gradients, *memory.values()))


def _step(lane: Alone, size: int, *, update: str) -> list[int]:
    feed = _feed(lane, size)
    kept: list[Tensor] = tree_leaves(feed)

    def keep(tensor: Tensor) -> Tensor:
        kept.append(tensor.detach())  # the tensor itself would hold the graph that holds it
        return kept[-1]

    operations = _Operations(lane)
    with operations, saved_tensors_hooks(keep, lambda tensor: tensor):
        lane.terms(feed, update)
    return [_bytes(kept, operations.apart), *operations.bytes]


def _prediction(lane: Alone, size: int, *, noisy: bool) -> list[int]:
    x = _inputs(lane, size)
    operations = _Operations(lane, [x])
    with operations:
        lane.log_probs(x, noisy=noisy)
    return [x.nbytes, *operations.bytes]


def _feed(lane: Alone, size: int) -> Feed:
    first, *peers = (_batch(lane, size) for _ in range(1 + lane.current[0].peers))
    memory = {name: value[:size].clone() for name, value in lane.current[0].memory(lane.spec).items()}
    zero = torch.zeros((), dtype=torch.float64)
    return lane.feed(first, tuple(peers), memory, Clock(0, 0, zero, zero, zero + 1, 1.0))


def _batch(lane: Alone, size: int) -> Batch:
    rows = torch.arange(size)
    return Batch(_inputs(lane, size), rows % lane.spec.classes, rows)


def _inputs(lane: Alone, size: int) -> Tensor:
    return torch.zeros(size, *lane.spec.shape)


def _estimate(lane: Alone, estimate: Estimate | None) -> None:
    # what the objective finds in `ctx.aux`, from predictions that say nothing
    if estimate is not None:
        rows = min(lane.spec.samples, max(1, MOST // lane.spec.classes))
        probs = Rng(0, "memory").normal(rows, lane.spec.classes).softmax(-1)
        lane.set_aux(estimate(Snapshot(probs, torch.arange(rows) % lane.spec.classes, 0.0)))


def _tensors(tree: Any) -> list[Tensor]:
    return [each for each in tree_leaves(tree) if isinstance(each, Tensor)]


def _bytes(tensors: Iterable[Tensor], apart: Collection[int]) -> int:
    # of storages, each once, but for those that are counted elsewhere
    storages = {storage.data_ptr(): storage.nbytes() for storage in (each.untyped_storage() for each in tensors)}
    total: int = sum(size for place, size in storages.items() if place not in apart)
    return total
