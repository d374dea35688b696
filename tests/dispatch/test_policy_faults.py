"""A selection policy that fails costs no query where its host serves clients, and is raised where it does not."""

import logging

import pytest

from deployments.router.policy_faults import SAY_EVERY_S, PolicyFaults
from dispatch.dispatcher import Dispatcher
from dispatch.plan import Plan
from dispatch.worker_info import WorkerInfo
from dispatch_scene import Faulty, dispatcher, endpoint, finish, launched, query

WRONG = {
    1: "launches 'gone', which the worker does not hold",
    2: "holds until 1.0; it is 1.0 already",
    3: "launches 0 rows; it must be 1 or more",
    5: "5 rows",
    7: "drops 0 rows; it must be 1 or more",
}


@pytest.mark.parametrize("rows", WRONG)
def test_without_anybody_to_tell_it_is_raised(rows: int) -> None:
    with pytest.raises((ValueError, IndexError), match=WRONG[rows]):
        dispatcher(endpoint(selection=Faulty())).on_arrival(query(1, 1.0, rows=rows), 1.0)


@pytest.mark.parametrize("rows", WRONG)
def test_the_greedy_policy_decides_instead_and_the_error_is_told(rows: int) -> None:
    told: list[tuple[str, Exception]] = []
    d = Dispatcher(
        Plan(1, {"digits": endpoint(selection=Faulty())}), on_fault=lambda name, error: told.append((name, error))
    )
    d.on_worker_ready("w1", WorkerInfo("cpu"), ["fast", "slow"], 0.0)
    (batch,) = launched(d.on_arrival(query(1, 1.0, rows=rows), 1.0))
    assert (batch.variant, batch.rows) == ("slow" if rows < 3 else "fast", rows)
    ((name, error),) = told
    assert name == "faulty"
    assert WRONG[rows] in str(error)


def test_what_the_batch_before_answered_reaches_its_clients_all_the_same() -> None:
    d = Dispatcher(Plan(1, {"digits": endpoint(selection=Faulty())}), on_fault=lambda *_: None)
    d.on_worker_ready("w1", WorkerInfo("cpu"), ["fast", "slow"], 0.0)
    (batch,) = launched(d.on_arrival(query(1, rows=4), 0.0))
    d.on_arrival(query(2, rows=5), 0.0)
    commands = finish(d, batch, 0.01)
    assert [job.query.id for job in launched(commands)[0].jobs] == [2]
    assert len(commands) > 1


def test_the_log_says_it_once_a_minute_with_the_traceback(caplog: pytest.LogCaptureFixture) -> None:
    times_s = iter((0.0, 1.0, SAY_EVERY_S - 1.0, SAY_EVERY_S, SAY_EVERY_S))
    faults = PolicyFaults(lambda: next(times_s))
    with caplog.at_level(logging.ERROR, "ray.serve"):
        for _ in range(4):
            faults("ramsis", IndexError("no such cell"))
        faults("greedy", ValueError("also"))
    assert [record.getMessage().split(";")[0] for record in caplog.records] == [
        "Policy ramsis failed (1 so far)",
        "Policy ramsis failed (4 so far)",
        "Policy greedy failed (1 so far)",
    ]
    assert "no such cell" in caplog.text
