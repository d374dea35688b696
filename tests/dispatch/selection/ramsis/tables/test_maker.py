"""Which tables a grid has, and that neither processes nor the cache change it."""

from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
import pytest
from numpy.typing import NDArray

from dispatch.selection.policy import Candidate
from dispatch.selection.ramsis import solver
from dispatch.selection.ramsis.arrivals import NegativeBinomial, Poisson
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.tables.grid import TableGrid, beyond_table, fluid_capacity_qps
from dispatch.selection.ramsis.tables.ladder import LadderMaker
from dispatch.selection.ramsis.tables.maker import make_grid, table_key
from dispatch.selection.ramsis.tables.table import DecisionTable

CANDIDATES = tuple(
    Candidate(f"v{number}", accuracy, (0.0, *(0.004 + base_s + 0.6 * base_s * rows for rows in range(1, 17))))
    for number, (accuracy, base_s) in enumerate([(0.70, 0.001), (0.80, 0.004), (0.90, 0.010)])
)
PROBLEM = WorkerProblem.of(CANDIDATES, 0.1, 1, Poisson(1.0), "per_decision", slack_steps=20)

Arrays = Mapping[str, NDArray[np.generic]]


class Memory(dict[str, Arrays]):
    """A store that counts what was put."""

    puts = 0

    def put(self, key: str, arrays: Arrays) -> None:
        self.puts += 1
        self[key] = arrays


class Solver:
    """In place of the real one: expected accuracy falls with the load as a formula says."""

    def __init__(self) -> None:
        self.loads_qps: list[float] = []

    def __call__(self, problem: WorkerProblem) -> DecisionTable:
        self.loads_qps.append(problem.load_qps)
        accuracy = 0.9 - 0.2 * (problem.load_qps / fluid_capacity_qps(problem)) ** 3
        promised = {"expected_accuracy": accuracy, "expected_violation_rate": 0.0}
        return replace(beyond_table(problem, 1), load_qps=problem.load_qps, **promised)


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Solver:
    made = Solver()
    monkeypatch.setattr(solver, "solve", made)
    return made


def contents(grid: TableGrid) -> list[dict[str, bytes]]:
    return [{name: array.tobytes() for name, array in t.arrays().items()} for t in (*grid.tables, grid.beyond)]


def test_it_has_the_loads_of_the_ladder(played: Solver) -> None:
    ladder = LadderMaker(PROBLEM, 300.0, 20.0)
    while loads_qps := ladder.next_loads(1):
        ladder.add(played(PROBLEM.at_load(loads_qps[0])))
    alone = ladder.grid()
    assert alone is not None
    assert make_grid(PROBLEM, highest_qps=300.0, first_qps=20.0).loads_qps == alone.loads_qps
    assert make_grid(PROBLEM).loads_qps[-1] == fluid_capacity_qps(PROBLEM)


def test_no_load_is_solved_twice_and_progress_says_how_many_are_made(played: Solver) -> None:
    seen: list[tuple[int, int]] = []
    grid = make_grid(PROBLEM, on_table=lambda done, wanted: seen.append((done, wanted)))
    assert len(played.loads_qps) == len(set(played.loads_qps))
    assert [done for done, _ in seen] == list(range(1, len(played.loads_qps) + 1))
    assert all(done < wanted for done, wanted in seen[:-1])
    assert seen[-1][0] == seen[-1][1] == len(grid.tables)


def test_a_second_grid_comes_from_the_store_alone(played: Solver) -> None:
    store = Memory()
    first = make_grid(PROBLEM, store=store)
    solved = len(played.loads_qps)
    assert store.puts == solved
    second = make_grid(PROBLEM, store=store)
    assert len(played.loads_qps) == solved
    assert contents(first) == contents(second)


@pytest.mark.parametrize(
    "wrong",
    [{"format": np.array(0)}, {"format": np.array([1, 1])}, {"numbers": np.array(1.0)}],
    ids=["another format", "no single format", "no figures"],
)
def test_a_table_that_the_store_has_otherwise_is_made_anew(played: Solver, wrong: Arrays) -> None:
    store = Memory()
    grid = make_grid(PROBLEM, store=store)
    key = table_key(PROBLEM.at_load(grid.loads_qps[0]))
    store[key] = {**store[key], **wrong}
    solved = len(played.loads_qps)
    assert contents(make_grid(PROBLEM, store=store)) == contents(grid)
    assert len(played.loads_qps) == solved + 1


def test_the_key_changes_with_everything_that_a_table_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    slower = replace(PROBLEM, latency_s=tuple(tuple(s * 1.0000001 for s in row) for row in PROBLEM.latency_s))
    others = [
        PROBLEM.at_load(2.0),
        PROBLEM.grouped(4),
        slower,
        replace(PROBLEM, workers=3),
        replace(PROBLEM, slo_s=0.2),
        replace(PROBLEM, slack_steps=21),
        replace(PROBLEM, formulation="per_query"),
        replace(PROBLEM, arrivals=NegativeBinomial(1.0, 2.0)),
        replace(PROBLEM, accuracies=(0.7, 0.8, 0.91)),
        replace(PROBLEM, busy_s=PROBLEM.latency_s),
        replace(PROBLEM, late_share=0.01),
    ]
    keys = {table_key(problem) for problem in (PROBLEM, *others)}
    monkeypatch.setattr(solver, "VERSION", solver.VERSION + 1)
    assert len(keys | {table_key(PROBLEM)}) == len(others) + 2
    assert all(key.isalnum() for key in keys)


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        yield pool


@pytest.fixture(scope="module")
def threads() -> Iterator[Executor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


def test_real_tables_are_bit_identical_however_they_were_made(processes: Executor, threads: Executor) -> None:
    store = Memory()
    alone = contents(make_grid(PROBLEM))
    assert contents(make_grid(PROBLEM, threads)) == alone
    assert contents(make_grid(PROBLEM, processes, store)) == alone
    assert contents(make_grid(PROBLEM, None, store)) == alone
