import os
import time
from pathlib import Path

import pytest

from catalog.errors import AccordError, ArtifactError
from measuring_scene import ToyPrograms
from predictor.measure.positions import Positions, Role


@pytest.fixture
def programs(tmp_path: Path) -> ToyPrograms:
    return ToyPrograms(tmp_path / "diary")


def diary(programs: ToyPrograms, *verbs: str) -> list[str]:
    lines = programs.diary.read_text().splitlines()
    return [line for line in lines if line.split()[0] in verbs]


def test_variants_run_at_the_same_time_and_each_has_its_batches_measured(programs: ToyPrograms) -> None:
    with Positions(programs, 2) as positions:
        computes, sleeps = positions.window([Role("computes", 8), Role("sleeps", 5)], 0.05)
        (alone,) = positions.window([Role("sleeps", 5)], 0.05)
    for batches in (computes, sleeps, alone):
        assert batches.ran >= 1
        assert batches.seconds >= 0.05
        assert 0 < batches.cpu_s <= batches.whole_cpu_s
        assert batches.mean_s == batches.seconds / batches.ran
    assert sleeps.mean_s >= 0.002
    assert sleeps.voluntary_switches >= sleeps.ran


def test_a_window_has_a_batch_even_where_that_takes_longer(programs: ToyPrograms) -> None:
    with Positions(programs, 1) as positions:
        (batches,) = positions.window([Role("sleeps", 250)], 0.01)
    assert batches.ran == 1
    assert batches.seconds >= 0.1


def test_variants_are_loaded_once_in_each_process_that_they_run_in(programs: ToyPrograms) -> None:
    with Positions(programs, 2) as positions:
        for first in (0, 1, 0, 1):
            positions.window([Role("a", 1)], 0.001, first)
    assert len(diary(programs, "load")) == 2
    assert diary(programs, "unload") == []


def test_what_was_used_longest_ago_is_unloaded_where_there_is_no_room(programs: ToyPrograms) -> None:
    with Positions(programs, 1, keep_bytes=250) as positions:
        for name in ("a", "b", "a", "c", "a", "b"):
            positions.load([Role(name, 1)])
    done = [line.partition(" [")[0] for line in diary(programs, "load", "unload")]
    assert done == ["load a", "load b", "load c", "unload b", "load b", "unload c"]


def test_all_processes_stay_on_the_cpus_that_they_were_given(programs: ToyPrograms) -> None:
    cpu = max(os.sched_getaffinity(0))
    with Positions(programs, 2, cpus=[cpu]) as positions:
        positions.window([Role("a", 1), Role("b", 1)], 0.001)
        positions.load([Role("c", 1), Role("d", 1)])
    loads = diary(programs, "load")
    assert len(loads) == 4
    assert all(line.endswith(f"[{cpu}]") for line in loads)


def test_queries_wait_for_those_before_them_and_latencies_count_from_their_arrival(programs: ToyPrograms) -> None:
    arrivals_s = (0.0, 0.001, 0.1)
    with Positions(programs, 2) as positions:
        start_s = time.perf_counter() + 0.05
        sleeps, computes = positions.answer([Role("sleeps", 25), Role("a", 1)], [arrivals_s, (0.02,)], start_s)
        ended_s = time.perf_counter()
    first_s, second_s, third_s = sleeps.latencies_s
    assert min(first_s, third_s) >= 0.01
    assert second_s >= 0.02 - 0.001
    assert third_s <= ended_s - start_s - 0.1
    assert len(computes.latencies_s) == 1
    assert computes.cpu_s > 0


def test_a_variant_that_fails_ends_the_window_of_the_others_and_no_process(programs: ToyPrograms) -> None:
    with Positions(programs, 2) as positions:
        with pytest.raises(ArtifactError, match="does so in its second batch"):
            positions.window([Role("a", 1), Role("fails", 1)], 0.02)
        assert len(positions.window([Role("a", 1), Role("b", 1)], 0.001)) == 2


def test_a_process_that_dies_is_an_error_and_no_endless_wait(programs: ToyPrograms) -> None:
    with pytest.raises(AccordError, match="process 1 of the measurement ended"), Positions(programs, 2) as positions:
        positions.window([Role("a", 1), Role("dies", 1)], 0.02)
