"""Selection by tables: where they decide, and where they know nothing."""

import numpy as np
import pytest

from dispatch.selection.policy import Candidate, Choice, Hold, Promise, QueueView
from dispatch.selection.ramsis.arrivals import Poisson
from dispatch.selection.ramsis.policy import RamsisSelection
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.tables.grid import TableGrid, beyond_table
from dispatch.selection.ramsis.tables.table import HOLD, DecisionTable

FAST = Candidate("fast", 0.6, (0.0, 0.01, 0.02, 0.03, 0.04))
SLOW = Candidate("slow", 0.9, (0.0, 0.05, 0.06, 0.07, 0.08))
PROBLEM = WorkerProblem.of((FAST, SLOW), 0.1, 2, Poisson(1.0), max_queue_rows=8)


def table(load_qps: float, variant: int) -> DecisionTable:
    """The same decision everywhere, for queues of up to eight rows."""
    decisions = np.full((8, 2, 1), variant, dtype=np.uint8)
    decisions[:, 0] = 0
    return DecisionTable.of(PROBLEM.at_load(load_qps), np.array([0.0, 0.05]), decisions, None, 0.9, 0.0)


POLICY = RamsisSelection(
    {"cpu": TableGrid((table(10.0, HOLD), table(20.0, 1), table(40.0, 0)), beyond_table(PROBLEM, 1))}
)


KEPT = Promise(accuracy=0.9, violation_rate=0.0, unavoidable_rate=0.0)
"""By every table."""

NONE_KEPT = Promise(accuracy=0.0, violation_rate=1.0, unavoidable_rate=1.0)
"""Beyond them."""


def view(rows: int = 2, slack_s: float = 0.09, load_qps: float = 15.0, now_s: float = 5.0) -> QueueView:
    return QueueView(now_s, rows, now_s + slack_s, (SLOW, FAST), load_qps, 2, 0.0, "cpu")


def test_the_lowest_load_table_that_meets_the_load_decides() -> None:
    assert POLICY.choose(view(load_qps=15.0)) == Choice("slow", 2, None, KEPT)
    assert POLICY.choose(view(load_qps=20.0)) == Choice("slow", 2, None, KEPT)
    assert POLICY.choose(view(load_qps=20.1)) == Choice("fast", 2, None, KEPT)
    beyond = POLICY.choose(view(load_qps=1e9))
    assert beyond == Choice("fast", 2, None, NONE_KEPT), "beyond the grid the fastest serves"


def test_with_fewer_workers_a_table_of_the_same_load_per_worker_decides_and_promises_nothing() -> None:
    assert POLICY.choose(view(load_qps=15.0)._replace(workers=1)) == Choice("fast", 2)
    assert POLICY.choose(view(load_qps=22.5)._replace(workers=3)) == Choice("slow", 2, None, KEPT)


def test_a_turn_among_another_number_of_workers_is_read_by_whose_queries_come() -> None:
    several = WorkerProblem.of((FAST, SLOW), 0.1, 4, Poisson(1.0), max_queue_rows=8).grouped(2)
    decisions = np.ones((8, 2, 8), dtype=np.uint8)
    decisions[:, :, :2] = 0  # while its own two of eight queries come, the worker is quick
    made = DecisionTable.of(several.at_load(20.0), np.array([0.0, 0.05]), decisions, None, 0.9, 0.0)
    policy = RamsisSelection({"cpu": TableGrid((made,), beyond_table(several, 2))})

    def chosen(workers: int) -> list[str]:
        turn = [view()._replace(workers=workers, load_qps=5.0, phase=n / (2 * workers)) for n in range(2 * workers)]
        return [choice.variant for seen in turn if isinstance(choice := policy.choose(seen), Choice)]

    for workers in (2, 3, 4, 6, 12):
        assert chosen(workers) == ["fast"] * 2 + ["slow"] * (2 * workers - 2)
    assert set(chosen(1)) == {"fast"}


def test_a_table_of_one_worker_is_read_among_several_whatever_the_turn() -> None:
    """After a pool has grown there are no others for a while; a table of one worker knows no phases."""
    alone = WorkerProblem.of((FAST, SLOW), 0.1, 1, Poisson(1.0), max_queue_rows=8)
    decisions = np.ones((8, 2, 1), dtype=np.uint8)
    decisions[:, 0] = HOLD
    made = DecisionTable.of(alone.at_load(20.0), np.array([0.0, 0.05]), decisions, None, 0.9, 0.0)
    policy = RamsisSelection({"cpu": TableGrid((made,), beyond_table(alone, 1))})
    for rows in (1, 8, 40):
        for phase in (0.0, 0.25, 0.5, 0.75):
            seen = view(rows=rows, load_qps=5.0)._replace(phase=phase, workers=4)
            assert policy.choose(seen) == Choice("slow", min(rows, 4), None, KEPT if rows <= 4 else None)
            held = policy.choose(view(rows=rows, slack_s=0.04, load_qps=5.0)._replace(phase=phase, workers=4))
            assert isinstance(held, Hold)


@pytest.mark.parametrize(("queued", "told"), [(0, 4), (1, 4), (2, 4), (4, 4), (8, 4)])
def test_a_table_that_takes_all_takes_all_however_short_or_long_the_inputs_are(queued: int, told: int) -> None:
    assert POLICY.choose(view(rows=4)._replace(queued_rows=queued)) == Choice("slow", told, None, KEPT)


@pytest.mark.parametrize(("queued", "told"), [(0, 2), (2, 4), (4, 2), (8, 1)])
def test_of_inputs_of_other_lengths_those_are_taken_that_are_as_much_as_the_table_says(queued: int, told: int) -> None:
    decisions, rows = np.ones((8, 2, 1), dtype=np.uint8), np.full((8, 2, 1), 2, dtype=np.uint8)
    few = DecisionTable.of(PROBLEM.at_load(20.0), np.array([0.0, 0.05]), decisions, rows, 0.9, 0.0)
    policy = RamsisSelection({"cpu": TableGrid((few,), beyond_table(PROBLEM, 1))})
    chosen = policy.choose(view(rows=4)._replace(queued_rows=queued))
    assert isinstance(chosen, Choice)
    assert chosen.rows == told


def test_in_other_groups_than_a_table_was_made_for_it_decides_and_promises_nothing() -> None:
    """Of two device types the smaller group is given to both."""
    larger = PROBLEM.grouped(2)
    decisions = np.ones((8, 2, 1), dtype=np.uint8)
    made = DecisionTable.of(larger.at_load(20.0), np.array([0.0, 0.05]), decisions, None, 0.9, 0.0)
    mixed = RamsisSelection({**POLICY.grids, "gpu": TableGrid((made,), beyond_table(larger, 2))})
    assert mixed.group(2, 15.0, None) == 1
    assert mixed.choose(view()._replace(device="gpu")) == Choice("slow", 2)
    assert mixed.choose(view()) == Choice("slow", 2, None, KEPT), "made for the group that is given"
    alone = RamsisSelection({"gpu": mixed.grids["gpu"]})
    assert alone.choose(view()._replace(device="gpu")) == Choice("slow", 2, None, KEPT)


def test_a_batch_is_no_larger_than_the_variant_takes_and_promises_nothing_of_the_others() -> None:
    assert POLICY.choose(view(rows=7)) == Choice("slow", 4)


def test_a_query_is_not_divided_and_what_is_more_than_the_table_says_is_not_promised() -> None:
    decisions, rows = np.ones((8, 2, 1), dtype=np.uint8), np.full((8, 2, 1), 2, dtype=np.uint8)
    few = DecisionTable.of(PROBLEM.at_load(20.0), np.array([0.0, 0.05]), decisions, rows, 0.9, 0.0)
    policy = RamsisSelection({"cpu": TableGrid((few,), beyond_table(PROBLEM, 1))})
    seen = view(rows=4)
    assert policy.choose(seen) == Choice("slow", 2, None, KEPT)
    assert policy.choose(seen._replace(first_rows=2)) == Choice("slow", 2, None, KEPT)
    assert policy.choose(seen._replace(first_rows=3)) == Choice("slow", 3)
    assert policy.choose(seen._replace(rows=9, first_rows=9)) == Choice("slow", 4), "as many as the variant takes"


@pytest.mark.parametrize("now_s", [0.0, 5.0, 1e7, 1e9])
def test_a_hold_ends_later_than_now_and_before_the_table_would_launch(now_s: float) -> None:
    held = POLICY.choose(view(load_qps=5.0, now_s=now_s))
    assert isinstance(held, Hold)
    assert now_s < held.until_s <= now_s + 0.0401


def test_clients_that_allow_more_than_the_objective_are_not_kept_waiting_for_it() -> None:
    assert POLICY.choose(view(load_qps=5.0, slack_s=60.0)) == Choice("slow", 2)


def test_greedy_decides_where_the_table_s_variant_is_not_there_or_there_is_no_table() -> None:
    assert POLICY.choose(view()._replace(candidates=(FAST,))) == Choice("fast", 2)
    assert POLICY.choose(view()._replace(device="cuda")) == Choice("slow", 2)


def test_more_variants_than_a_byte_can_name_are_refused() -> None:
    many = tuple(Candidate(f"v{n}", n / 1000, (0.0, 0.01 + n / 1e5)) for n in range(260))
    with pytest.raises(ValueError, match="260 variants on the Pareto front; tables hold 250"):
        WorkerProblem.of(many, 0.1, 1, Poisson(1.0))
    with pytest.raises(ValueError, match="max_queue_rows 300; give 1 to 250"):
        WorkerProblem.of((FAST,), 0.1, 1, Poisson(1.0), max_queue_rows=300)
