"""A method inside another: its networks and estimates go by prefixed names, and it never notices."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from labelnoise.methods.base import Estimate, Method, Stage
from labelnoise.rng import Rng
from labelnoise.types import Batch, Context, DataSpec, Nets, Snapshot, Terms


@dataclass(frozen=True)
class Wrapped(Method):
    """All that a method does, under a prefix such as `teacher.`; per-sample state is kept apart likewise."""

    prefix: str
    inner: Method

    @property
    def peers(self) -> int:
        """Those of the method."""
        return self.inner.peers

    @property
    def updates(self) -> tuple[str, ...]:
        """Those of the method, by prefixed names."""
        return tuple(f"{self.prefix}{name}" if name else "" for name in self.inner.updates)

    @property
    def coupled(self) -> bool:
        """As the method is."""
        return self.inner.coupled

    @property
    def skips(self) -> bool:
        """As the method does."""
        return self.inner.skips

    def networks(self, spec: DataSpec) -> dict[str, Any]:
        """The method's, prefixed."""
        return self._outside(self.inner.networks(spec))

    def groups(self) -> dict[str, Any]:
        """The method's, prefixed."""
        return self._outside(self.inner.groups())

    def averages(self) -> dict[str, tuple[str, float]]:
        """The method's, prefixed."""
        return self._outside({name: (self.prefix + of, decay) for name, (of, decay) in self.inner.averages().items()})

    def draws(self, spec: DataSpec, size: int, rng: Rng) -> dict[str, Tensor]:
        """The method's, prefixed."""
        return self._outside(self.inner.draws(spec, size, rng))

    def memory(self, spec: DataSpec) -> dict[str, Tensor]:
        """The method's, prefixed."""
        return self._outside(self.inner.memory(spec))

    def stages(self) -> tuple[Stage, ...]:
        """The method's, each wrapped in turn."""
        return tuple(self._stage(stage) for stage in self.inner.stages())

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """The method's."""
        terms = self.inner.objective(self._inside(nets), batch, self._context(ctx))
        memory, active, kept = (self._outside(each) for each in (terms.memory, terms.active, terms.kept))
        return terms._replace(memory=memory, active=active, kept=kept)

    def log_probs(self, nets: Nets, x: Tensor, ctx: Context) -> Tensor:
        """The method's."""
        return self.inner.log_probs(self._inside(nets), x, self._context(ctx))

    def noisy_log_probs(self, nets: Nets, x: Tensor, ctx: Context) -> Tensor:
        """The method's."""
        return self.inner.noisy_log_probs(self._inside(nets), x, self._context(ctx))

    def examine(self, nets: Nets, batch: Batch, ctx: Context) -> Mapping[str, Tensor]:
        """The method's."""
        return self.inner.examine(self._inside(nets), batch, self._context(ctx))

    def transition(self, nets: Nets, ctx: Context) -> Mapping[str, Tensor]:
        """The method's."""
        return self.inner.transition(self._inside(nets), self._context(ctx))

    def _stage(self, stage: Stage) -> Stage:
        trains = tuple(f"{self.prefix}{name}" for name in stage.trains) or (self.prefix,)
        restart = tuple(f"{self.prefix}{name}" for name in stage.restart)
        before, refresh = self._estimate(stage.before), self._estimate(stage.refresh)
        inner = replace(self, inner=stage.method)
        return replace(stage, method=inner, trains=trains, restart=restart, before=before, refresh=refresh)

    def _estimate(self, estimate: Estimate | None) -> Estimate | None:
        if estimate is None:
            return None
        found: Estimate = estimate

        def prefixed(snapshot: Snapshot) -> dict[str, Tensor]:
            return self._outside(found(snapshot))

        return prefixed

    def _context(self, ctx: Context) -> Context:
        draws, memory, aux = (self._inside(named) for named in (ctx.draws, ctx.memory, ctx.aux))
        return ctx._replace(draws=draws, memory=memory, aux=aux, update=ctx.update.removeprefix(self.prefix))

    def _outside(self, named: Mapping[str, Any]) -> dict[str, Any]:
        return {f"{self.prefix}{name}": value for name, value in named.items()}

    def _inside(self, named: Mapping[str, Any]) -> dict[str, Any]:
        return {name.removeprefix(self.prefix): value for name, value in named.items() if name.startswith(self.prefix)}
