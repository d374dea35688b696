"""Plans through JSON and back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.cluster.plan import ClusterPlan, SolveReport, StageChoice, Status
from autoscaler.cluster.plan_record import from_record, to_record

NAMES = st.text(max_size=4)
FIGURES = st.floats(min_value=0.0, allow_nan=False, allow_infinity=False)
BY_NAME = st.dictionaries(NAMES, FIGURES, max_size=3)
REPORTS = st.builds(
    SolveReport, st.sampled_from(Status), st.none() | FIGURES, FIGURES, st.lists(NAMES, max_size=2).map(tuple)
)
CHOICES = st.builds(
    StageChoice,
    st.dictionaries(NAMES, st.integers(1, 64), max_size=2),
    st.integers(0, 9),
    *(FIGURES for _ in range(5)),
)
PLANS = st.builds(
    ClusterPlan,
    held=st.dictionaries(NAMES, st.frozensets(NAMES, max_size=3), max_size=3),
    shares=st.dictionaries(NAMES, BY_NAME, max_size=3),
    demand_qps=BY_NAME,
    served_qps=BY_NAME,
    capacity_qps=BY_NAME,
    accuracy=BY_NAME,
    pool_sizes=st.dictionaries(NAMES, st.integers(0, 9), max_size=3),
    spare=st.frozensets(NAMES, max_size=3),
    own_balancing=st.frozensets(NAMES, max_size=3),
    stages=st.dictionaries(NAMES, st.dictionaries(NAMES, CHOICES, max_size=2), max_size=2),
    slowdowns=st.dictionaries(NAMES, BY_NAME, max_size=2),
    report=REPORTS,
)


@given(PLANS)
def test_a_plan_comes_back_from_json_as_it_was(plan: ClusterPlan) -> None:
    assert from_record(json.loads(json.dumps(to_record(plan), allow_nan=False))) == plan


def test_sets_are_sorted_lists_so_that_equal_plans_have_equal_records() -> None:
    report = SolveReport(Status.OPTIMAL, 0.0, 0.5)
    plan = ClusterPlan(held={"w": frozenset({"b", "c", "a"})}, report=report)
    assert to_record(plan)["held"] == {"w": ["a", "b", "c"]}


def test_a_record_of_something_else_is_refused() -> None:
    with pytest.raises(KeyError):
        from_record({"held": {}})
