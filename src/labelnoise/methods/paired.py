"""What methods share that compare a label with a stranger's: where the inputs and labels of strangers come from."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.base import neighbours
from labelnoise.methods.base import Method
from labelnoise.types import Batch, Context, DataSpec, Nets


@dataclass(frozen=True, kw_only=True)
class Paired(Method):
    """A method with a second term, over inputs and labels that do not belong together."""

    separate: bool = False  # inputs and labels of the second term come from two other batches

    def networks(self, spec: DataSpec) -> dict[str, Any]:
        """One network, where a batch has a stranger in it."""
        if spec.batch == 1 and not self.separate:
            raise InputError(
                f"{self.name} needs batches of at least two rows; set train.batch higher, or separate=true"
            )
        return super().networks(spec)

    @property
    def peers(self) -> int:
        """One batch for the inputs, another for the labels, if they are separate."""
        return 2 if self.separate else 0

    @property
    def coupled(self) -> bool:
        """Rows of one batch meet each other's labels, unless these are separate."""
        return not self.separate

    def strangers(self, nets: Nets, outputs: Any, batch: Batch, ctx: Context) -> tuple[Any, Tensor]:
        """Outputs of the network, and labels (B,) of other examples; `outputs` are those of the batch."""
        if self.separate:
            inputs, labels = ctx.peers
            return nets["net"](inputs.x), labels.y
        return outputs, neighbours(batch.y)
