"""How long batches of a live service were on their way to workers and back, for a simulator to draw from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from benchmarks.live_ramsis.loads import Floats
from serve_app.testing.queries import Queries

NEAR_BATCHES = 20
"""Some tenths of a second have so many."""


@dataclass(frozen=True, eq=False)
class Ways:
    """How long batches were on their way to a worker and back, in the order in which they were launched.

    A machine is slow for a second or two at a time: what a batch takes is like what others took then.
    """

    launched_s: Floats
    way_s: Floats

    @classmethod
    def of(cls, queries: Queries, zero_s: float) -> Self:
        """What the answers say; instants from ``zero_s`` on. Queries of one batch say the same.

        Raises RuntimeError where none says anything.
        """
        told = queries.where(queries.rows > 0)
        if not len(told):
            raise RuntimeError("no answer says how long its batch was on its way; see what else runs on this machine")
        _, first = np.unique(np.stack([told.run_s, told.way_s]), axis=1, return_index=True)
        launched_s = (told.done_s - told.run_s - told.way_s)[first] - zero_s
        order = np.argsort(launched_s)
        return cls(launched_s[order], told.way_s[first][order])

    @classmethod
    def joined(cls, parts: Sequence[Self], later_s: float) -> Self:
        """Loads that were played one after the other, all ``later_s`` later."""
        return cls(
            np.concatenate([part.launched_s for part in parts]) + later_s,
            np.concatenate([part.way_s for part in parts]),
        )

    def draw_s(self, at_s: float, rng: np.random.Generator) -> float:
        """The way of one of the `NEAR_BATCHES` that were launched next to that instant."""
        middle = int(np.searchsorted(self.launched_s, at_s))
        begin = min(max(middle - NEAR_BATCHES // 2, 0), max(len(self.way_s) - NEAR_BATCHES, 0))
        return float(self.way_s[begin + rng.integers(min(NEAR_BATCHES, len(self.way_s)))])
