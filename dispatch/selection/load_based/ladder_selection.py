"""Selection by load alone where workers differ."""

from collections.abc import Mapping
from dataclasses import dataclass

from dispatch.selection.greedy import GreedySelection
from dispatch.selection.load_based.load_ladder import LoadLadder
from dispatch.selection.policy import Choice, QueueView

_GREEDY = GreedySelection()


@dataclass(frozen=True)
class LadderSelection:
    """Reads the ladder of the worker's device type; on a device without one the greedy policy decides.

    ``ladders`` is by device type, each made as if all workers were of it. ``name`` is what a config calls the policy.
    """

    name: str
    ladders: Mapping[str, LoadLadder]

    def choose(self, view: QueueView) -> Choice:
        """The choice of the device's ladder."""
        ladder = self.ladders.get(view.device)
        return _GREEDY.choose(view) if ladder is None else ladder.choose(view)
