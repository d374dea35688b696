"""Token buckets: a burst at once, then the rate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch.admission import token_buckets
from dispatch.admission.token_buckets import RateLimit, TokenBuckets


def test_a_burst_goes_through_and_then_one_for_each_token() -> None:
    buckets = TokenBuckets(RateLimit(10.0, 3.0), {})
    assert [buckets.take("a", 5.0) for _ in range(3)] == [0.0, 0.0, 0.0]
    assert buckets.take("a", 5.0) == pytest.approx(0.1)
    assert buckets.take("a", 5.06) == pytest.approx(0.04)
    assert buckets.take("a", 5.1001) == 0.0
    assert buckets.take("a", 5.1002) > 0.0


def test_a_bucket_is_full_again_after_a_pause_and_no_fuller() -> None:
    buckets = TokenBuckets(RateLimit(10.0, 3.0), {})
    assert [buckets.take("a", now_s) > 0.0 for now_s in (0.0, 0.0, 0.0, 0.0)] == [False, False, False, True]
    assert [buckets.take("a", 100.0) > 0.0 for _ in range(4)] == [False, False, False, True]


def test_clients_do_not_share_and_named_ones_have_their_own_limit() -> None:
    buckets = TokenBuckets(RateLimit(1.0, 1.0), {"big": RateLimit(1000.0, 100.0)})
    assert buckets.take("a", 0.0) == 0.0
    assert buckets.take("a", 0.0) > 0.0
    assert buckets.take("b", 0.0) == 0.0
    assert all(buckets.take("big", 0.0) == 0.0 for _ in range(100))
    assert buckets.take("big", 0.0) == pytest.approx(0.001)


def test_without_a_default_only_named_clients_are_limited() -> None:
    buckets = TokenBuckets(None, {"a": RateLimit(1.0, 1.0)})
    assert all(buckets.take("b", 0.0) == 0.0 for _ in range(1000))
    assert buckets.take("a", 0.0) == 0.0
    assert buckets.take("a", 0.0) > 0.0


def test_made_up_names_share_one_bucket_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_buckets, "MOST_CLIENTS", 5)
    buckets = TokenBuckets(RateLimit(1.0, 1.0), {})
    taken = [buckets.take(f"client-{number}", 0.0) for number in range(20)]
    assert taken.count(0.0) == 6
    assert buckets.take("new", 2.0) == 0.0, "those whose bucket is full are forgotten"


@given(st.lists(st.floats(0.0, 0.5), min_size=1, max_size=200), st.floats(1.0, 50.0), st.integers(1, 20))
def test_no_more_than_the_burst_and_the_rate_go_through(steps_s: list[float], rate_qps: float, burst: int) -> None:
    buckets = TokenBuckets(RateLimit(rate_qps, burst), {})
    now_s = taken = 0.0
    for step_s in steps_s:
        now_s += step_s
        wait_s = buckets.take("a", now_s)
        taken += wait_s == 0.0
        if wait_s > 0.0:
            assert buckets.take("a", now_s + wait_s + 1e-9) == 0.0, "the time told is the time needed"
            now_s += wait_s + 1e-9
            taken += 1
    assert taken <= burst + rate_qps * now_s + 1e-6


def test_a_named_client_without_a_limit_has_none_whatever_the_default() -> None:
    buckets = TokenBuckets(RateLimit(1.0, 1.0), {"ops": None})
    assert all(buckets.take("ops", 0.0) == 0.0 for _ in range(100))
    assert buckets.take("a", 0.0) == 0.0
    assert buckets.take("a", 0.0) > 0.0


class CountingBuckets(TokenBuckets):
    """Counts how often all buckets are looked through."""

    sweeps = 0

    def _forget_full(self, now_s: float) -> None:
        self.sweeps += 1
        super()._forget_full(now_s)


def full_table(monkeypatch: pytest.MonkeyPatch, clients: int = 100) -> CountingBuckets:
    """Buckets of so many clients and no more, each full again after a second."""
    monkeypatch.setattr(token_buckets, "MOST_CLIENTS", clients)
    buckets = CountingBuckets(RateLimit(1.0, 1.0), {})
    assert all(buckets.take(f"known-{number}", 0.0) == 0.0 for number in range(clients))
    assert buckets.sweeps == 0
    return buckets


@pytest.mark.parametrize("step_s", [0.0, 0.0009])
def test_made_up_names_do_not_each_cost_a_look_through_all_clients(
    step_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    buckets = full_table(monkeypatch)
    taken = [buckets.take(f"new-{number}", number * step_s) for number in range(1000)]
    assert taken.count(0.0) == 1, "they share a bucket"
    assert buckets.sweeps == 1


def test_names_that_come_and_go_cost_a_look_each_tenth_of_a_second_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    buckets = full_table(monkeypatch)
    taken = [buckets.take(f"new-{number}", number * 0.001) for number in range(5000)]
    assert buckets.sweeps <= 50
    assert 400 <= taken.count(0.0) <= 510


def test_a_name_is_let_in_once_a_known_client_has_a_full_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    buckets = full_table(monkeypatch)
    assert buckets.take("new", 0.5) == 0.0, "from the shared bucket, which is full at 1.5"
    assert buckets.take("new", 0.9) > 0.0
    assert all(buckets.take(f"known-{number}", 1.0) == 0.0 for number in range(1, 100))
    assert buckets.take("new", 1.2) == 0.0, "in place of the client whose bucket is full"
    assert buckets.take("newer", 1.3) > 0.0
    assert buckets.take("newer", 1.5) == 0.0, "from the shared bucket"
    assert buckets.take("newest", 2.0) == 0.0
    assert buckets.take("known-1", 2.0) == 0.0
