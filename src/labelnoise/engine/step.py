"""The unit of execution: the networks of a method as one module whose forward is whatever is asked of them."""

from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from labelnoise.types import Nets


class Step(nn.Module):
    """Networks by name as one module: `step(function, *args)` is `function(nets, *args)`.

    One call is one forward, however many networks and passes are inside, so it can be mapped, compiled or distributed.
    """

    def __init__(self, nets: Mapping[str, nn.Module]) -> None:
        super().__init__()
        # A wrapped method's networks are called `teacher.net`, and torch keeps the dot for itself.
        self.nets = nn.ModuleDict({name.replace(".", "/"): net for name, net in nets.items()})

    def forward(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call `function` with the networks."""
        return function(self.networks, *args)

    @property
    def networks(self) -> Nets:
        """The networks under the names their method gave them."""
        return {name.replace("/", "."): net for name, net in self.nets.items()}

    def train_only(self, names: tuple[str, ...]) -> None:
        """Training mode for these networks, eval mode for the others."""
        for name, net in self.networks.items():
            net.train(name in names)


def owner(parameter: str) -> str:
    """The network to which a parameter or buffer of a `Step` belongs."""
    return parameter.split(".")[1].replace("/", ".")
