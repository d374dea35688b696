"""A system on an excerpt, in the simulator."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from benchmarks.ipa.demand import INTERVAL_S, Scene
from benchmarks.ipa.excerpts import LEAD_S, LENGTH_S, MEAN_S
from benchmarks.ipa.pipelines import Pipeline
from benchmarks.ipa.systems import Planned, Setting
from simulator.host import Host
from simulator.latency import SampledLatency
from simulator.pools.pipeline_replicas import PipelineReplicas, Replica, ReplicaTimes, mean_cost
from simulator.record import Record

Floats = NDArray[np.float64]

START_S = 8.0
"""From a decision until its new replicas serve (section 5.3)."""


@dataclass(frozen=True, eq=False)
class Timeline:
    """By windows of 10 s: means of the load and of the cores, violations in percent, and the accuracy score."""

    load_qps: Floats
    cost_cores: Floats
    violations_pct: Floats
    accuracy: Floats


@dataclass(frozen=True, eq=False)
class Outcome:
    """Of one excerpt, its lead left out; a query belongs to the instant at which it came.

    ``accuracy`` is 0 to 100: the mean over answered queries of the ranks of the variants that ran their stages, which
    are 0 to 1 (section 4.1). ``product`` is that of the product of the variants' accuracies, from 0 to 1. Both are 0
    where nothing was answered. ``violated`` counts queries answered late or never.
    """

    queries: int
    violated: int
    accuracy: float
    product: float
    cost_cores: float
    p50_s: float
    p99_s: float
    changes: int
    timeline: Timeline

    @classmethod
    def pooled(cls, outcomes: "Sequence[Outcome]") -> "Outcome":
        """Of several runs that differ in luck alone: queries are added up, the rest are means; the first's timeline."""
        first, *_ = outcomes

        def mean(figure: str) -> float:
            return fmean(getattr(each, figure) for each in outcomes)

        return cls(
            queries=sum(each.queries for each in outcomes),
            violated=sum(each.violated for each in outcomes),
            accuracy=mean("accuracy"),
            product=mean("product"),
            cost_cores=mean("cost_cores"),
            p50_s=mean("p50_s"),
            p99_s=mean("p99_s"),
            changes=round(mean("changes")),
            timeline=first.timeline,
        )

    @property
    def violations_pct(self) -> float:
        """Of all queries."""
        return 100.0 * self.violated / self.queries if self.queries else 0.0


def simulate(
    pipeline: Pipeline,
    setting: Setting,
    scene: Scene,
    seed: int,
    *,
    predictive: bool = True,
    planned: Planned | None = None,
) -> Outcome:
    """Serve an excerpt. The same seed gives the same arrivals and the same luck to every system."""
    planned = planned or Planned(pipeline, setting)
    replicas = PipelineReplicas(
        pipeline.endpoint(),
        scene.demand(pipeline.name, predictive=predictive),
        lambda load_qps: planned.plan(load_qps).stages,
        ReplicaTimes(interval_s=INTERVAL_S, start_s=START_S),
    )
    latency = SampledLatency(pipeline.profiles, 0.0, np.random.default_rng((seed, scene.excerpt.start_s)))
    record = Host(replicas.plan, replicas.workers, latency, replicas).run(
        {pipeline.name: scene.excerpt.arrivals_s(seed)}
    )
    return _outcome(pipeline, record, replicas)


def _outcome(pipeline: Pipeline, record: Record, replicas: PipelineReplicas) -> Outcome:
    counted = record.arrival_s >= LEAD_S
    late = record.done_s > record.deadline_s
    answered = counted & np.isfinite(record.done_s)
    rank, product = _accuracies(pipeline, record)
    latency_s = (record.done_s - record.arrival_s)[answered]
    p50_s, p99_s = np.percentile(latency_s, [50, 99]) if len(latency_s) else (0.0, 0.0)
    shown = [
        tuple((each.variant, each.batch_rows, each.replicas) for own in s.values() for each in own)
        for at_s, s in replicas.decisions
        if at_s >= LEAD_S
    ]
    return Outcome(
        queries=int(counted.sum()),
        violated=int((counted & late).sum()),
        accuracy=100.0 * float(rank[answered].mean()) if answered.any() else 0.0,
        product=float(product[answered].mean()) if answered.any() else 0.0,
        cost_cores=mean_cost(replicas.replicas, LEAD_S, LEAD_S + LENGTH_S),
        p50_s=float(p50_s),
        p99_s=float(p99_s),
        changes=sum(a != b for a, b in pairwise(shown)),
        timeline=_timeline(record, replicas.replicas, counted, late, answered, rank),
    )


def _accuracies(pipeline: Pipeline, record: Record) -> tuple[Floats, Floats]:
    """By query the mean rank over the stages, and the product of the accuracies, of the variants that ran them."""
    variants = {name: own for stage in pipeline.stages for name, own in stage.variants.items()}
    batches = record.batches
    ranks = np.array([variants[name].rank for name in batches.variants])
    accuracies = np.array([variants[name].candidate.accuracy for name in batches.variants])
    variant = np.repeat(batches.variant, batches.jobs)
    rank, logarithm = np.zeros(len(record.arrival_s)), np.zeros(len(record.arrival_s))
    np.add.at(rank, batches.query_ids, ranks[variant] / len(pipeline.stages))
    np.add.at(logarithm, batches.query_ids, np.log(accuracies[variant]))
    return rank, np.exp(logarithm)


def _timeline(
    record: Record,
    replicas: list[Replica],
    counted: NDArray[np.bool_],
    late: NDArray[np.bool_],
    answered: NDArray[np.bool_],
    rank: Floats,
) -> Timeline:
    window = ((record.arrival_s - LEAD_S) // MEAN_S).astype(np.intp)
    windows = LENGTH_S // MEAN_S

    def summed(mask: NDArray[np.bool_], weights: Floats | None = None) -> Floats:
        chosen = window[mask]
        found = np.bincount(chosen, None if weights is None else weights[mask], minlength=windows)
        return found[:windows].astype(np.float64)

    came, served = summed(counted), summed(answered)
    starts_s = [LEAD_S + MEAN_S * number for number in range(windows)]
    return Timeline(
        came / MEAN_S,
        np.array([mean_cost(replicas, at_s, at_s + MEAN_S) for at_s in starts_s]),
        100.0 * summed(counted & late) / np.maximum(came, 1),
        100.0 * summed(answered, rank) / np.maximum(served, 1),
    )
