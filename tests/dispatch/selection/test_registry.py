"""Selection policies by name."""

import pytest

from catalog.errors import ConfigError
from dispatch.selection.ramsis.arrivals import Poisson
from dispatch.selection.ramsis.grid import TableGrid, beyond_table
from dispatch.selection.ramsis.policy import RamsisSelection
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.registry import POLICIES, create_selection
from dispatch_scene import FAST


def test_ramsis_comes_first_and_decides_by_the_tables_that_it_is_given() -> None:
    grid = TableGrid((), beyond_table(WorkerProblem.of((FAST,), 0.1, 1, Poisson(1.0)), 1))
    selection = create_selection("ramsis", None, ["fast"], {"cpu": grid})
    assert isinstance(selection, RamsisSelection)
    assert selection.grids == {"cpu": grid}
    assert POLICIES[0] == "ramsis"


def test_ramsis_without_tables_is_refused_with_the_remedy() -> None:
    with pytest.raises(ConfigError, match="'ramsis' without decision tables; make them for the endpoint's workers"):
        create_selection("ramsis", None, ["fast"], {})
