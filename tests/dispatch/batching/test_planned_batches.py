"""Batches as planned, and larger ones where more waits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch.batching.planned_batches import PlannedBatches
from dispatch.selection.policy import Candidate, Choice, QueueView

GOOD = Candidate("good", 0.9, (0.0, *(0.010 + 0.010 * n for n in range(1, 9))))
FAST = Candidate("fast", 0.7, (0.0, *(0.005 + 0.001 * n for n in range(1, 33))))


def view(rows: int, slack_s: float, *candidates: Candidate) -> QueueView:
    return QueueView(10.0, rows, 10.0 + slack_s, candidates or (GOOD, FAST))


def chosen(rows: int, slack_s: float, **planned: int) -> tuple[str, int]:
    choice = PlannedBatches(planned).choose(view(rows, slack_s))
    assert isinstance(choice, Choice)
    return choice.variant, choice.rows


def test_what_waits_runs_at_once_however_few() -> None:
    assert chosen(1, 0.5, good=4) == ("good", 1)


def test_more_than_planned_runs_together_where_more_waits_and_is_in_time() -> None:
    assert chosen(7, 0.5, good=2) == ("good", 7)


def test_a_batch_is_cut_to_what_is_in_time_and_never_below_the_planned_one() -> None:
    alone = PlannedBatches({"good": 2})
    assert alone.choose(view(7, 0.062, GOOD)) == Choice("good", 5)
    assert alone.choose(view(7, 0.032, GOOD)) == Choice("good", 2)
    assert chosen(7, 0.029, good=2) == ("fast", 7), "two rows of the better one are too late"


def test_a_query_that_the_better_variant_could_only_run_in_part_goes_to_a_faster_one() -> None:
    seen = view(8, 0.085)  # of 8 rows 90 ms with the better one
    assert PlannedBatches({"good": 1}, run_s=0.1).choose(seen) == Choice("good", 7)
    assert PlannedBatches({"good": 1}, run_s=0.1).choose(seen._replace(first_rows=8)) == Choice("fast", 8)


def test_a_faster_variant_runs_where_the_planned_one_falls_behind_by_half_of_the_slack() -> None:
    assert chosen(7, 0.161, good=2) == ("good", 7), "80 ms"
    assert chosen(7, 0.159, good=2) == ("fast", 7)
    shared = view(7, 0.159)._replace(workers=2)
    assert PlannedBatches({"good": 2}).choose(shared) == Choice("good", 7), "another worker takes half of it"


def test_no_faster_variant_runs_where_what_waits_takes_no_longer_than_planned() -> None:
    assert PlannedBatches({"good": 7}, run_s=0.08).choose(view(7, 0.081)) == Choice("good", 7)
    assert PlannedBatches({"good": 7}, run_s=0.08).choose(view(8, 0.1)) == Choice("fast", 8)


def test_fewer_than_planned_may_wait() -> None:
    assert PlannedBatches({"good": 4}, run_s=0.05).choose(view(1, 0.021)) == Choice("good", 1)


def test_where_nothing_is_in_time_the_fastest_runs_all_that_waits() -> None:
    assert chosen(20, -0.1, good=2, fast=4) == ("fast", 20)
    assert chosen(50, 0.001, good=2, fast=4) == ("fast", 32)


def test_a_variant_that_the_plan_does_not_know_runs_as_much_as_is_in_time() -> None:
    assert PlannedBatches({}).choose(view(7, 0.062, GOOD)) == Choice("good", 5)


@given(st.integers(1, 60), st.floats(-0.1, 0.3), st.integers(1, 10), st.integers(1, 40))
def test_a_batch_is_in_time_wherever_a_single_row_of_some_variant_planned_alone_is(
    rows: int, slack_s: float, good: int, fast: int
) -> None:
    seen = view(rows, slack_s)
    variant, batch_rows, *_ = PlannedBatches({"good": good, "fast": fast}).choose(seen)
    candidate = {each.variant: each for each in (GOOD, FAST)}[variant]
    assert 1 <= batch_rows <= min(rows, candidate.max_batch)
    in_time = candidate.latency_s[batch_rows] <= seen.slack_s
    if FAST.latency_s[min(rows, fast, 32)] <= seen.slack_s:
        assert in_time
    if not in_time:
        assert batch_rows == min(rows, candidate.max_batch)


def test_it_has_a_name_of_its_own() -> None:
    assert PlannedBatches({}).name == "planned_batches"
    with pytest.raises(AttributeError):
        PlannedBatches({}).batch_rows = {}  # type: ignore[misc]


def beyond(rows: int, slack_s: float, load_qps: float = 0.0, **more: float) -> tuple[str, int]:
    """FAST is planned, GOOD is what the worker holds beside it: n rows take 10 + 10 n ms, and 5 + n ms."""
    seen = view(rows, slack_s)._replace(load_qps=load_qps, workers=2)
    choice = PlannedBatches({"fast": 4}, **more).choose(seen)  # type: ignore[arg-type]
    return choice.variant, choice.rows


def test_a_more_accurate_variant_than_planned_runs_where_all_that_comes_meanwhile_is_in_time_after_it() -> None:
    # within half of the slack, 80 ms: two rows run for 30 ms, while 60 and 120 come for two workers
    assert beyond(2, 0.160, load_qps=0.0) == ("good", 2)
    assert beyond(2, 0.160, load_qps=2000.0) == ("good", 2), "30 rows take 35 ms"
    assert beyond(2, 0.160, load_qps=4000.0) == ("fast", 2), "60 rows take 70 ms"


def test_what_waits_behind_a_better_batch_counts_too() -> None:
    # seven rows fit into 81 ms with the better one, and 53 more wait for two workers
    assert beyond(7, 0.162) == ("good", 7)
    assert beyond(60, 0.162) == ("fast", 32)


def test_a_better_variant_leaves_the_stages_behind_their_part_of_the_time() -> None:
    assert beyond(3, 0.162, time_share=0.5) == ("good", 3)
    assert beyond(3, 0.162, time_share=0.2) == ("fast", 3)


def test_a_batch_of_a_better_variant_is_no_longer_than_it_may_be() -> None:
    assert beyond(7, 0.500, longest_s=0.035) == ("good", 2)
    assert beyond(7, 0.500, longest_s=0.010) == ("fast", 7)


def test_workers_that_are_there_for_other_stages_do_not_count() -> None:
    assert beyond(2, 0.160, load_qps=2000.0, worker_share=1.0) == ("good", 2)
    assert beyond(2, 0.160, load_qps=2000.0, worker_share=0.5) == ("fast", 2)


def test_a_query_of_more_rows_than_there_is_time_for_is_not_begun() -> None:
    seen = view(9, 0.200)._replace(first_rows=9)
    assert PlannedBatches({"fast": 4}).choose(seen).variant == "fast", "eight rows are its largest batch"
    assert PlannedBatches({"fast": 4}).choose(seen._replace(first_rows=8)) == Choice("good", 8)


@given(st.integers(1, 60), st.floats(0.0, 0.5), st.floats(0.0, 5000.0), st.floats(0.05, 1.0))
def test_a_better_batch_is_always_in_time(rows: int, slack_s: float, load_qps: float, time_share: float) -> None:
    variant, batch_rows = beyond(rows, slack_s, load_qps, time_share=time_share)
    if variant == "good":
        assert GOOD.latency_s[batch_rows] <= 0.5 * slack_s * time_share + 1e-9
