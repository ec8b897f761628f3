"""What an audit says."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

LIKELY = 0.5  # probability of being wrong above which a label counts as wrong
WIDEST = 2 / 3  # interval of the noise rate; a wider one leaves open whether next to no label is wrong or most are


@dataclass(frozen=True)
class Audit:
    """Which labels are wrong, how many, and how sure that is."""

    # A row per input row, in input order, by id: given, suggested, which is given unless that is likelier wrong than
    # right, wrong_probability, reason, alternative, which is the likeliest other class, and single scores
    issues: pd.DataFrame
    noise_rate: float  # expected share of wrong labels among rows that have one
    noise_rate_interval: tuple[float, float]  # 95 %, the model's own error included
    transition: pd.DataFrame  # P(given | true), a row per true class
    transition_interval: tuple[pd.DataFrame, pd.DataFrame]  # 95 %, low and high
    per_class: pd.DataFrame  # rows, wrong, rate, meant, meant_share, missing, learnt, by class
    precision: pd.DataFrame  # expected, recovered, planted, planted_low, planted_high, by k
    planted: Mapping[str, float]  # how planted flips fared: flips, found, named, mean_probability
    notes: tuple[str, ...] = ()

    @property
    def rate_known(self) -> bool:
        """The interval of the noise rate leaves enough out for anything to be decided by it alone."""
        low, high = self.noise_rate_interval
        return high - low <= WIDEST

    def __str__(self) -> str:
        low, high = self.noise_rate_interval
        labelled = int(self.issues["wrong_probability"].notna().sum())
        judged = "" if labelled in self.precision.index else " of those that can be judged"
        lines = [
            f"{self.noise_rate:.1%} of {labelled:,} labels are wrong ({low:.1%} to {high:.1%}), "
            f"about {self.noise_rate * labelled:,.0f} rows"
            if self.rate_known
            else f"what share of {labelled:,} labels is wrong is not known ({low:.1%} to {high:.1%})",
            *(f"first {k:,}{judged}: {line.expected:.0%} wrong" for k, line in self.precision.head(4).iterrows()),
            *self.notes,
        ]
        return "\n".join(lines)
