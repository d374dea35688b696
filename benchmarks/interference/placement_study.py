"""Three variants on two machines, many times: who placed them with the least latency added (section 4 of the paper)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import inf
from typing import Any

import numpy as np

from autoscaler.placement.baselines import earliest_done, least_loaded, oracle
from autoscaler.placement.joint import Placement, joint, one_by_one, placement_cost
from autoscaler.placement.machine import LatencySum, Machine
from benchmarks.interference.accuracy import OnStep
from benchmarks.interference.learned import learned_examples
from predictor.configuration import Configuration
from predictor.examples import examples_of
from predictor.measurements import Measurements
from predictor.splits import folds
from predictor.training import fit
from predictor.variant_table import VariantTable

WORKLOADS = 100
PLACED = 3
FOLDS = 10
LATENCY = "latency"

Slowdowns = Mapping[Configuration, tuple[float, ...]]


@dataclass(frozen=True)
class Recorded:
    """An `Interference` that says what is recorded of a configuration; infinite where it was never measured.

    What is recorded has its variants in the order of their names.
    """

    by_configuration: Slowdowns

    def slowdowns(self, configurations: Sequence[Configuration]) -> Sequence[tuple[float, ...]]:
        """As recorded, whatever the order of the variants."""
        return [self._of(each) for each in configurations]

    def _of(self, configuration: Configuration) -> tuple[float, ...]:
        if configuration.degree < 2:
            return (1.0,) * configuration.degree
        recorded = self.by_configuration.get(configuration.ordered, (inf,) * configuration.degree)
        by_name = sorted(range(configuration.degree), key=configuration.variants.__getitem__)
        at = dict(zip(by_name, recorded, strict=True))
        return tuple(at[position] for position in range(configuration.degree))


@dataclass(frozen=True)
class Workload:
    """Variants in the order of their arrival, and the machines to place them on."""

    variants: tuple[str, ...]
    machines: tuple[Machine, ...]


def placement_study(
    measurements: Measurements, table: VariantTable, kind: str, seed: int, on_step: OnStep
) -> dict[str, Any]:
    """Latency added by placing, in sum over the workloads, in seconds; None for all where no workload was measured.

    A workload is `PLACED` different variants, each running batch after batch, and two machines of measured types, maybe
    the same; it counts where all pairs were measured on both types. Where the three together were not, no more than two
    go to one machine. What is added is to the latency alone on the faster of the two: else an empty slow machine would
    be the best place (in Table 5 the minimum with a CPU beside a GPU is above that with two GPUs, so the paper counts
    likewise). Each slowdown is predicted by a predictor that has not seen its configuration.

    The predictor's placement and the oracle's are of all three at once; ``interference_aware_online`` is the paper's
    scheduler, one at a time. ``least_loaded`` is the best, in hindsight, of loads by number, by each ``hw_`` metric
    with "util" in its name and by the latency alone, which is known before anything is predicted, in the order of
    arrival and, as all three are known, with the largest first; the paper's, which is indifferent to machine types,
    and, by utilisation and latency on the type itself, where the load is least afterwards (`earliest_done`), which
    knows how fast machines are. ``least_latency`` is the best by latency. Of the workloads
    ``distinct_workloads`` differ in more than the order of arrival.
    """
    truth_examples = examples_of(measurements)
    truth = Recorded(_by_configuration(truth_examples.configurations, truth_examples.slowdown))
    alone_s = _alone_s(measurements)
    workloads = _workloads(truth.by_configuration, alone_s, seed)
    if not workloads:
        return dict.fromkeys(("least_loaded", "interference_aware", "oracle")) | {"workloads": 0}
    predicted: dict[Configuration, tuple[float, ...]] = {}
    for number, (training, held_out) in enumerate(folds(measurements, FOLDS, seed)):
        on_step(f"placement, fold {number + 1} of {FOLDS}")
        predictor = fit(learned_examples(training, seed), table, kind, seed=seed)
        predicted |= _by_configuration(held_out, predictor.slowdowns(held_out).clip(min=1.0))
    true_cost, predicted_cost = LatencySum(alone_s, truth), LatencySum(alone_s, Recorded(predicted))

    def added_s(placements: Sequence[Placement]) -> float:
        return sum(
            placement_cost(each.variants, each.machines, placement, true_cost) - _fastest_s(each, alone_s)
            for each, placement in zip(workloads, placements, strict=True)
        )

    by_load = {name: added_s(own) for name, own in _least_loaded(workloads, table, alone_s).items()}
    return {
        "least_loaded": min(by_load.values()),
        "interference_aware": added_s([joint(each.variants, each.machines, predicted_cost) for each in workloads]),
        "oracle": added_s([oracle(each.variants, each.machines, true_cost) for each in workloads]),
        "interference_aware_online": added_s(
            [one_by_one(each.variants, each.machines, predicted_cost) for each in workloads]
        ),
        "least_latency": min(added for name, added in by_load.items() if name.startswith(LATENCY)),
        "least_loaded_by": by_load,
        "workloads": len(workloads),
        "distinct_workloads": len({(tuple(sorted(w.variants)), tuple(m.type for m in w.machines)) for w in workloads}),
    }


def _by_configuration(configurations: Sequence[Configuration], slowdown: Any) -> dict[Configuration, tuple[float, ...]]:
    ends = np.cumsum([each.degree for each in configurations])
    return {
        each: tuple(slowdown[end - each.degree : end].tolist()) for each, end in zip(configurations, ends, strict=True)
    }


def _alone_s(measurements: Measurements) -> dict[tuple[str, str], float]:
    """Mean latency alone by machine type and variant."""
    found: dict[tuple[str, str], list[float]] = {}
    for run in measurements:
        for variant, alone_ms in zip(run.configuration.variants, run.alone_ms, strict=True):
            found.setdefault((run.configuration.machine, variant), []).append(alone_ms)
    return {key: float(np.mean(values)) / 1e3 for key, values in found.items()}


def _workloads(truth: Slowdowns, alone_s: Mapping[tuple[str, str], float], seed: int) -> list[Workload]:
    rng = np.random.default_rng(seed)
    machines = sorted({machine for machine, _ in alone_s})
    variants = {machine: {v for m, v in alone_s if m == machine} for machine in machines}
    possible: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    for types in product(machines, repeat=2):
        for chosen in combinations(sorted(variants[types[0]] & variants[types[1]]), PLACED):
            pairs = (Configuration(type_, pair) for type_ in set(types) for pair in combinations(chosen, 2))
            if all(pair in truth for pair in pairs):
                possible.append((chosen, types))
    if not possible:
        return []
    drawn = rng.choice(len(possible), WORKLOADS, replace=len(possible) < WORKLOADS)
    made = []
    for index in drawn:
        chosen, types = possible[index]
        room = [PLACED if Configuration(type_, chosen) in truth else PLACED - 1 for type_ in types]
        two = tuple(Machine(f"{number}", type_, room[number]) for number, type_ in enumerate(types))
        made.append(Workload(tuple(chosen[i] for i in rng.permutation(PLACED)), two))
    return made


def _fastest_s(workload: Workload, alone_s: Mapping[tuple[str, str], float]) -> float:
    return sum(min(alone_s[machine.type, variant] for machine in workload.machines) for variant in workload.variants)


def _least_loaded(
    workloads: Sequence[Workload], table: VariantTable, alone_s: Mapping[tuple[str, str], float]
) -> dict[str, list[Placement]]:
    """By load and order the placements of all workloads."""
    loads: dict[str, dict[str, list[float]]] = {"number": {}, LATENCY: {}}
    for (_, variant), seconds in alone_s.items():
        loads["number"].setdefault(variant, []).append(1.0)
        loads[LATENCY].setdefault(variant, []).append(seconds)
    for name in (each for each in table.hardware_columns if "util" in each):
        for (_, variant), known in table.hardware.items():
            if name in known:
                loads.setdefault(name, {}).setdefault(variant, []).append(known[name])
    found: dict[str, list[Placement]] = {}
    for name, values in loads.items():
        load = {variant: float(np.mean(own)) for variant, own in values.items()}
        found[f"{name}, by arrival"] = [least_loaded(each.variants, each.machines, load) for each in workloads]
        found[f"{name}, largest first"] = [_largest_first(each, load) for each in workloads]
    for name, own in _on_types(table, alone_s).items():
        found[f"{name} on the type, by arrival"] = [earliest_done(w.variants, w.machines, own) for w in workloads]
        found[f"{name} on the type, largest first"] = [_largest_first_on_types(each, own) for each in workloads]
    return found


def _on_types(
    table: VariantTable, alone_s: Mapping[tuple[str, str], float]
) -> dict[str, Mapping[tuple[str, str], float]]:
    """Loads by machine type and variant."""
    names = [each for each in table.hardware_columns if "util" in each]
    utilisation = {name: {key: known[name] for key, known in table.hardware.items() if name in known} for name in names}
    return {LATENCY: alone_s, **utilisation}


def _largest_first_on_types(workload: Workload, load: Mapping[tuple[str, str], float]) -> Placement:
    """By what each variant is on the machine where it is least."""
    least = {v: min(load.get((machine.type, v), 1.0) for machine in workload.machines) for v in workload.variants}
    order = sorted(workload.variants, key=lambda variant: -least[variant])
    machine_of = dict(zip(order, earliest_done(order, workload.machines, load), strict=True))
    return tuple(machine_of[variant] for variant in workload.variants)


def _largest_first(workload: Workload, load: Mapping[str, float]) -> Placement:
    order = sorted(workload.variants, key=lambda variant: -load.get(variant, 1.0))
    machine_of = dict(zip(order, least_loaded(order, workload.machines, load), strict=True))
    return tuple(machine_of[variant] for variant in workload.variants)
