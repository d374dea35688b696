"""When a batch runs on a faster variant than the planned one, and when the planned one returns."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from hypothesis import given
from hypothesis import strategies as st

from dispatch.batching.adaptive_batching import AdaptiveBatching
from dispatch.batching.fallback import fallen_back, rows_in_time
from dispatch.selection.policy import Candidate, Choice, Hold, QueueView

GOOD = Candidate("good", 0.9, (0.0, 1.0, 2.0))
QUICK = Candidate("quick", 0.7, (0.0, 0.5, 0.75, 1.0, 1.25))
RASH = Candidate("rash", 0.5, (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6))
ALL = (GOOD, QUICK, RASH)


@dataclass(frozen=True)
class Rows:
    """A queue with these deadlines."""

    of_s: tuple[float, ...]

    def deadlines_s(self) -> Sequence[float]:
        return self.of_s


def view(
    *deadlines_s: float,
    candidates: tuple[Candidate, ...] = ALL,
    arrival_s: float = 8.0,
    load_qps: float = 0.0,
    workers: int = 1,
) -> QueueView:
    made = QueueView(10.0, len(deadlines_s), deadlines_s[0], candidates, load_qps, workers, waiting=Rows(deadlines_s))
    return made._replace(first_arrival_s=arrival_s)


def test_what_the_planned_variant_serves_in_time_stays_with_it() -> None:
    assert fallen_back(view(12.1, 12.1), GOOD) is GOOD
    assert fallen_back(view(12.1, 12.1, 13.1), GOOD) is GOOD, "one batch after the other is in time as well"


def test_more_than_that_goes_to_the_most_accurate_that_serves_all_of_it() -> None:
    assert fallen_back(view(12.1, 12.1, 12.1), GOOD) is QUICK
    assert fallen_back(view(*[11.0] * 6), GOOD) is RASH


def test_where_nothing_serves_all_the_one_that_serves_most_is_taken() -> None:
    assert fallen_back(view(*[10.35] * 6), GOOD) is RASH
    assert fallen_back(view(10.05, 10.06), GOOD) is GOOD, "nobody can be met: the plan decides"


def test_who_comes_while_a_batch_runs_is_left_time_for() -> None:
    deadlines_s = (12.1, 12.1)  # 2.1 s from arrival to deadline: what comes during a batch has hardly more
    assert fallen_back(view(*deadlines_s, arrival_s=10.0, load_qps=2.0), GOOD) is GOOD
    assert fallen_back(view(*deadlines_s, arrival_s=10.0, load_qps=12.0), GOOD) is QUICK
    assert fallen_back(view(*deadlines_s, arrival_s=10.0, load_qps=12.0, workers=6), GOOD) is GOOD
    assert fallen_back(view(*deadlines_s, arrival_s=10.0, load_qps=20.0), GOOD) is RASH


def test_what_waits_is_not_given_up_for_what_nobody_could_serve() -> None:
    assert fallen_back(view(12.1, 12.1, arrival_s=10.0, load_qps=1e6), GOOD) is GOOD
    assert fallen_back(view(12.1, 12.1, 12.1, arrival_s=10.0, load_qps=1e6), GOOD) is QUICK


def test_nothing_is_expected_where_arrivals_are_unknown() -> None:
    assert fallen_back(view(12.1, 12.1, arrival_s=inf, load_qps=12.0), GOOD) is GOOD


def test_a_variant_alone_is_the_planned_one() -> None:
    assert fallen_back(view(10.5, 10.5, candidates=(GOOD,)), GOOD) is GOOD


def test_a_batch_on_a_fallback_variant_waits_for_nobody_and_the_next_is_planned_again() -> None:
    assert AdaptiveBatching().choose(view(12.1, 12.1, 12.1)) == Choice("quick", 3)
    assert AdaptiveBatching().choose(view(12.1, 12.1)) == Choice("good", 2)


def test_a_small_queue_is_held_for_the_planned_variant() -> None:
    flat = Candidate("flat", 0.9, (0.0, 1.0, 1.0, 1.0))
    decision = AdaptiveBatching().choose(view(12.5, candidates=(flat, RASH), arrival_s=10.0))
    assert isinstance(decision, Hold)


@given(st.lists(st.floats(0.01, 5.0), min_size=1, max_size=12).map(sorted))
def test_no_candidate_serves_more_in_time_than_the_one_that_is_taken(slacks_s: list[float]) -> None:
    deadlines_s = [10.0 + slack_s for slack_s in slacks_s]
    taken = fallen_back(view(*deadlines_s), GOOD)
    in_time = {each.variant: rows_in_time(each, 10.0, deadlines_s) for each in ALL}
    assert in_time[taken.variant] == max(in_time.values())
    assert all(in_time[each.variant] < in_time[taken.variant] for each in ALL if each.accuracy > taken.accuracy)


@given(st.lists(st.floats(0.01, 5.0), min_size=1, max_size=12).map(sorted))
def test_rows_in_time_are_those_of_batches_played_one_by_one(slacks_s: list[float]) -> None:
    now_s, waiting, served = 0.0, list(slacks_s), 0
    while waiting:
        fits = [n for n in range(1, min(2, len(waiting)) + 1) if now_s + 1e-8 + GOOD.latency_s[n] <= waiting[0]]
        if not fits:
            waiting.pop(0)
            continue
        now_s += GOOD.latency_s[max(fits)]
        served += max(fits)
        del waiting[: max(fits)]
    assert rows_in_time(GOOD, 0.0, slacks_s) == served
