"""What could not be loaded is left out for a while, for longer each time, and tried again."""

import itertools

from deployments.state.unloadable import FIRST_S, LONGEST_S, UnloadableVariants

POOL = ("cpu", "slow")


def barred(at_s: float = 0.0) -> UnloadableVariants:
    made = UnloadableVariants()
    made.bar_pool(*POOL, "out of memory", at_s)
    return made


def test_a_pool_and_a_worker_are_barred_apart() -> None:
    one = barred()
    one.bar_worker("w1", "fast", "a checksum", 0.0)
    assert one.in_pools(FIRST_S - 1.0) == {POOL}
    assert one.on_workers(FIRST_S - 1.0) == {("w1", "fast")}
    assert one.in_pools(FIRST_S) == one.on_workers(FIRST_S) == frozenset()
    assert one.to_record(0.0) == [
        {"pool": "cpu", "variant": "slow", "reason": "out of memory", "until": "1970-01-01T00:01:00.000+00:00"},
        {"worker": "w1", "variant": "fast", "reason": "a checksum", "until": "1970-01-01T00:01:00.000+00:00"},
    ]
    assert one.to_record(FIRST_S) == []


def test_each_try_in_vain_doubles_the_time_up_to_the_longest() -> None:
    one, now_s, times_s = barred(), 0.0, [FIRST_S]
    for _ in range(6):
        now_s += times_s[-1]
        one.bar_pool(*POOL, "out of memory", now_s)
        times_s.append(next(each for each in (120.0, 240.0, 480.0, 960.0) if POOL not in one.in_pools(now_s + each)))
    assert times_s == [60.0, 120.0, 240.0, 480.0, LONGEST_S, LONGEST_S, LONGEST_S]


def test_workers_that_fail_at_once_count_as_one_try() -> None:
    one = barred()
    one.bar_pool(*POOL, "out of memory", 1.0)
    assert one.in_pools(FIRST_S) == {POOL}
    assert one.in_pools(FIRST_S + 1.0) == frozenset()


def test_what_was_loaded_or_whose_worker_went_begins_anew() -> None:
    one = barred()
    for worker in ("w1", "w2"):
        one.bar_worker(worker, "fast", "a checksum", 0.0)
    one.on_loaded("w2", "fast")
    one.on_gone("w1")
    assert one.on_workers(1.0) == frozenset()
    one.on_loaded("w9", "slow")
    assert one.in_pools(1.0) == {POOL}, "others of the pool may not be able to"
    one.on_served([("cpu", "fast"), POOL])
    assert one.to_record(1.0) == []
    one.bar_pool(*POOL, "out of memory", FIRST_S)
    assert one.in_pools(2.0 * FIRST_S) == frozenset()


def test_a_variant_that_was_mended_is_not_left_out_any_more() -> None:
    one = barred()
    one.bar_worker("w1", "slow", "a checksum", 0.0)
    one.bar_worker("w1", "fast", "a checksum", 0.0)
    one.forget("slow")
    assert one.in_pools(1.0) == frozenset()
    assert one.on_workers(1.0) == {("w1", "fast")}


def test_when_a_time_ends_that_is_said_once() -> None:
    one = barred()
    one.bar_worker("w1", "fast", "a checksum", 0.0)
    one.bar_worker("w1", "middle", "a checksum", 5.0)
    said = [one.retry(now_s) for now_s in (0.0, 30.0, FIRST_S, FIRST_S + 1.0, FIRST_S + 6.0, 1000.0)]
    assert said == [None, None, "fast, slow may be loaded again", None, "middle may be loaded again", None]


def test_a_try_is_asked_for_once_however_often_it_is_looked() -> None:
    one, retries = barred(), 0
    for tenths in itertools.count():
        retries += one.retry(tenths / 10) is not None
        if tenths > 10 * 2 * FIRST_S:
            break
    assert retries == 1
