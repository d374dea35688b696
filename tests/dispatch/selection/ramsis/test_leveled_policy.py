"""Selection by tables where latency is measured: what the table says, what is in time, and what is promised."""

from dataclasses import replace

import numpy as np
import pytest

from dispatch.latency.estimate import LatencyEstimate
from dispatch.latency.worker_latency import LATE_SHARE
from dispatch.selection.policy import Candidate, Choice, Hold, QueueView, within
from dispatch.selection.ramsis.policy import RamsisSelection, promise_of
from dispatch.selection.ramsis.tables.grid import TableGrid, beyond_table
from dispatch.selection.ramsis.tables.latency_level import LatencyLevel
from dispatch.selection.ramsis.tables.leveled_grids import TRUSTED, LeveledGrids
from dispatch.selection.ramsis.tables.table import HOLD, DecisionTable
from dispatch.selection.ramsis.tables.work import TableTask

FAST = Candidate("fast", 0.6, (0.0, 0.011, 0.021), mean_s=(0.0, 0.011, 0.021), path_s=0.001)
MIDDLE = Candidate("middle", 0.8, (0.0, 0.031, 0.041), mean_s=(0.0, 0.031, 0.041), path_s=0.001)
SLOW = Candidate("slow", 0.9, (0.0, 0.051, 0.061), mean_s=(0.0, 0.051, 0.061), path_s=0.001)
PLANNED = LatencyEstimate(run_factor=1.0, run_tail=1.0, path_s=0.001, path_tail_s=0.001, typical_run_s=0.020)
LEVEL = LatencyLevel.above(PLANNED)
TASK = TableTask((SLOW, MIDDLE, FAST), slo_s=0.1, workers=2, balancing="round_robin", highest_qps=1000.0)
PROBLEM = TASK.problem(LEVEL)
NOBODY_KNOWS = RamsisSelection()


def table(load_qps: float, variant: int, late_rate: float = 0.0) -> DecisionTable:
    """The same decision everywhere, for queues of up to eight rows."""
    decisions = np.full((8, 2, 1), variant, dtype=np.uint8)
    decisions[:, 0] = 0
    return DecisionTable.of(PROBLEM.at_load(load_qps), np.array([0.0, 0.03]), decisions, None, 0.85, late_rate)


OVERLOADED = table(60.0, 0, late_rate=0.3)
POLICY = RamsisSelection(
    leveled={
        "cpu": LeveledGrids(
            {LEVEL: TableGrid((table(20.0, HOLD), table(40.0, 2), OVERLOADED), beyond_table(PROBLEM, 1))}
        )
    }
)


def view(
    latency: LatencyEstimate | None = PLANNED,
    rows: int = 1,
    slack_s: float = 0.09,
    load_qps: float = 30.0,
    slack_share: float = 1.0,
) -> QueueView:
    candidates = (SLOW, MIDDLE, FAST)
    if latency is not None:
        candidates = tuple(latency.corrected(candidate) for candidate in candidates)
    now_s = 5.0
    return QueueView(
        now_s,
        rows,
        within(slack_share, now_s, now_s + slack_s),
        candidates,
        load_qps,
        2,
        0.0,
        "cpu",
        latency=latency,
        slack_share=slack_share,
    )


def test_the_table_decides_and_promises_where_it_was_made_for_the_latency() -> None:
    choice = POLICY.choose(view())
    assert isinstance(choice, Choice)
    assert (choice.variant, choice.rows) == ("slow", 1)
    assert choice.promise == promise_of(table(40.0, 2), LATE_SHARE)


def of_queries(query_rows: int) -> RamsisSelection:
    """Of n queries, up to two are for the slow variant and more for the fast one, at up to 40 queries/s."""
    decisions = np.zeros((8, 2, 1), dtype=np.uint8)
    decisions[:2, 1] = 2
    made = DecisionTable.of(PROBLEM.at_load(40.0), np.array([0.0, 0.03]), decisions, None, 0.85, 0.0)
    grid = TableGrid((made,), beyond_table(PROBLEM, 1))
    return RamsisSelection(leveled={"cpu": LeveledGrids({LEVEL: grid}, query_rows)})


LARGE = tuple(replace(c, latency_s=c.latency_s + c.latency_s[2:] * 10) for c in (SLOW, MIDDLE, FAST))


@pytest.mark.parametrize(
    ("rows", "variant", "promised"),
    [
        (1, "slow", False),
        (3, "slow", True),
        (4, "slow", False),
        (6, "slow", True),
        (7, "slow", False),
        (8, "fast", False),
        (9, "fast", True),
    ],
)
def test_what_waits_is_taken_for_so_many_queries_of_the_usual_size(rows: int, variant: str, promised: bool) -> None:
    asked = view(rows=rows, load_qps=120.0)._replace(candidates=LARGE, first_rows=min(rows, 3))
    choice = of_queries(3).choose(asked)
    assert isinstance(choice, Choice)
    assert (choice.variant, choice.rows) == (variant, rows)
    assert (choice.promise is not None) is promised
    other = of_queries(3).choose(asked._replace(first_rows=2))
    assert isinstance(other, Choice)
    assert other.promise is None


def test_nothing_is_promised_in_other_groups_than_a_table_was_made_for() -> None:
    levels = POLICY.leveled["cpu"].grids
    larger = {
        level: replace(grid, tables=tuple(replace(t, group=2) for t in grid.tables)) for level, grid in levels.items()
    }
    mixed = RamsisSelection(leveled={**POLICY.leveled, "gpu": LeveledGrids(larger)})
    assert mixed.choose(view()._replace(device="gpu")) == Choice("slow", 1)
    assert mixed.choose(view()) == POLICY.choose(view()), "made for the group that is given"


def test_what_is_promised_is_what_does_not_fit_and_what_takes_longer_all_the_same() -> None:
    promise = promise_of(OVERLOADED, LATE_SHARE)
    assert promise.accuracy == 0.85
    assert promise.violation_rate == pytest.approx(0.3 + LATE_SHARE * 0.7)
    assert promise.unavoidable_rate == pytest.approx(0.3)
    assert promise_of(table(40.0, 2), LATE_SHARE).unavoidable_rate == pytest.approx(0.0)


def test_nothing_is_promised_in_rescaled_time() -> None:
    slower = LatencyEstimate(run_factor=1.1, run_tail=1.0, path_s=0.0011, path_tail_s=0.0011, typical_run_s=0.020)
    assert POLICY.choose(view(slower)) == Choice("slow", 1)


def test_the_slack_is_that_of_the_table_in_rescaled_time() -> None:
    slower = LatencyEstimate(run_factor=1.1, run_tail=1.0, path_s=0.0011, path_tail_s=0.0011, typical_run_s=0.020)
    assert POLICY.choose(view(slower, slack_s=0.0325, load_qps=20.0)) == Choice("fast", 1), "it is 0.0297 s there"
    held = POLICY.choose(view(slower, slack_s=0.09, load_qps=10.0))
    assert isinstance(held, Hold)
    assert 5.0 + 0.09 - 1.1 * 0.03 <= held.until_s <= 5.0 + 0.09 - 1.09 * 0.03


def test_a_faster_candidate_takes_the_place_of_one_that_cannot_be_in_time() -> None:
    choice = POLICY.choose(view(slack_s=0.045))
    assert choice == Choice("middle", 1), "slow takes 0.051 s; and nothing is promised, since no table said so"
    assert POLICY.choose(view(slack_s=0.0305)).variant == "fast"


def test_where_nothing_can_be_in_time_the_soonest_runs() -> None:
    slow = LatencyEstimate(
        run_factor=1.0, run_tail=1.0, path_s=0.001, path_tail_s=0.080, typical_run_s=0.020, run_factors={}
    )
    hopeless = view()._replace(candidates=view(slow).candidates, earliest_deadline_s=5.0 + 0.04)
    assert POLICY.choose(hopeless) == Choice("fast", 1)
    same = tuple(replace(c, mean_s=(0.0, 0.020 + 0.0001 * n, 0.021)) for n, c in enumerate(hopeless.candidates))
    alike = POLICY.choose(hopeless._replace(candidates=same))
    assert alike == Choice("slow", 1), "of those that take next to as long the most accurate"


def test_nothing_is_promised_while_feedback_shrinks_the_slack() -> None:
    assert POLICY.choose(view(slack_share=0.8, load_qps=30.0)) == Choice("slow", 1)


def test_where_a_table_expects_too_many_to_be_late_the_one_below_decides_and_promises_nothing() -> None:
    assert OVERLOADED.expected_violation_rate > TRUSTED
    assert POLICY.choose(view(load_qps=50.0)) == Choice("slow", 1), "the one for 60/s says fast"


def test_the_table_is_that_of_the_load_however_little_slack_feedback_leaves() -> None:
    asked = view(slack_share=0.4, load_qps=15.0, slack_s=0.09)
    assert isinstance(POLICY.choose(asked), Hold), "the one for 20/s waits; the one for 40/s does not"


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(view(load_qps=500.0), id="beyond all tables"),
        pytest.param(view(load_qps=60.0), id="beyond what can be borne"),
        pytest.param(view(slack_s=0.5), id="clients allow more than the objective"),
        pytest.param(view(slack_s=0.5, slack_share=0.5), id="they do so by half of the slack"),
        pytest.param(view(LatencyEstimate(run_factor=9.0, path_s=0.1, path_tail_s=0.1)), id="no level is near"),
        pytest.param(view()._replace(device="cuda"), id="no tables for the device"),
        pytest.param(view()._replace(candidates=view().candidates[1:]), id="the table's variant is not there"),
        pytest.param(view(None), id="no latency, and no grid for the plan's"),
    ],
)
def test_greedy_decides(asked: QueueView) -> None:
    assert POLICY.choose(asked) == NOBODY_KNOWS.choose(asked)
    fits = [c.variant for c in asked.candidates if c.latency_s[1] <= asked.slack_s]
    choice = POLICY.choose(asked)
    assert isinstance(choice, Choice)
    assert (choice.variant, choice.promise) == (fits[0] if fits else "fast", None)


def test_groups_are_those_of_the_table_in_force_and_one_without() -> None:
    assert POLICY.group(2, 30.0, PLANNED) == 1
    assert POLICY.group(2, 500.0, PLANNED) == 1
    assert NOBODY_KNOWS.group(2, 30.0, None) == 1
