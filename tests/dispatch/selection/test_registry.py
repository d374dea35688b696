"""Selection policies by name."""

import pytest

from catalog.errors import ConfigError
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.load_based.ladder_selection import LadderSelection
from dispatch.selection.policy import Candidate, Hold, QueueView
from dispatch.selection.ramsis.arrivals import Poisson
from dispatch.selection.ramsis.policy import RamsisSelection
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.tables.grid import TableGrid, beyond_table
from dispatch.selection.registry import LADDERS, POLICIES, create_selection
from dispatch_scene import FAST

BOTH_ALIKE = Candidate("fast", 0.9, (0.0, 0.01, 0.01))


def test_policies_that_are_made_beforehand_are_taken_as_they_are() -> None:
    grid = TableGrid((), beyond_table(WorkerProblem.of((FAST,), 0.1, 1, Poisson(1.0)), 1))
    for made in (RamsisSelection({"cpu": grid}), *(LadderSelection(name, {}) for name in LADDERS)):
        assert create_selection(made.name, None, ["fast"], made) is made
    assert POLICIES[0] == "ramsis"
    assert set(LADDERS) == {"jellyfish_plus", "model_switching", "load_ladder"}


@pytest.mark.parametrize("name", ["ramsis", "jellyfish_plus", "model_switching", "load_ladder"])
def test_one_that_is_not_made_or_is_another_is_refused_with_the_remedy(name: str) -> None:
    with pytest.raises(ConfigError, match=f"'{name}' is made beforehand, and nothing was; make it for the endpoint"):
        create_selection(name, None, ["fast"])
    with pytest.raises(ConfigError, match=f"'{name}' is made beforehand, and 'greedy' was"):
        create_selection(name, None, ["fast"], GreedySelection())


@pytest.mark.parametrize("name", ["greedy", "slack_fit", "adaptive_batching", "nexus", "aimd"])
def test_policies_that_need_nothing_have_the_names_that_a_config_gives(name: str) -> None:
    assert name in POLICIES
    assert create_selection(name, None, ["fast"]).name == name
    with pytest.raises(ConfigError, match="takes no 'variant'"):
        create_selection(name, "fast", ["fast"])


def test_on_a_live_host_a_hold_ends_early_enough_for_timers_that_come_late() -> None:
    hold = create_selection("adaptive_batching", None, ["fast"]).choose(QueueView(0.0, 1, 0.1, (BOTH_ALIKE,)))
    assert isinstance(hold, Hold)
    assert hold.until_s == pytest.approx(0.1 - 0.01 - 0.002)
