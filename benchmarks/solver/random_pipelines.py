"""Pipelines drawn at random after the paper's: quadratic latency, base allocations, objectives that bind."""

from dataclasses import replace
from typing import Literal

import numpy as np

from autoscaler.planners.ipa.problem import BATCH_SIZES, IpaOptions, Option, PipelineProblem, StageProblem, Workers
from autoscaler.planners.ipa.solver import solve
from dispatch.selection.policy import Candidate

Kind = Literal["sequence", "dag", "sequence_limited", "dag_limited"]
"""Stages one after the other or as a DAG, with as many workers as wanted or fewer."""

KINDS: tuple[Kind, ...] = ("sequence", "dag", "sequence_limited", "dag_limited")
OPTIONS = IpaOptions(alpha=1.0, beta=0.02, delta=1e-6, time_limit_s=60.0)
SWAYAM = 5.0
"""A stage's objective is so many times the mean latency of its variants for one row (section 4.2)."""


def random_pipeline(
    rng: np.random.Generator, stages: int, variants: int, *, dag: bool, devices: int
) -> PipelineProblem:
    """Latency is a b^2 + b' b + c (section 4.2); more accurate variants take longer and more cores (Tables 7 to 14).

    The objective is 0.3 to 0.8 of the sum over stages of the rule of section 4.2 (along the DAG's longest path it is
    less), the load 5 to 50 queries/s. In a DAG a stage takes from one or two of the three before it.
    """
    made = []
    slo_s: dict[str, float] = {}
    for number in range(stages):
        options = []
        mean_s = []
        for rank, accuracy in enumerate(np.sort(rng.uniform(0.4, 0.95, variants))):
            heavy = (rank + 1) / variants
            one_s = rng.uniform(0.03, 0.1) * (1 + 3 * heavy)
            row_s = one_s * rng.uniform(0.2, 0.8)
            square_s = row_s * rng.uniform(0.0, 0.02)
            cores = float(2 ** round(rng.uniform(0.0, 4 * heavy)))
            for device in range(devices):
                faster = 1.0 if device == 0 else rng.uniform(1.5, 4.0)
                sizes = range(1, max(BATCH_SIZES) + 1)
                latency_s = (0.0, *(float((square_s * b * b + row_s * b + one_s) / faster) for b in sizes))
                mean_s.append(latency_s[1])
                name = f"s{number}v{rank}"
                cost = cores * (1.0 if device == 0 else 2.5)
                options.append(Option(Candidate(name, float(accuracy), latency_s), cost, f"device{device}"))
        name = f"s{number}"
        after = _after(rng, number, dag)
        slo_s[name] = max((slo_s[source] for source in after), default=0.0) + SWAYAM * float(np.mean(mean_s))
        made.append(StageProblem(name, after, tuple(options)))
    slo = max(slo_s.values()) * rng.uniform(0.3, 0.8)
    return PipelineProblem("pipeline", float(slo), float(rng.uniform(5.0, 50.0)), tuple(made))


def _after(rng: np.random.Generator, number: int, dag: bool) -> tuple[str, ...]:
    if number == 0:
        return ()
    if not dag:
        return (f"s{number - 1}",)
    before = range(max(0, number - 3), number)
    sources = rng.choice(before, size=min(len(before), int(rng.integers(1, 3))), replace=False)
    return tuple(f"s{source}" for source in sorted(sources.tolist()))


def random_case(seed: int, stages: int, variants: int, kind: Kind) -> tuple[PipelineProblem, Workers]:
    """The pipeline, and for the limited kinds two device types with four fifths of the workers that it would take.

    Every stage has one of each type at least, so that there is a plan.
    """
    rng = np.random.default_rng((seed, stages, variants, KINDS.index(kind)))
    limited = kind.endswith("limited")
    problem = random_pipeline(rng, stages, variants, dag=kind.startswith("dag"), devices=2 if limited else 1)
    if not limited:
        return problem, Workers()
    free = solve((problem,), OPTIONS)
    used: dict[str, int] = {}
    for own in free.pipelines[problem.name].stages.values():
        for active in own:
            used[active.device] = used.get(active.device, 0) + active.replicas
    return problem, Workers({device: max(int(0.8 * count), stages) for device, count in used.items()})


def slo_binds(problem: PipelineProblem, workers: Workers, objective: float) -> bool:
    """Whether more time would make the plan better."""
    ample = solve((replace(problem, slo_s=100.0 * problem.slo_s),), OPTIONS, workers)
    return ample.objective > objective + 1e-6
