"""Methods in anyone's loop: a method as one torch module whose forward is its objective.

The loop has the batches and the optimiser; the module has the networks, the seed of the random numbers and whatever
else the method keeps. All of it is in its state dict, as tensors.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn

from labelnoise.config import Value
from labelnoise.engine.instance import Causal, instance_transition
from labelnoise.engine.step import Step, Tensors, checked, chosen, follow, owner, prediction, transition
from labelnoise.errors import InputError
from labelnoise.methods import Method, Stage, build
from labelnoise.methods.own import only_method
from labelnoise.rng import Rng, seeded_init
from labelnoise.types import Batch, Context, DataSpec, Terms
from labelnoise.untold import (
    Maker,
    Rowless,
    Spec,
    Timeless,
    check_batch,
    check_peers,
    check_told,
    estimated,
    unready,
)


def step(
    method: str,
    /,
    *,
    net: Callable[[Any], nn.Module],
    classes: int,
    shape: Sequence[int] = (),
    train_size: int = 0,
    seed: int = 0,
    **settings: Value,
) -> "MethodStep":
    """The registered method of this name, with these settings, as a module whose forward is its objective.

    A method of one's own is named by the Python file, or the dotted module, that registers it and no other.
    `net` makes a new network at each call, from its number of outputs; of some methods, from a function that makes a
    head of a number of features. `shape` of one input and `train_size`, the number of rows, are for methods that ask.
    """
    return MethodStep(build(only_method(method), settings), Spec(tuple(shape), classes, train_size, Maker(net)), seed)


class Place(NamedTuple):
    """Where a training stands, in whole numbers."""

    stage: int = 0
    ready: int = 0  # 1 once there is what the stage estimates before it
    calls: int = 0  # steps so far: they name the random numbers
    epoch: int = 0  # of the stage
    epochs: int = 0  # of the stage; 0 until told
    step: int = 0  # of the epoch
    steps: int = 0  # of the epoch, in all; 0 if not told


class MethodStep(nn.Module):
    """A method's networks and all that it keeps: `loss = step(x, y)` in a loop of one's own.

    In training mode a call is a step; in eval mode it gives the loss and leaves no trace.
    """

    trains: tuple[str, ...]  # networks that learn in the present stage
    place: Place

    def __init__(self, method: Method, spec: DataSpec, seed: int = 0) -> None:
        super().__init__()
        self.method, self.spec, self.seed = method, spec, seed
        self.last = Terms(torch.zeros(()))  # of the last call in training mode, without gradients
        self.module = self._new("init")
        self._fixed = {name for name, param in self.module.named_parameters() if not param.requires_grad}
        for stage in method.stages():
            self._keep("memory", stage.method.memory(spec))
        before_loading: Callable[..., Any] = self.register_load_state_dict_pre_hook
        before_loading(_make_room)
        found = estimated(method.stages()[0].before, spec.classes, 0.0)
        self._keep("aux", found or {})
        self._enter(Place(ready=found is not None))

    def forward(
        self, x: Any, y: Tensor, rows: Tensor | None = None, *, peers: Sequence[Any] = (), update: str = ""
    ) -> Tensor:
        """The loss of a batch; `rows` are its positions in the training set, `peers` further pairs of x and y."""
        check_told(self.stage, bool(self.place.ready), len(peers), update)
        check_batch(y, rows)
        check_peers(peers, len(y))
        batch = _batch(x, y, rows)
        ctx = self._context(batch, tuple(_batch(*peer) for peer in peers), update)
        if update:
            self._let_learn((update,))
        terms = checked(self.stage.method, self.stage.method.objective(self.networks, batch, ctx))
        if update:
            self._let_learn(self.trains)
        if self.training:
            self._note(terms, batch, update)
        return terms.loss

    @property
    def logs(self) -> Mapping[str, Tensor]:
        """Numbers of the last call in training mode; `last` has the rest, such as which examples were kept."""
        return self.last.logs

    @property
    def stage(self) -> Stage:
        """The present one."""
        return self.method.stages()[self.place.stage]

    @property
    def networks(self) -> dict[str, nn.Module]:
        """The method's networks by name."""
        return dict(self.module.networks)

    @property
    def stages(self) -> tuple[str, ...]:
        """What is trained one after the other, by name."""
        return tuple(stage.name for stage in self.method.stages())

    @property
    def updates(self) -> tuple[str, ...]:
        """The ordered updates of a step in this stage, each with a call of its own; most have one, called ""."""
        return self.stage.method.updates

    def groups(self) -> list[dict[str, Any]]:
        """Parameter groups of the networks that learn in this stage, with settings that the method asks for."""
        asked, own = self.stage.optimiser, self.stage.method.groups()
        shared = {"lr": asked.lr, "weight_decay": asked.weight_decay} if asked else {}
        learn = {name: [p for p in self.networks[name].parameters() if p.requires_grad] for name in self.trains}
        return [{"params": params, **shared, **own.get(name, {})} for name, params in learn.items() if params]

    def begin_stage(self, stage: int | str, probs: Tensor | None = None, labels: Tensor | None = None) -> None:
        """Go on to a stage, by name or number; `probs` (N, K) and given `labels` of the training set if it asks."""
        index = self.stages.index(stage) if stage in self.stages else stage
        if not (isinstance(index, int) and 0 <= index < len(self.stages)):
            raise InputError(f"there is no stage {stage!r}; there are {', '.join(self.stages)}, counted from 0")
        if index > self.place.stage + 1:
            following = self.stages[self.place.stage + 1]
            raise InputError(f"stage {self.stages[index]!r} builds on those before it; begin stage {following!r} first")
        *before, entered = self.method.stages()[: index + 1]
        found = estimated(entered.before, self.spec.classes, sum(each.share for each in before), probs, labels)
        if found is None:
            raise unready(entered.name)
        self._keep("aux", found)
        for name in chosen(entered.restart, self.networks):
            self.networks[name].load_state_dict(self._new("init", index).networks[name].state_dict())
        self._enter(Place(index, 1, self.place.calls))

    def begin_epoch(
        self, epoch: int, epochs: int, steps: int = 0, *, probs: Tensor | None = None, labels: Tensor | None = None
    ) -> None:
        """Tell the epoch of the stage, from 0, of how many and, for a progress within it, its number of steps.

        A few settings estimate anew after every epoch: all but the first then need `probs` and `labels`.
        """
        if not 0 <= epoch < epochs:
            raise InputError(f"epoch {epoch} is none of {epochs} epochs, which are counted from 0")
        if epoch and self.stage.refresh:
            before = self.method.stages()[: self.place.stage]
            done = sum(each.share for each in before) + self.stage.share * epoch / epochs
            found = estimated(self.stage.refresh, self.spec.classes, done, probs, labels)
            if found is None:
                raise InputError("the method looks at the training set after every epoch; give probs= and labels=")
            self._keep("aux", found)
        self.place = self.place._replace(epoch=epoch, epochs=epochs, step=0, steps=steps)

    def mask_gradients(self) -> None:
        """After backward: no gradients for networks that are not to learn from this batch, for Adam moves on zeros."""
        for name, flag in self.last.active.items():
            if not flag:
                self.networks[name].zero_grad(set_to_none=True)

    @torch.no_grad()
    def follow(self) -> None:
        """After the optimiser's step: running means move a little towards the networks that they follow."""
        weights = dict(self.module.named_parameters()) | dict(self.module.named_buffers())
        follow(weights, self.stage.method.averages())

    @torch.no_grad()
    def log_probs(self, x: Any) -> Tensor:
        """Log-probabilities of the true classes, (B, K), in eval mode."""
        method = self.stage.method
        draws = method.draws(self.spec, 1, self._rng("predict"))
        with self._in_eval_mode():
            return prediction(method, self.networks, x, draws, self._held("aux"), noisy=False)

    def predict(self, x: Any) -> Tensor:
        """The likeliest true classes, (B,)."""
        return self.log_probs(x).argmax(-1)

    @torch.no_grad()
    def transition(self, x: Any = None) -> Tensor:
        """P(given j | true i) at [i, j]: the T (K, K) that the method has now or, of inputs, its T(x) (B, K, K)."""
        stage, name = self.stage, self.method.name
        with self._in_eval_mode():
            if isinstance(stage.method, Causal):
                if x is None:
                    raise InputError(f"method {name!r} learns how noise depends on x; call step.transition(x)")
                return instance_transition(stage.method, self.networks, x, self._held("aux"))
            found = transition(stage.method, self.networks, self._held("aux"))
        if "T" not in found:
            raise InputError(f"method {name!r} has no T in stage {stage.name!r}, of {', '.join(self.stages)}")
        if x is not None:
            raise InputError(f"method {name!r} has one T for all x; call step.transition()")
        return found["T"]

    def train(self, mode: bool = True) -> Self:
        """Training mode for the networks that learn in this stage, eval mode for the others."""
        super().train(mode)
        self.module.train_only(self.trains if mode else ())
        return self

    def get_extra_state(self) -> Tensor:
        """Where the training stands, and the seed, for the state dict."""
        return torch.tensor((*self.place, self.seed))

    def set_extra_state(self, state: Tensor) -> None:
        """Stand there again."""
        *place, self.seed = state.tolist()
        self._enter(Place(*place))

    def _enter(self, place: Place) -> None:
        self.place = place
        learning = [name for name in self.networks if name not in self.stage.method.averages()]
        self.trains = chosen(self.stage.trains, learning) or tuple(learning)
        self._let_learn(self.trains)
        self.train(self.training)

    def _let_learn(self, networks: Sequence[str]) -> None:
        for name, param in self.module.named_parameters():
            param.requires_grad_(owner(name) in networks and name not in self._fixed)

    def _note(self, terms: Terms, batch: Batch, update: str) -> None:
        plain = ({name: value.detach() for name, value in named.items()} for named in terms[1:])
        self.last = Terms(terms.loss.detach(), *plain)
        for name, value in self.last.memory.items():
            place = self._held("memory")[name]
            place[batch.rows] = value.to(place.dtype)
        if update == self.updates[-1]:
            self.place = self.place._replace(calls=self.place.calls + 1, step=self.place.step + 1)

    @contextmanager
    def _in_eval_mode(self) -> Iterator[None]:
        modes = {module: module.training for module in self.modules()}  # of each, for parts may be frozen
        self.eval()
        try:
            yield
        finally:
            for module, mode in modes.items():
                module.training = mode

    def _context(self, batch: Batch, peers: tuple[Batch, ...], update: str) -> Context:
        stage, _, calls, epoch, epochs, done, steps = self.place
        draws = self.stage.method.draws(self.spec, len(batch.y), self._rng("draws", stage, calls))
        memory = {name: rows[batch.rows] for name, rows in self._held("memory").items()}
        if not epochs:
            return Timeless(peers, draws, memory, self._held("aux"), update=update)
        here = epoch + (min(done / steps, 1.0) if steps else 0.0)
        numbers = torch.tensor([here / epochs, epoch, epochs], dtype=torch.float64, device=batch.y.device)
        progress, at, end = numbers.unbind()
        return Context(peers, draws, memory, self._held("aux"), progress, at, end, update)

    def _new(self, *key: int | str) -> Step:
        with seeded_init(self.seed, *key):
            nets = self.method.networks(self.spec)
        if len({id(net) for net in nets.values()}) < len(nets):
            raise InputError("net gives the same network twice; it must make a new one at each call")
        return Step(nets)

    def _rng(self, *key: int | str) -> Rng:
        like = next(self.module.parameters())
        return Rng(self.seed, *key, device=like.device, dtype=like.dtype)

    def _keep(self, kind: str, named: Mapping[str, Tensor]) -> None:
        like = next(self.module.parameters())
        for name, value in named.items():
            dtype = like.dtype if value.is_floating_point() else value.dtype
            self.register_buffer(f"{kind}|{name.replace('.', '/')}", value.detach().to(like.device, dtype, copy=True))

    def _held(self, kind: str) -> Tensors:
        own = {name: value for name, value in self.named_buffers(recurse=False) if name.startswith(f"{kind}|")}
        return {name.removeprefix(f"{kind}|").replace("/", "."): value for name, value in own.items()}


def _batch(x: Any, y: Tensor, rows: Tensor | None = None) -> Batch:
    y = y.long()  # which alone indexes in every torch function
    return Rowless(x, y, y) if rows is None else Batch(x, y, rows.to(y.device).long())


def _make_room(module: MethodStep, state: Mapping[str, Tensor], prefix: str, *_: Any) -> None:
    # estimates come and go with the stages: a state dict may have others than the module
    for name in module._held("aux"):
        delattr(module, f"aux|{name.replace('.', '/')}")
    named = {name.removeprefix(prefix): value for name, value in state.items()}
    module._keep("aux", {name.removeprefix("aux|"): each for name, each in named.items() if name.startswith("aux|")})
