"""What is counted and remembered of workers."""

from deployments.router.observing.worker_events import MOST_REMEMBERED, WorkerEvent, WorkerEvents


def test_a_worker_that_joins_after_a_silence_answers_again() -> None:
    events = WorkerEvents()
    events.on_event("w1", WorkerEvent.JOINED, 1.0)
    events.on_event("w1", WorkerEvent.HANGS, 2.0)
    assert events.to_record(5.0)["hanging_s"] == {"w1": 3.0}
    events.on_event("w1", WorkerEvent.JOINED, 6.0)
    seen = events.to_record(7.0)
    assert seen["hanging_s"] == {}
    assert [event["what"] for event in seen["last"]] == ["answers again", "does not answer", "joined"]
    assert [event["ago_s"] for event in seen["last"]] == [1.0, 5.0, 6.0]
    assert seen["counts"] == {"joined": 1, "died": 0, "does not answer": 1, "answers again": 1, "is gone": 0}


def test_a_worker_that_is_gone_does_not_hang_any_more() -> None:
    events = WorkerEvents()
    events.on_event("w1", WorkerEvent.HANGS, 2.0)
    events.on_event("w1", WorkerEvent.GONE, 3.0)
    assert events.to_record(9.0)["hanging_s"] == {}


def test_only_the_last_events_are_remembered_and_all_are_counted() -> None:
    events = WorkerEvents()
    for number in range(3 * MOST_REMEMBERED):
        events.on_event(f"w{number}", WorkerEvent.DIED, float(number))
    seen = events.to_record(100.0)
    assert len(seen["last"]) == MOST_REMEMBERED
    assert seen["counts"]["died"] == 3 * MOST_REMEMBERED


def test_workers_that_are_not_asked_any_more_are_not_said_to_hang_and_stay_counted() -> None:
    events = WorkerEvents()
    for worker in ("w1", "w2", "w3"):
        events.on_event(worker, WorkerEvent.HANGS, 1.0)
    events.keep_hanging({"w1", "w2", "w9"})
    assert events.to_record(3.0)["hanging_s"] == {"w1": 2.0, "w2": 2.0}
    events.forget_hanging("w1")
    events.forget_hanging("w9")
    seen = events.to_record(3.0)
    assert (seen["hanging_s"], seen["counts"]["does not answer"]) == ({"w2": 2.0}, 3)
