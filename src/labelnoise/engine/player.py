"""How the work of a lane is called: as it is, or on a GPU recorded and played again."""

from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from labelnoise.engine.capture import Captured
from labelnoise.engine.lane import Lane
from labelnoise.engine.outcome import Outcome
from labelnoise.engine.step import Clock, Tensors
from labelnoise.types import Batch, Terms


class Player:
    """Calls a lane."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane

    def step(self, batch: Batch, peers: tuple[Batch, ...], memory: Tensors, clock: Clock) -> Outcome[Terms]:
        """Forward, backward and update."""
        return Outcome(self.lane.step(batch, peers, memory, clock))

    def log_probs(self, x: Tensor, *, noisy: bool = False) -> Outcome[Tensor]:
        """Predictions."""
        return Outcome(self.lane.log_probs(x, noisy=noisy))

    def entered(self) -> None:
        """The lane has begun a stage, or has something to read that was not there before."""


class Recorder(Player):
    """Records a lane's work as CUDA graphs, on a stream of the lane's own."""

    beta1: float
    rows = 0  # that are predicted at once: fewer are filled up, so that one recording serves all

    def __init__(self, lane: Lane) -> None:
        super().__init__(lane)
        self.entered()

    def step(self, batch: Batch, peers: tuple[Batch, ...], memory: Tensors, clock: Clock) -> Outcome[Terms]:
        """The recorded step; Adam's first beta is part of the recording."""
        if clock.beta1 != self.beta1:
            self.steps.forget()
            self.beta1 = clock.beta1
        self.steps.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.steps.stream):
            self.lane.set_rates(clock)
        return self.steps(self.lane.feed(batch, peers, memory, clock))

    @torch.no_grad()
    def log_probs(self, x: Tensor, *, noisy: bool = False) -> Outcome[Tensor]:
        """The recorded prediction."""
        axis = 0 if self.lane.runs is None else 1
        asked = x.shape[axis]
        self.rows = max(self.rows, asked)
        filled = F.pad(x, (0, 0) * (x.dim() - axis - 1) + (0, self.rows - asked))
        found = self.predictions[noisy]((filled, self.lane.draws(1, "predict")))
        return found.seen(lambda log_probs: log_probs.narrow(axis, 0, asked))

    def entered(self) -> None:
        """Everything is recorded anew."""
        self.beta1 = 0.0
        self.steps: Captured[Terms] = Captured(self.lane.run)
        self.predictions = {noisy: Captured[Tensor](partial(self.lane.predict, noisy=noisy)) for noisy in (False, True)}


def player_of(lane: Lane) -> Player:
    """One that suits the lane's device."""
    recorded = lane.like.device.type == "cuda" and not lane.execution.eager
    return Recorder(lane) if recorded else Player(lane)
