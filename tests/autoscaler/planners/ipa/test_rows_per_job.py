"""Stages whose jobs have several rows: a batch runs whole jobs, and what does not fit waits for the next one."""

import pytest

from autoscaler.cluster.cluster import Cluster, Pool, Stage
from autoscaler.cluster.plan import ClusterPlan
from autoscaler_scene import observed, workers
from dispatch.query import Job, Query
from dispatch.queues.deadline_queue import DeadlineQueue
from dispatch.selection.policy import Candidate
from ipa_planner_scene import pipeline, planned

FLAT = Candidate("flat", 0.9, (0.0, *[0.1] * 8))


def plan_of(rows_per_job: int, load_qps: float, count: int, *, candidate: Candidate = FLAT) -> ClusterPlan:
    own = {"cpu": (candidate.of_whole_jobs(rows_per_job),)}
    endpoint = pipeline("page", Stage("find", (), own, rows_per_job=rows_per_job))
    plan = planned(Cluster((endpoint,), (Pool("cpu"),)), observed({"page": load_qps}, workers(cpu=count)))
    assert plan.stages["page"]["find"].variants == {"flat": 8}
    return plan


@pytest.mark.parametrize(("rows_per_job", "rows"), [(1, 8), (2, 8), (3, 6), (4, 8), (5, 5), (8, 8)])
def test_a_worker_bears_the_rows_that_a_queue_gives_away_for_a_batch(rows_per_job: int, rows: int) -> None:
    queue = DeadlineQueue()
    for number in range(9):
        queue.push(Job(number, Query(number, "page", 0.0, 1.0), 1.0, rows_per_job, {}))
    assert sum(each.rows for each in queue.pop_batch(8)) == rows
    assert plan_of(rows_per_job, 500.0, 3).capacity_qps["page"] == pytest.approx(3 * rows / 0.1)


def test_workers_that_are_left_over_bear_whole_jobs_too() -> None:
    plan = plan_of(5, 245.0, 6)  # 5 of them bear it in batches of one job, and 7 would in batches of 4
    assert plan.served_qps == {"page": 245.0}
    assert plan.capacity_qps["page"] == pytest.approx(6 * 5 / 0.1)


def test_a_batch_of_whole_jobs_takes_the_time_of_its_own_rows() -> None:
    steep = Candidate("flat", 0.9, (0.0, *(0.02 * rows for rows in range(1, 9))))
    assert plan_of(5, 500.0, 3, candidate=steep).capacity_qps["page"] == pytest.approx(3 * 5 / 0.1)
