"""Faults on real processes that are called what Ray calls those of a service."""

import resource
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from chaoslib.exceptions import ActivityFailed

from chaos.actions import processes
from chaos.trial.trial import Trial
from chaos_scene import bench_of, called, stops, trial_on

WORKER, ROUTER, CONTROLLER = (f"ray::ServeReplica:accord:{name}" for name in ("cpu", "Router", "Controller"))
GONE = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)


@pytest.fixture
def played(tmp_path: Path) -> Iterator[tuple[Trial, list[psutil.Process]]]:
    with called(WORKER, ROUTER, WORKER, CONTROLLER) as there, trial_on(bench_of(there, tmp_path)) as trial:
        yield trial, there


def test_killed_is_the_part_that_was_named_and_nothing_else(played: tuple[Trial, list[psutil.Process]]) -> None:
    trial, there = played
    assert processes.kill("router") == [there[1].pid]
    psutil.wait_procs([there[1]], timeout=10)
    assert [process.status() not in GONE for process in there if process.is_running()].count(True) == 3
    assert trial.lost_pids == {there[1].pid}
    assert [(mark.text, mark.fault) for mark in trial.marks] == [("router killed", True)]


def test_as_many_are_killed_as_were_named(played: tuple[Trial, list[psutil.Process]]) -> None:
    trial, there = played
    workers = sorted([there[0].pid, there[2].pid])
    assert processes.kill("worker", count=0) == []
    assert trial.lost_pids == set()
    assert processes.kill("worker", count=3) == workers


def test_one_that_hangs_is_there_and_goes_on(played: tuple[Trial, list[psutil.Process]]) -> None:
    trial, there = played
    (pid,) = processes.hang("controller")
    assert there[3].pid == pid
    assert stops(there[3])
    assert trial.lost_pids == {pid}
    assert processes.resume() is True
    assert stops(there[3], False)
    assert trial.lost_pids == set()
    assert processes.resume() is False


def test_a_limit_of_memory_ends_when_it_is_undone(played: tuple[Trial, list[psutil.Process]]) -> None:
    (pid,) = processes.limit_memory("worker")
    before = resource.prlimit(pid, resource.RLIMIT_AS)
    assert before[0] < before[1] or before[0] > 0
    assert before[0] != resource.RLIM_INFINITY
    assert processes.undo("limit_memory") is True
    assert resource.prlimit(pid, resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY


def test_the_same_seed_kills_the_same_share(tmp_path: Path) -> None:
    killed = []
    for _ in range(2):
        with called(*[WORKER] * 5) as there, trial_on(bench_of(there, tmp_path)):
            pids = sorted(process.pid for process in there)
            killed.append([pids.index(pid) for pid in processes.kill_at_random("worker", 0.4, 0.01, 0.01, seed=3)])
    assert killed[0] == killed[1]
    assert len(killed[0]) == 2


def test_a_part_that_is_unknown_or_not_there_is_told(played: tuple[Trial, list[psutil.Process]]) -> None:
    with pytest.raises(ActivityFailed, match="part 'engine' is unknown; the parts of a service are worker, router"):
        processes.kill("engine")
    with pytest.raises(ActivityFailed, match="service 'played' has no process that is its proxy"):
        processes.kill("proxy")


def test_without_a_service_the_experiment_is_told_what_it_lacks() -> None:
    with pytest.raises(ActivityFailed, match=r"add the control chaos\.controls\.service"):
        processes.kill("worker")
