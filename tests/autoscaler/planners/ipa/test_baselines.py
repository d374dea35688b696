"""FA2, RIM and Loki's order: what each may choose, against trying everything within that."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from autoscaler.planners.ipa.baselines import fa2, loki, rim
from autoscaler.planners.ipa.problem import IpaOptions
from autoscaler.planners.ipa.solver import solve
from autoscaler_scene import SEEDS
from catalog.errors import ConfigError
from ipa_scene import SMALL, accuracy, latency_s, option, picks, pipeline, replicas, some_pipeline, stage

LIGHT = option("light", 0.6, 0.01, 0.01, cost=1.0)
MIDDLE = option("middle", 0.7, 0.02, 0.02, cost=1.0)
HEAVY = option("heavy", 0.9, 0.05, 0.05, cost=2.0)
PROBLEM = pipeline(stage("a", LIGHT, MIDDLE, HEAVY), stage("b", LIGHT, MIDDLE, HEAVY, after=["a"]), load_qps=40.0)


def variants(solution) -> list[str]:  # type: ignore[no-untyped-def]
    return [own[0].variant for own in solution.pipelines["p"].stages.values()]


def test_fa2_keeps_its_variants_and_pays_the_least_for_them() -> None:
    assert variants(fa2(PROBLEM, "low", IpaOptions())) == ["light", "light"]
    assert variants(fa2(PROBLEM, "high", IpaOptions())) == ["heavy", "heavy"]
    assert variants(fa2(PROBLEM, {"a": "middle", "b": "heavy"}, IpaOptions())) == ["middle", "heavy"]


def test_accuracies_are_in_terms_of_all_variants_whoever_may_choose_fewer() -> None:
    low, high = (fa2(PROBLEM, which, IpaOptions()).pipelines["p"] for which in ("low", "high"))  # type: ignore[arg-type]
    assert (low.accuracy, high.accuracy) == (0.0, 2.0)
    assert low.cost < high.cost


def test_rim_is_as_accurate_as_its_replicas_allow() -> None:
    many, few = rim(PROBLEM, 10, IpaOptions()), rim(PROBLEM, 1, IpaOptions())
    assert variants(many) == ["heavy", "heavy"]
    assert many.pipelines["p"].cost == 40.0
    assert few.pipelines["p"].accuracy < 2.0
    assert [own[0].replicas for own in few.pipelines["p"].stages.values()] == [1, 1]
    over = rim(replace(PROBLEM, load_qps=1000.0), 1, IpaOptions()).pipelines["p"]
    assert over.served_qps == pytest.approx(4 / 0.05)


def test_loki_spends_its_budget_on_accuracy_and_no_more_than_that_takes() -> None:
    ample = loki(PROBLEM, 1000.0, IpaOptions()).pipelines["p"]
    assert ample.accuracy == 2.0
    assert ample.cost == fa2(PROBLEM, "high", IpaOptions()).pipelines["p"].cost
    scarce = loki(PROBLEM, ample.cost - 1, IpaOptions()).pipelines["p"]
    assert 0.0 < scarce.accuracy < 2.0
    assert scarce.cost <= ample.cost - 1
    none = loki(replace(PROBLEM, load_qps=1000.0), 4.0, IpaOptions()).pipelines["p"]
    assert none.served_qps < 1000.0
    assert none.cost <= 4.0


@settings(max_examples=60, deadline=None)
@given(rng=SEEDS)
def test_loki_is_the_most_accurate_that_the_budget_bears_and_then_the_cheapest(rng: np.random.Generator) -> None:
    problem = some_pipeline(rng, "p", ("cpu",))
    cost_limit = float(rng.integers(3, 60))
    able = []
    for taken in picks(problem, SMALL):
        cost = sum(n * own.cost for n, (own, _) in zip(replicas(problem, taken, 1.0), taken, strict=True))
        if latency_s(problem, taken, 1.0) <= problem.slo_s * (1 + 1e-9) and cost <= cost_limit:
            able.append((-accuracy(problem, taken, SMALL), cost))
    if able:
        found = loki(problem, cost_limit, SMALL).pipelines["p"]
        assert (-found.accuracy, found.cost) == pytest.approx(min(able), abs=1e-6)
        assert found.served_qps == problem.load_qps


@settings(max_examples=40, deadline=None)
@given(rng=SEEDS)
def test_no_system_with_less_to_choose_beats_ipa_by_its_own_objective(rng: np.random.Generator) -> None:
    problem = some_pipeline(rng, "p", ("cpu",))
    ipa = solve((problem,), SMALL)
    for other in (fa2(problem, "low", SMALL), fa2(problem, "high", SMALL), rim(problem, 8, SMALL)):
        own = other.pipelines["p"]
        if own.latency_s <= problem.slo_s and own.served_qps == problem.load_qps:
            rows = sum(active.batch_rows for (active,) in own.stages.values())
            assert SMALL.alpha * own.accuracy - SMALL.beta * own.cost - SMALL.delta * rows <= ipa.objective + 1e-6


def test_what_they_cannot_do_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"stage 'b' is None; name one of light, middle, heavy"):
        fa2(PROBLEM, {"a": "light"}, IpaOptions())
    with pytest.raises(ConfigError, match="RIM has 0 replicas"):
        rim(PROBLEM, 0, IpaOptions())
    with pytest.raises(ConfigError, match="cost limit is 0"):
        loki(PROBLEM, 0.0, IpaOptions())
    found = loki(PROBLEM, 1.0, IpaOptions())
    assert found.pipelines == {}
    assert found.explanation == ("One worker for each of 2 stages costs more than 1: raise the limit.",)
