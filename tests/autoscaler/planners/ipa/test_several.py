"""Several active variants in a stage: against trying every number of replicas of every choice."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from autoscaler.cluster.plan import Status
from autoscaler.planners.ipa.baselines import fa2
from autoscaler.planners.ipa.choices import Restriction
from autoscaler.planners.ipa.problem import IpaOptions, PipelineProblem, Workers
from autoscaler.planners.ipa.solver import solve
from autoscaler_scene import SEEDS
from catalog.errors import ConfigError
from ipa_scene import option, pipeline, some_pipeline, stage

LIGHT = option("light", 0.6, 0.01, 0.01, cost=1.0, device="cpu")
HEAVY = option("heavy", 0.9, 0.05, 0.05, cost=2.0, device="gpu")
SEVERAL = IpaOptions(beta=0.03, batch_sizes=(1, 2), several=True)


def one_stage(rng: np.random.Generator) -> PipelineProblem:
    options = [
        option(f"v{v}", 0.5 + 0.1 * v, *rng.uniform(0.01, 0.06, 2), float(rng.integers(1, 4)), device, 2)
        for v, device in enumerate(rng.choice(["cpu", "gpu"], rng.integers(1, 3)).tolist())
    ]
    return pipeline(stage("s", *options), slo_s=float(rng.choice((0.1, 0.3))), load_qps=float(rng.uniform(5, 60)))


def tried(problem: PipelineProblem, workers: Workers) -> tuple[float, float]:
    """The largest served part, and the largest objective where that is all."""
    (own,) = problem.stages
    levels = sorted({o.candidate.accuracy for o in own.options})
    best, most = -1e9, 0.0
    for sizes in product((1, 2), repeat=len(own.options)):
        for counts in product(range(5), repeat=len(own.options)):
            used: dict[str, int] = {}
            for o, n in zip(own.options, counts, strict=True):
                used[o.device] = used.get(o.device, 0) + n
            rows = [(o, b, n) for o, b, n in zip(own.options, sizes, counts, strict=True) if n]
            late = any(
                o.candidate.latency_s[b] + (b - 1) / problem.load_qps > problem.slo_s * (1 + 1e-9) for o, b, _ in rows
            )
            if not rows or late or any(n > workers.limit(device) for device, n in used.items()):
                continue
            borne = sum(n * b / o.candidate.latency_s[b] for o, b, n in rows) / problem.load_qps
            most = max(most, min(borne, 1.0))
            if borne < 1 - 1e-9:
                continue
            left, accuracy = 1.0, 0.0
            for o, b, n in sorted(rows, key=lambda row: -row[0].candidate.accuracy):
                share = min(left, n * b / o.candidate.latency_s[b] / problem.load_qps)
                rank = levels.index(o.candidate.accuracy) / (len(levels) - 1) if len(levels) > 1 else 1.0
                accuracy += share * rank
                left -= share
            cost = sum(n * o.cost for o, _, n in rows)
            best = max(best, accuracy - SEVERAL.beta * cost - SEVERAL.delta * sum(b for _, b, _ in rows))
    return most, best


@settings(max_examples=80, deadline=None)
@given(rng=SEEDS)
def test_no_mix_is_better(rng: np.random.Generator) -> None:
    problem = one_stage(rng)
    workers = Workers({"cpu": int(rng.integers(1, 5)), "gpu": int(rng.integers(1, 5))})
    most, best = tried(problem, workers)
    found = solve((problem,), SEVERAL, workers)
    if most == 1.0:
        assert found.status is Status.OPTIMAL
        assert found.objective == pytest.approx(best, abs=1e-6)
        assert found.pipelines["p"].served_qps == problem.load_qps
    elif most > 0:  # with the waits of all of the load, which are longer where less is served
        assert found.pipelines["p"].served_qps <= problem.load_qps * most * (1 + 1e-6)


@settings(max_examples=60, deadline=None)
@given(rng=SEEDS)
def test_several_are_never_worse_than_one_and_keep_all_limits(rng: np.random.Generator) -> None:
    problem = some_pipeline(rng, "p", ("cpu", "gpu"))
    workers = Workers({"cpu": int(rng.integers(1, 9)), "gpu": int(rng.integers(1, 9))})
    one, several = (
        solve((problem,), IpaOptions(beta=0.05, batch_sizes=(1, 2, 4), several=s), workers) for s in (False, True)
    )
    if not one.pipelines:
        return
    own, single = several.pipelines["p"], one.pipelines["p"]
    assert own.served_qps >= single.served_qps * (1 - 1e-6)
    if own.served_qps == problem.load_qps == single.served_qps:
        assert several.objective >= one.objective - 1e-6
    used: dict[str, int] = {}
    for name, active in own.stages.items():
        (of,) = [each for each in problem.stages if each.name == name]
        assert sum(each.share for each in active) == pytest.approx(1.0, abs=1e-8)
        for each in active:
            used[each.device] = used.get(each.device, 0) + each.replicas
            assert each.capacity_qps >= each.share * own.served_qps * of.jobs_per_query * (1 - 1e-7)
    assert all(count <= workers.limit(device) for device, count in used.items())
    assert own.latency_s <= max(problem.slo_s, single.latency_s) * (1 + 1e-7)


def test_two_pools_bear_together_what_neither_bears_alone() -> None:
    problem = pipeline(stage("s", LIGHT, HEAVY), load_qps=60.0)
    workers = Workers({"cpu": 1, "gpu": 1})
    one = solve((problem,), IpaOptions(batch_sizes=(1,)), workers).pipelines["p"]
    found = solve((problem,), IpaOptions(batch_sizes=(1,), several=True), workers)
    assert one.served_qps == pytest.approx(50.0)
    assert found.pipelines["p"].served_qps == pytest.approx(60.0)
    assert [each.variant for each in found.pipelines["p"].stages["s"]] == ["heavy", "light"]
    assert "p, s: heavy 17%, light 83% of the jobs." in found.explanation


def test_several_go_with_measured_accuracies_and_restrictions_as_little_as_they_say() -> None:
    problem = pipeline(stage("s", LIGHT, HEAVY))
    with pytest.raises(ConfigError, match="False with measured accuracies"):
        IpaOptions(accuracy="measured", several=True)
    with pytest.raises(ConfigError, match="several=False"):
        solve((problem,), SEVERAL, Workers(), Restriction(replicas=2))
    assert len(fa2(problem, "low", SEVERAL).pipelines["p"].stages["s"]) == 1
