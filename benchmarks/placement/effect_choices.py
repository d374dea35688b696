"""Who is placed beside whom: by the predictor, and by least-loaded schedulers that know different loads."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import exp, log

import numpy as np

from autoscaler.placement.baselines import least_loaded
from autoscaler.placement.interference import PredictedInterference
from autoscaler.placement.joint import Placement, joint
from autoscaler.placement.machine import LatencySum, Machine
from benchmarks.placement.effect_load import P95, Mix
from benchmarks.placement.effect_training import Known
from predictor.configuration import Configuration
from predictor.examples import examples_of
from predictor.kinds import GAUSSIAN_PROCESS
from predictor.training import fit

ROOM = 2
"""Variants on one CPU: three would take more of it than there is in many mixes."""

IN_MS, RELATIVE = "p95_ms", "p95_relative"
"""Measures: of the latencies of all queries, and of the latencies over their variant's mean latency alone."""

BY_P95 = {IN_MS: "interference_aware", RELATIVE: "interference_aware_relative"}
"""By measure the scheduler that goes by its prediction."""

LATENCY_SUM = "interference_aware_latency_sum"
"""By the predicted 95th percentiles of the variants, in sum."""

UTILISATION = "utilisation, by arrival"
"""The least-loaded scheduler of section 1 of the paper."""

Split = tuple[Mix, ...]
"""The variants of each of two equal machines, in the order of their names; the machines too, as nobody tells them
apart."""


def machines(machine_type: str) -> tuple[Machine, Machine]:
    """Two of the type."""
    return Machine("0", machine_type, ROOM), Machine("1", machine_type, ROOM)


def choices(mix: Mix, known: Known, seed: int) -> tuple[dict[str, Split], float]:
    """What each scheduler does with a mix, and the predictor's mean absolute error on its pairs, which it never saw.

    What is predicted is the 95th percentile of each variant's latency, and the sum has queries per second for weights.
    """
    inside = [each for each in known.pairs.repeats if set(each.variants) <= set(mix)]
    seen = known.pairs.only([each for each in known.pairs.repeats if each not in inside])
    predictor = fit(examples_of(seen), known.table, GAUSSIAN_PROCESS, seed=seed)
    truth = examples_of(known.pairs.only(inside))
    error = float(np.abs(predictor.slowdowns(truth.configurations) - truth.slowdown).mean())
    cost = LatencySum(
        {(known.machine, name): own["hw_p95_ms"] / 1e3 for name, own in known.alone.items()},
        PredictedInterference(predictor),
        {name: load.rate_qps for name, load in known.loads.items()},
    )
    two = machines(known.machine)
    found = {
        BY_P95[IN_MS]: by_p95(mix, known.machine, cost, dict.fromkeys(mix, 1.0)),
        BY_P95[RELATIVE]: by_p95(mix, known.machine, cost, {n: known.alone[n]["hw_latency_ms"] / 1e3 for n in mix}),
        LATENCY_SUM: by_latency_sum(mix, two, cost),
    }
    for what, load_of in (
        ("number", dict.fromkeys(mix, 1.0)),
        ("utilisation", {name: known.alone[name]["hw_cpu_utilisation"] for name in mix}),
        ("latency", {name: known.alone[name]["hw_latency_ms"] for name in mix}),
        ("queries per second", {name: known.loads[name].rate_qps for name in mix}),
    ):
        found[f"{what}, by arrival"] = by_load(mix, two, load_of, largest_first=False)
        if what != "number":
            found[f"{what}, largest first"] = by_load(mix, two, load_of, largest_first=True)
    return found, error


def split_of(mix: Mix, placement: Placement) -> Split:
    """What a placement comes to on machines that are alike: who is with whom."""
    there = {
        name: tuple(sorted(v for v, m in zip(mix, placement, strict=True) if m == name)) for name in set(placement)
    }
    return tuple(sorted(there.values()))


def all_splits(mix: Mix) -> list[Split]:
    """Every one with room for all."""
    return sorted(
        {
            tuple(sorted((tuple(sorted(some)), tuple(sorted(set(mix) - set(some))))))
            for size in range(len(mix) - ROOM, ROOM + 1)
            for some in combinations(mix, size)
        }
    )


def by_latency_sum(mix: Mix, two: Sequence[Machine], cost: LatencySum) -> Split:
    """The placement with the least predicted latencies in sum, as the paper and the planner have it."""
    return split_of(mix, joint(mix, two, cost))


def by_p95(mix: Mix, machine_type: str, cost: LatencySum, unit_s: Mapping[str, float]) -> Split:
    """The placement with the least predicted 95th percentile of all queries, of the same predictions as in the sum.

    ``cost`` is of 95th percentiles of each variant's latency, with queries per second for weights. Each variant's
    latencies count in its ``unit_s``.
    """

    def p95(split: Split) -> float:
        configurations = [Configuration(machine_type, own) for own in split if own]
        found = {
            variant: slowdown * cost.alone_s[machine_type, variant] / unit_s[variant]
            for (_, own), slowdowns in zip(configurations, cost.interference.slowdowns(configurations), strict=True)
            for variant, slowdown in zip(own, slowdowns, strict=True)
        }
        return p95_of_all([cost.weights[variant] for variant in found], list(found.values()))

    return min(all_splits(mix), key=p95)


def p95_of_all(rates_qps: Sequence[float], p95s: Sequence[float]) -> float:
    """The 95th percentile of all queries, where each variant's latencies are exponential with its own one.

    That is how latencies end where a processor is shared; the exponential has ``exp(-log(20) x / p95)`` above x.
    """
    allowed_qps = (1 - P95) * sum(rates_qps)
    low, high = 0.0, max(p95s)
    for _ in range(50):
        middle = (low + high) / 2
        above_qps = sum(
            rate_qps * exp(log(1 - P95) * middle / own) for rate_qps, own in zip(rates_qps, p95s, strict=True)
        )
        low, high = (middle, high) if above_qps > allowed_qps else (low, middle)
    return high


def by_load(mix: Mix, two: Sequence[Machine], load: Mapping[str, float], largest_first: bool) -> Split:
    """The least-loaded machine for each variant, in the order of arrival or of the load."""
    order = tuple(sorted(mix, key=lambda name: -load[name])) if largest_first else mix
    return split_of(order, least_loaded(order, two, load))
