"""Always the same variant."""

from dataclasses import dataclass
from typing import ClassVar

from dispatch.selection.policy import Choice, QueueView


@dataclass(frozen=True)
class FixedSelection:
    """Serves everything with ``variant`` and batches whatever waits, up to its largest batch.

    When the variant is not among the candidates (its worker could not load it, or it just failed), the most
    accurate candidate answers instead: an answer by another variant is better than none.
    """

    name: ClassVar[str] = "fixed"
    variant: str

    def choose(self, view: QueueView) -> Choice:
        """The whole queue on the one variant."""
        for candidate in view.candidates:
            if candidate.variant == self.variant:
                return Choice(candidate.variant, candidate.batch_rows(view.rows))
        return Choice(view.candidates[0].variant, view.candidates[0].batch_rows(view.rows))
