"""Selection policies by name."""

import pytest

from catalog.errors import ConfigError
from dispatch.selection.policy import Candidate, Hold, QueueView
from dispatch.selection.ramsis.arrivals import Poisson
from dispatch.selection.ramsis.grid import TableGrid, beyond_table
from dispatch.selection.ramsis.policy import RamsisSelection
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.registry import POLICIES, create_selection
from dispatch_scene import FAST

BOTH_ALIKE = Candidate("fast", 0.9, (0.0, 0.01, 0.01))


def test_ramsis_comes_first_and_decides_by_the_tables_that_it_is_given() -> None:
    grid = TableGrid((), beyond_table(WorkerProblem.of((FAST,), 0.1, 1, Poisson(1.0)), 1))
    selection = create_selection("ramsis", None, ["fast"], {"cpu": grid})
    assert isinstance(selection, RamsisSelection)
    assert selection.grids == {"cpu": grid}
    assert POLICIES[0] == "ramsis"


def test_ramsis_without_tables_is_refused_with_the_remedy() -> None:
    with pytest.raises(ConfigError, match="'ramsis' without decision tables; make them for the endpoint's workers"):
        create_selection("ramsis", None, ["fast"], {})


@pytest.mark.parametrize("name", ["greedy", "proteus", "nexus", "aimd"])
def test_policies_that_need_nothing_have_the_names_that_a_config_gives(name: str) -> None:
    assert name in POLICIES
    assert create_selection(name, None, ["fast"]).name == name
    with pytest.raises(ConfigError, match="takes no 'variant'"):
        create_selection(name, "fast", ["fast"])


def test_on_a_live_host_a_hold_ends_early_enough_for_timers_that_come_late() -> None:
    hold = create_selection("proteus", None, ["fast"]).choose(QueueView(0.0, 1, 0.1, (BOTH_ALIKE,)))
    assert isinstance(hold, Hold)
    assert hold.until_s == pytest.approx(0.1 - 0.01 - 0.002)
