"""Decision times of IPA's program: the figures that are given, and the pipelines that they are of."""

import numpy as np
import pytest

from autoscaler.cluster.plan import Status
from autoscaler.planners.ipa.solver import solve
from benchmarks.solver.ipa_grid import decision_times
from benchmarks.solver.random_pipelines import KINDS, OPTIONS, random_case, random_pipeline


def test_every_kind_and_size_has_times_and_proofs() -> None:
    found = decision_times(2, (2, 3))
    assert list(found["grid"]) == list(KINDS)
    for of_kind in found["grid"].values():
        assert list(of_kind) == ["2x2", "2x3", "3x2", "3x3"]
        for cell in of_kind.values():
            assert 0.0 < cell["median_s"] <= cell["max_s"]
            assert cell["optimal"] == 2
            assert cell["max_gap"] <= 1e-6
            assert 0 <= cell["slo_binds"] <= 2
    assert found["goals"] == {}  # none of these sizes has one


def test_goals_are_of_the_sizes_that_have_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.solver.ipa_grid.GOALS_S", {2: 60.0, 3: 0.0})
    found = decision_times(1, (2, 3))
    assert found["goals"] == {
        f"{kind}_{size}_and_optimal": met
        for size, met in (("2x2_all_under_60_s", True), ("3x3_all_under_0_s", False))
        for kind in KINDS
    }
    assert not found["goals_met"]


def test_pipelines_are_the_same_for_the_same_seed_and_others_for_others() -> None:
    assert random_case(3, 4, 4, "dag") == random_case(3, 4, 4, "dag")
    assert random_case(3, 4, 4, "dag") != random_case(4, 4, 4, "dag")


def test_more_accurate_variants_take_longer_on_average_and_batches_more_per_row_saved() -> None:
    problem = random_pipeline(np.random.default_rng(0), 20, 10, dag=False, devices=1)
    first = [stage.options[0].candidate.latency_s[1] for stage in problem.stages]
    last = [stage.options[-1].candidate.latency_s[1] for stage in problem.stages]
    assert np.mean(last) > 2 * np.mean(first)
    assert all(stage.after == ((f"s{i - 1}",) if i else ()) for i, stage in enumerate(problem.stages))


def test_limited_kinds_have_fewer_workers_than_they_would_take() -> None:
    problem, workers = random_case(1, 4, 5, "sequence_limited")
    free, limited = solve((problem,), OPTIONS), solve((problem,), OPTIONS, workers)
    assert limited.status is Status.OPTIMAL
    assert limited.objective < free.objective
