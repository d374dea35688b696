"""Figures of live runs in which nothing was answered: there are none, and goals over them are missed."""

from dataclasses import fields
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from benchmarks.live_ensemble import __main__ as ensemble_benchmark
from benchmarks.live_ensemble import outage
from benchmarks.live_ensemble.plan import Ensemble
from benchmarks.live_pipeline import __main__ as pipeline_benchmark
from benchmarks.live_pipeline import figures as pipeline
from benchmarks.live_pipeline.scene import Phases
from serve_app.testing.queries import Queries

PHASES = Phases(base_qps=2.0, phase_s=10.0)


def queries(count: int, seconds: float, failed: np.ndarray[Any, Any], variant: str = "") -> Queries:
    """As many, at even distances; those that failed have nothing but when they were to leave."""
    given: dict[str, Any] = {field.name: np.zeros(count) for field in fields(Queries)}
    at_s = np.arange(count) * seconds / count
    given |= {"intended_s": at_s, "sent_s": at_s, "done_s": at_s + 0.02, "failed": failed}
    given |= {"late": np.zeros(count, dtype=bool), "correct": np.where(failed, np.nan, 1.0)}
    given |= {"accuracy": np.where(failed, np.nan, 0.9), "variant": np.where(failed, "", variant)}
    return Queries(**given)


def pipeline_round(failed: np.ndarray[Any, Any]) -> dict[str, Any]:
    return pipeline.figures(queries(len(failed), 30.0, failed), PHASES, 0.0, 0.0, 500.0, [], [])


def test_a_phase_of_a_pipeline_without_answers_has_no_quantiles() -> None:
    failed = np.arange(60) < 20
    found = pipeline_round(failed)["phases"]
    assert found["base"] == {"queries": 20, "lost_queries": 20, "p50_ms": None, "p99_ms": None, "accuracy": None}
    assert found["doubled"]["accuracy"] == 1.0


def test_a_round_of_a_pipeline_without_answers_misses_its_goals() -> None:
    rounds = [pipeline_round(np.arange(60) < lost) for lost in (0, 60)]
    told = pipeline_benchmark._summed(rounds)
    assert (told["p99_ms"], told["accuracy"]) == (None, None)
    assert told["goals"] == {"p99_within_slo": False, "none_lost": False}
    assert [pipeline_benchmark._in_words(each)[:8] for each in rounds] == ["0 of 60 ", "all 60 l"]


def ensemble_round(failed: np.ndarray[Any, Any], variant: str = "a+b") -> dict[str, Any]:
    of = cast("Ensemble", SimpleNamespace(texts=("x", "y"), offline_right=np.array([True, True])))
    return outage.figures(of, queries(len(failed), 10.0, failed, variant), "a", 5.0)


def test_an_ensemble_that_answers_nothing_has_no_accuracy_and_meets_no_goal() -> None:
    found = ensemble_round(np.ones(20, dtype=bool))
    assert (found["live_accuracy"], found["offline_accuracy"], found["offline_ci95"]) == (None, None, None)
    assert not found["live_within_offline_interval"]
    told = ensemble_benchmark._summed([found], cast("Ensemble", SimpleNamespace(members=("a", "b"))))
    assert not any(told["goals"].values())


def test_accuracy_is_not_kept_through_an_outage_in_which_nothing_was_answered() -> None:
    found = ensemble_round(np.zeros(20, dtype=bool))  # the victim's vote counts in every answer
    assert found["during_outage"] == {"queries": 0}
    assert found["accuracy_loss_points"] is None
    told = ensemble_benchmark._summed([found], cast("Ensemble", SimpleNamespace(members=("a", "b"))))
    assert told["accuracy_loss_points"] is None
    assert not told["goals"]["accuracy_loss"]
    assert "no query answered meanwhile" in ensemble_benchmark._in_words(found)
