"""Work on the device recorded once as a CUDA graph and played again: the host then costs next to nothing.

What a graph reads and writes is kept alive as long as the graph: inputs are copied into the ones it was recorded with,
and what it gives is copied out, for the next play overwrites it.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar
from warnings import warn

import torch

from labelnoise.engine.memory import is_shortage
from labelnoise.engine.outcome import Outcome
from labelnoise.engine.tree import leaves, mapped

WARM = 3  # plain calls before recording: libraries make their work spaces, and compilers their kernels
MOST = 4  # layouts of inputs that are recorded; a rare one is called as it is

Result = TypeVar("Result")


class Captured(Generic[Result]):
    """A function of one tree of CUDA tensors, whose work is all on the device and the same at every call.

    It runs on a stream of its own. For every layout of its inputs it is recorded once; where that cannot be done it is
    called as it is. Trees of inputs differ in the layout of their tensors alone.
    """

    def __init__(self, function: Callable[[Any], Result]) -> None:
        stream: Any = torch.cuda.Stream
        self.function, self.stream, self.pool = function, stream(), torch.cuda.graph_pool_handle()
        self.possible = True
        self.forget()

    def forget(self) -> None:
        """Record anew: what the function does besides its inputs has changed."""
        self.recordings: dict[Any, _Recording[Result]] = {}

    def __call__(self, inputs: Any) -> Outcome[Result]:
        """The function's result; it begins once the device has done what the caller has asked of it so far."""
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            return Outcome(self._called(inputs), self.stream.record_event(), inputs)

    def _called(self, inputs: Any) -> Result:
        tensors = list(leaves(inputs))
        layout = tuple((each.shape, each.stride(), each.dtype) for each in tensors)
        if layout not in self.recordings:
            if len(self.recordings) == MOST:
                return self.function(inputs)
            self.recordings[layout] = _Recording(inputs)
        recording = self.recordings[layout]
        torch._foreach_copy_(recording.tensors, tensors)
        if recording.graph is None and recording.calls == WARM and self.possible:
            self._record(recording)
        if recording.graph is None:
            recording.calls += 1
            given = self.function(recording.inputs)  # perhaps an input itself, which the next call overwrites too
        else:
            recording.graph.replay()
            given = recording.result
        copied: Result = mapped(torch.clone, given)
        return copied

    def _record(self, recording: "_Recording[Result]") -> None:
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        try:
            # Other threads may use the device meanwhile, such as one that pins the images of the next batch.
            with torch.cuda.graph(graph, pool=self.pool, stream=self.stream, capture_error_mode="thread_local"):
                recording.result = self.function(recording.inputs)
        except RuntimeError as problem:
            self.possible = False
            torch.cuda.synchronize()
            _free_generator()
            with suppress(RuntimeError):  # torch 2.11 does not, and would then record nothing more
                torch._C._cuda_endAllocateToPool(torch.cuda.current_device(), self.pool)
            if is_shortage(problem):
                raise
            warn(f"a step is called as it is, for it cannot be recorded: {str(problem).splitlines()[0]}", stacklevel=2)
        else:
            recording.graph = graph


class _Recording(Generic[Result]):
    # inputs of one layout, which calls are made with from the first one on, and what they give once there is a graph

    result: Result

    def __init__(self, inputs: Any) -> None:
        self.inputs = mapped(torch.Tensor.contiguous, mapped(torch.clone, inputs))
        self.tensors = list(leaves(self.inputs))
        self.graph: torch.cuda.CUDAGraph | None = None
        self.calls = 0


def _free_generator() -> None:
    # A recording that was broken off leaves torch's generator as if it still went on, and then it draws no more.
    generator = torch.cuda.default_generators[torch.cuda.current_device()]
    fresh = torch.Generator(generator.device)
    generator.graphsafe_set_state(fresh.manual_seed(generator.initial_seed()))
