"""Additive increase, multiplicative decrease, as in Clipper."""

from dataclasses import dataclass
from typing import ClassVar

from dispatch.batching.window import settled
from dispatch.selection.policy import Choice, QueueView

INCREASE_ROWS = 1.0
DECREASE = 0.9


@dataclass(frozen=True)
class AdditiveIncrease:
    """Launches what waits at once, up to a limit that it feels its way to.

    The limit begins at one row, or with ``begins_full`` at the variant's largest batch. It grows by a row with every
    batch, up to the variant's largest, and shrinks by a tenth when a batch took longer than the objective (Clipper,
    section 4.3). Reactive and work-conserving: it looks at no deadline beforehand and gives nobody up; where the
    endpoint drops late queries, what has expired leaves.

    With ``on_timeouts`` the limit shrinks when a query of the batch was answered late, its time in the queue included,
    as Proteus, section 6.4, describes Clipper. Under overload that spirals down: smaller batches make longer queues.
    A worker that changes its variant begins anew; where one that fails is avoided for a while, another goes on with the
    limit, as far as its own batches go.
    """

    name: ClassVar[str] = "aimd"
    on_timeouts: bool = False
    begins_full: bool = False

    def choose(self, view: QueueView) -> Choice:
        """As much as the limit allows; the limit is the choice's state."""
        candidate, last = settled(view), view.last
        first_rows = float(candidate.max_batch) if self.begins_full else 1.0
        limit_rows = first_rows if view.state is None else min(view.state, float(candidate.max_batch))
        if last is not None and (last.late if self.on_timeouts else last.overran):
            limit_rows = max(limit_rows * DECREASE, 1.0)
        elif last is not None:
            limit_rows = min(limit_rows + INCREASE_ROWS, candidate.max_batch)
        return Choice(candidate.variant, min(view.rows, int(limit_rows)), limit_rows)
