"""The comparison of batching policies at small sizes, and what must come of it whatever the seed."""

import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager

import orjson
import pytest

from benchmarks.batching import __main__ as batching
from benchmarks.batching.__main__ import Case, Run, play


@contextmanager
def one_thread() -> Iterator[Executor]:
    with ThreadPoolExecutor(1) as executor:
        yield executor


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "processes", one_thread)
    monkeypatch.setattr(batching, "HEADLINE_QUERIES", 2000)
    monkeypatch.setattr(batching, "HEADLINE_SEEDS", 1)
    monkeypatch.setattr(batching, "SWEEP_LOADS", (0.2,))
    monkeypatch.setattr(batching, "SWEEP_QUERIES", 500)
    monkeypatch.setattr(batching, "SWEEP_SEEDS", 1)


def test_the_figures_come_last_as_one_json_object(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["batching", "--json"])
    batching.main()
    figures = orjson.loads(capsys.readouterr().out.splitlines()[-1])
    assert list(figures["arrivals"]) == ["uniform", "poisson", "gamma"]
    for ratios in figures["arrivals"].values():
        assert list(ratios) == ["proteus", "nexus", "clipper"]
        assert all(0 <= ratio <= 1 for ratio in ratios.values())
    assert len(figures["sweep"]) == 3 * 2
    assert figures["arrivals"]["gamma"]["proteus"] < figures["arrivals"]["gamma"]["nexus"]


def test_without_json_there_are_tables(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["batching"])
    batching.main()
    shown = capsys.readouterr().out
    assert "violations in percent: headline" in shown
    assert "gamma" in shown


def test_nobody_is_late_where_queries_come_evenly() -> None:
    for policy in ("proteus", "nexus", "clipper"):
        assert Run(Case("flat", "uniform", 0.4, 5000), policy, 1)() == pytest.approx(0.0, abs=0.01)


def test_it_counts_what_a_simulation_of_one_batch_after_another_counts() -> None:
    """Under a heavy Poisson load early drop runs full batches back to back: each leaves behind what exceeds it."""
    load = 2.0
    ratio = Run(Case("flat", "poisson", load, 50_000), "nexus", 1)()
    assert ratio == pytest.approx(1 - 1 / load, abs=0.01)


def test_medians_are_taken_over_seeds() -> None:
    case = Case("affine", "gamma", 0.5, 1000)
    with one_thread() as executor:
        ratios = play([case], ["nexus"], 3, executor)
    assert ratios[case]["nexus"] == sorted(Run(case, "nexus", seed)() for seed in (1, 2, 3))[1]
