"""What batches cost by length, and what a bucket leaves for others."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.profiles.profile import BatchLatency, LatencyProfile
from dispatch.lengths.costs import LengthCosts
from dispatch.lengths.room import Waiting, room_until_s
from dispatch.selection.policy import Candidate


def of_ms(mean_ms: float) -> BatchLatency:
    return BatchLatency(10, mean_ms, 0.0, *[mean_ms] * 4)


def profile(by_length: dict[int, dict[int, float]], typical: int) -> LatencyProfile:
    measured = {length: {rows: of_ms(ms) for rows, ms in sizes.items()} for length, sizes in by_length.items()}
    return LatencyProfile.of_lengths("cpu", typical, measured)


MEASURED = profile({10: {1: 1.0, 4: 2.0}, 20: {1: 1.5, 4: 4.0}, 40: {1: 1.2, 4: 8.0}}, 20)


def test_costs_are_over_the_profile_of_the_typical_length_and_never_fall_with_the_length() -> None:
    costs = LengthCosts.of(MEASURED, 4, 20)
    assert costs.ratio(20, 1) == costs.ratio(20, 4) == 1.0
    assert costs.ratio(10, 4) == pytest.approx(0.5)
    assert costs.ratio(30, 4) == pytest.approx(1.5)
    assert costs.ratio(80, 4) == pytest.approx(4.0)
    assert costs.ratio(3, 4) == pytest.approx(0.5)
    assert costs.ratio(40, 1) == 1.0, "1.2 ms behind 1.5 ms is noise"


def test_a_profile_without_lengths_costs_in_proportion_beyond_the_typical_one() -> None:
    costs = LengthCosts.of(LatencyProfile("cpu", {1: of_ms(1.0)}), 4, 16)
    assert [costs.ratio(length, 2) for length in (4, 16, 32)] == [1.0, 1.0, 2.0]


@given(st.integers(1, 90), st.floats(0.0, 0.01))
def test_a_candidate_at_a_length_keeps_its_way_and_never_falls_with_the_rows(length: int, path_s: float) -> None:
    costs = LengthCosts.of(MEASURED, 4, 20)
    runs_s = [MEASURED.mean_s(rows) for rows in range(1, 5)]
    plain = Candidate("v", 0.9, (0.0, *(s + path_s for s in runs_s)), (0.0, *(s + path_s for s in runs_s)), path_s)
    made = costs.at(plain, length)
    assert made.latency_s[1] - path_s == pytest.approx(runs_s[0] * costs.ratio(length, 1))
    assert all(before <= after for before, after in pairwise(made.latency_s))
    assert made.mean_s == pytest.approx(made.latency_s)
    assert costs.at(plain, 20).latency_s == pytest.approx(plain.latency_s)


def fixed(variant: str, seconds: float) -> Candidate:
    return Candidate(variant, 0.5, (0.0, *[seconds] * 8))


BUCKETS = st.lists(st.tuples(st.floats(0.0, 2.0), st.integers(1, 8), st.floats(0.01, 0.5)), min_size=1, max_size=6).map(
    lambda drawn: [Waiting(due, rows, (fixed("v", s),)) for due, rows, s in sorted(drawn)]
)


@given(BUCKETS, st.floats(0.0, 1.0))
def test_a_batch_that_ends_in_its_room_leaves_the_others_in_time_wherever_that_can_be(
    waiting: list[Waiting], now_s: float
) -> None:
    def all_in_time(first_done_s: float) -> bool:
        done_s, ok = first_done_s, first_done_s <= waiting[0].deadline_s
        for bucket in waiting[1:]:
            done_s += bucket.candidates[0].latency_s[1]
            ok = ok and done_s <= bucket.deadline_s + 1e-9
        return ok

    until_s = room_until_s(waiting, now_s, workers=1)
    soonest_s = now_s + waiting[0].candidates[0].latency_s[1]
    assert until_s <= waiting[0].deadline_s
    if all_in_time(soonest_s):
        assert all_in_time(until_s)
        assert not all_in_time(until_s + 0.001), "it leaves no room unused"
    else:
        assert until_s == pytest.approx(min(soonest_s, waiting[0].deadline_s)) or until_s >= soonest_s
