"""How long workers took to come, from what was asked for and who came."""

import json

from deployments.state.start_ups import LONGEST_S, REMEMBERED, StartUps


def test_the_time_from_the_plan_to_the_worker_is_measured() -> None:
    seen = StartUps()
    seen.on_sizes({"cpu": 1}, {"cpu": 1}, 0.0)
    seen.on_sizes({"cpu": 3}, {"cpu": 1}, 100.0)
    seen.on_worker("cpu", 112.0)
    seen.on_sizes({"cpu": 3}, {"cpu": 2}, 115.0)
    seen.on_worker("cpu", 118.0)
    assert seen.to_record() == {"cpu": [12.0, 18.0]}
    assert seen.longest_s("cpu") == 18.0
    assert seen.longest_s("gpu") == 0.0


def test_workers_that_nobody_asked_for_say_nothing() -> None:
    seen = StartUps()
    seen.on_worker("cpu", 1.0)
    seen.on_sizes({"cpu": 2}, {"cpu": 0}, 2.0)  # as many as there were to be from the start
    seen.on_worker("cpu", 30.0)
    seen.on_worker("cpu", 30.0)
    seen.on_sizes({"cpu": 2}, {"cpu": 1}, 40.0)  # one died
    seen.on_worker("cpu", 90.0)
    assert seen.to_record() == {}


def test_who_is_not_wanted_any_more_is_not_waited_for() -> None:
    seen = StartUps()
    seen.on_sizes({"cpu": 1}, {"cpu": 1}, 0.0)
    seen.on_sizes({"cpu": 4}, {"cpu": 1}, 10.0)
    seen.on_sizes({"cpu": 1}, {"cpu": 1}, 20.0)
    seen.on_worker("cpu", 300.0)
    seen.on_sizes({"cpu": 2}, {"cpu": 2}, 310.0)  # it is there already
    seen.on_worker("cpu", 400.0)
    assert seen.longest_s("cpu") == 0.0


def test_only_the_newest_count_and_none_that_waited_for_a_machine() -> None:
    seen = StartUps()
    size = 1
    seen.on_sizes({"cpu": size}, {"cpu": size}, 0.0)
    for took_s in (LONGEST_S + 1, 60.0, *[7.0] * REMEMBERED):
        now_s = 10_000.0 * size
        seen.on_sizes({"cpu": size + 1}, {"cpu": size}, now_s)
        seen.on_worker("cpu", now_s + took_s)
        size += 1
        assert seen.longest_s("cpu") <= 60.0
    assert seen.longest_s("cpu") == 7.0


def test_what_was_measured_is_known_to_the_next_controller() -> None:
    seen, after = StartUps(), StartUps()
    seen.on_sizes({"cpu": 1}, {"cpu": 1}, 0.0)
    seen.on_sizes({"cpu": 2}, {"cpu": 1}, 100.0)
    seen.on_worker("cpu", 142.0)
    after.restore(json.loads(json.dumps(seen.to_record())))
    assert after.longest_s("cpu") == 42.0
