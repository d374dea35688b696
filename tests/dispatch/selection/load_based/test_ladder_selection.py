"""A ladder per device type."""

from math import inf

from dispatch.selection.load_based.ladder_selection import LadderSelection
from dispatch.selection.load_based.load_ladder import LoadLadder, Rung
from dispatch.selection.policy import Candidate, Choice, QueueView

FAST = Candidate("fast", 0.7, (0.0, 0.010, 0.014))
SLOW = Candidate("slow", 0.9, (0.0, 0.030, 0.050))
ALWAYS_FAST = LoadLadder("by_load", 1, 0.1, (Rung.of(FAST, inf, max_rows=2),))
ALWAYS_SLOW = LoadLadder("by_load", 1, 0.1, (Rung.of(SLOW, inf, max_rows=1),))


def test_the_ladder_of_the_workers_device_decides_and_the_greedy_policy_where_there_is_none() -> None:
    selection = LadderSelection("by_load", {"cpu": ALWAYS_FAST, "cuda": ALWAYS_SLOW})
    view = QueueView(0.0, 2, 0.1, (SLOW, FAST), 10.0)
    assert selection.choose(view._replace(device="cpu")) == Choice("fast", 2)
    assert selection.choose(view._replace(device="cuda")) == Choice("slow", 1)
    assert selection.choose(view._replace(device="tpu")) == Choice("slow", 2)
