"""What a row of measurements gives, and how a person reads it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One number with its unit; ratios to other things measured in the same run; None where it was not measured."""

    name: str
    value: float | None
    unit: str
    ratios: Mapping[str, float] = field(default_factory=dict)  # to what -> times
    key: str = ""  # by which targets find it
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain containers, as they go into JSON."""
        shown = {"name": self.name, "value": self.value, "unit": self.unit, "ratios": dict(self.ratios)}
        return shown | {"note": self.note}

    def line(self) -> str:
        """As it is printed."""
        if self.value is None:
            return f"  {self.name:<28} {'–':>12}  {self.note}"
        parts = [f"{value:.{_digits(value)}f} × {other}" for other, value in self.ratios.items()]
        after = "; ".join(filter(None, (", ".join(parts), self.note)))
        return f"  {self.name:<28} {self.value:>12,.{_digits(self.value)}f} {self.unit:<9} {after}".rstrip()


def _digits(value: float) -> int:
    return 0 if abs(value) >= 1000 else 1 if abs(value) >= 10 else 2
