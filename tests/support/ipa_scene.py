"""Small pipelines for IPA's program: by hand, at random, and solved by trying everything."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import ceil, inf, log, prod

import numpy as np

from autoscaler.cluster.cluster import Cluster
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan
from autoscaler.planners.ipa.problem import IpaOptions, Option, PipelineProblem, StageProblem, Workers
from autoscaler.planners.ipa.solution import Solution
from dispatch.selection.policy import Candidate

SMALL = IpaOptions(beta=0.05, batch_sizes=(1, 2, 4))


def option(
    variant: str, accuracy: float, fixed_s: float, row_s: float, cost: float = 1.0, device: str = "", rows: int = 4
) -> Option:
    """Batches take ``fixed_s`` and ``row_s`` for each row."""
    latency_s = (0.0, *(fixed_s + row_s * n for n in range(1, rows + 1)))
    return Option(Candidate(variant, accuracy, latency_s), cost, device)


def stage(name: str, *options: Option, after: Sequence[str] = (), jobs: float = 1.0) -> StageProblem:
    return StageProblem(name, tuple(after), options, jobs)


def pipeline(
    *stages: StageProblem, slo_s: float = 1.0, load_qps: float = 10.0, name: str = "p", **measured: float
) -> PipelineProblem:
    return PipelineProblem(name, slo_s, load_qps, stages)


GRAPHS: tuple[tuple[tuple[str, ...], ...], ...] = (
    ((),),
    ((), ("s0",)),
    ((), ()),
    ((), ("s0",), ("s1",)),
    ((), ("s0",), ("s0",)),
    ((), (), ("s0", "s1")),
    ((), ("s0",), ("s0", "s1")),
)
"""By stage what it takes from: sequences, a fan-out, a join, both of length up to 3, and a shortcut."""


def some_pipeline(rng: np.random.Generator, name: str, devices: Sequence[str]) -> PipelineProblem:
    """Up to 3 stages with up to 3 variants on some of the devices; slower ones are mostly more accurate."""
    stages = []
    for number, after in enumerate(GRAPHS[rng.integers(len(GRAPHS))]):
        variants = rng.integers(1, 4)
        accuracies = np.sort(rng.choice((0.5, 0.6, 0.7, 0.8, 0.9), variants))
        options = []
        for v, accuracy in enumerate(accuracies):
            cores = float(rng.integers(1, 5))
            for device in rng.permutation(devices)[: rng.integers(1, len(devices) + 1)]:
                fixed_s, row_s = rng.uniform(0.01, 0.1, 2) * (v + 1)
                rows = int(rng.choice((1, 2, 4)))
                options.append(option(f"v{v}", float(accuracy), fixed_s, row_s, cores, str(device), rows))
        jobs = float(rng.choice((0.5, 1.0, 3.0), p=(0.2, 0.6, 0.2)))
        stages.append(StageProblem(f"s{number}", after, tuple(options), jobs))
    load_qps = float(rng.choice((0.0, 0.3, 4.0, 20.0, 60.0), p=(0.06, 0.14, 0.3, 0.3, 0.2)) * rng.uniform(0.5, 1.5))
    made = PipelineProblem(name, float(rng.choice((0.15, 0.4, 1.0, 3.0))), load_qps, tuple(stages))
    names = [sorted({o.candidate.variant for o in s.options}) for s in stages]
    table = {each: float(rng.uniform(0.3, 1.0)) for each in product(*names) if rng.random() < 0.8}
    return replace(made, measured_accuracy=table or {tuple(own[0] for own in names): 0.5})


@dataclass(frozen=True)
class Whole:
    """A plan as brute force finds it: by pipeline and stage an option, its batch size and its replicas."""

    objective: float
    served: tuple[float, ...]  # by pipeline, of its load
    limits_s: tuple[float, ...]


def paths(stages: Sequence[StageProblem]) -> list[tuple[int, ...]]:
    """All ways from a stage that takes from none to any stage."""
    found: list[list[tuple[int, ...]]] = []
    names = [each.name for each in stages]
    for number, each in enumerate(stages):
        before = [path for source in each.after for path in found[names.index(source)]]
        found.append([(*path, number) for path in before] or [(number,)])
    return [path for own in found for path in own]


Pick = tuple[Option, int]
"""What a stage may take: an option and a batch size."""


def picks(problem: PipelineProblem, options: IpaOptions) -> Iterator[tuple[Pick, ...]]:
    """Every combination of a pipeline, of those that are eligible."""
    for combination in product(
        *(
            [(o, b) for o in each.options for b in options.batch_sizes if b <= o.candidate.max_batch]
            for each in problem.stages
        )
    ):
        variants = tuple(own.candidate.variant for own, _ in combination)
        if options.accuracy != "measured" or variants in problem.measured_accuracy:
            yield combination


def accuracy(problem: PipelineProblem, taken: Sequence[Pick], options: IpaOptions) -> float:
    variants = tuple(o.candidate.variant for o, _ in taken)
    if options.accuracy == "measured":
        return problem.measured_accuracy[variants]
    if options.accuracy == "product":
        return log(prod(o.candidate.accuracy for o, _ in taken))
    total = Fraction(0)
    for each, (own, _) in zip(problem.stages, taken, strict=True):
        levels = sorted({o.candidate.accuracy for o in each.options})
        rank = levels.index(own.candidate.accuracy)
        total += Fraction(rank, len(levels) - 1) if len(levels) > 1 else 1
    return float(total)


def latency_s(problem: PipelineProblem, taken: Sequence[Pick], served: float) -> float:
    """Of the slowest path, with the worst wait for batches to fill."""
    spans = []
    for each, (own, rows) in zip(problem.stages, taken, strict=True):
        load_qps = problem.load_qps * served * each.jobs_per_query
        wait_s = 0.0 if rows == 1 else (rows - 1) / load_qps if load_qps else inf
        spans.append(own.candidate.latency_s[rows] + wait_s)
    return max(sum(spans[number] for number in path) for path in paths(problem.stages))


def rows_run(stage: StageProblem, rows: int) -> int:
    """Of batches of up to so many: whole jobs, as many as fit, and what a batch below one job counts as."""
    whole = [jobs * stage.rows_per_job for jobs in range(1, rows + 1) if jobs * stage.rows_per_job <= rows]
    return max(whole, default=rows)


def replicas(problem: PipelineProblem, taken: Sequence[Pick], served: float) -> list[int]:
    found = []
    for each, (own, rows) in zip(problem.stages, taken, strict=True):
        load_qps = problem.load_qps * served * each.jobs_per_query
        run = rows_run(each, rows)
        found.append(max(ceil(load_qps * own.candidate.latency_s[run] / run - 1e-9), 1))
    return found


def objective(problem: PipelineProblem, taken: Sequence[Pick], served: float, options: IpaOptions) -> float:
    counts = replicas(problem, taken, served)
    cost = sum(n * own.cost for n, (own, _) in zip(counts, taken, strict=True))
    return (
        options.alpha * accuracy(problem, taken, options)
        - options.beta * cost
        - options.delta * sum(rows for _, rows in taken)
    )


def fits(
    problems: Sequence[PipelineProblem], taken: Sequence[Sequence[Pick]], served: Sequence[float], workers: Workers
) -> bool:
    used: dict[str, int] = {}
    for problem, own, part in zip(problems, taken, served, strict=True):
        for n, (each, _) in zip(replicas(problem, own, part), own, strict=True):
            used[each.device] = used.get(each.device, 0) + n
    return all(n <= workers.limit(device) for device, n in used.items())


def tried(problems: Sequence[PipelineProblem], options: IpaOptions, workers: Workers) -> Whole | None:
    """The best plan of all; None where not even one replica of each stage fits."""
    everything = list(product(*(list(picks(problem, options)) for problem in problems)))
    able = [taken for taken in everything if fits(problems, taken, [1e-12] * len(problems), workers)]
    if not able:
        return None

    def overrun(taken: Sequence[Sequence[Pick]]) -> float:
        return sum(
            max(latency_s(problem, own, 1.0) / problem.slo_s - 1, 0.0)
            for problem, own in zip(problems, taken, strict=True)
        )

    fastest = min(able, key=overrun)
    limits_s = tuple(
        max(problem.slo_s, latency_s(problem, own, 1.0)) for problem, own in zip(problems, fastest, strict=True)
    )

    def in_time(taken: Sequence[Sequence[Pick]], served: Sequence[float]) -> bool:
        return all(
            latency_s(problem, own, part) <= limit_s * (1 + 1e-9)
            for problem, own, part, limit_s in zip(problems, taken, served, limits_s, strict=True)
        )

    def good(served: Sequence[float]) -> list[Sequence[Sequence[Pick]]]:
        return [taken for taken in able if in_time(taken, served) and fits(problems, taken, served, workers)]

    served = (max(largest(problems, taken, workers, in_time) for taken in able),) * len(problems)
    for number in range(len(problems)):  # whole, where the others lose nothing by it
        whole = (*served[:number], 1.0, *served[number + 1 :])
        served = whole if good(whole) else served
    value = max(
        sum(objective(problem, own, part, options) for problem, own, part in zip(problems, taken, served, strict=True))
        for taken in good(served)
    )
    return Whole(value, served, limits_s)


def largest(problems, taken, workers, in_time) -> float:  # type: ignore[no-untyped-def]
    """The largest part of the loads that one combination bears in time, 0 where none: at 1, or where a count steps."""
    steps = {1.0}
    for problem, own in zip(problems, taken, strict=True):
        for each, (one, rows) in zip(problem.stages, own, strict=True):
            load_qps = problem.load_qps * each.jobs_per_query
            if load_qps and workers.limit(one.device) < inf:
                run = rows_run(each, rows)
                qps = run / one.candidate.latency_s[run]
                steps |= {n * qps / load_qps for n in range(1, int(workers.limit(one.device)) + 1)}
    for served in sorted((part for part in steps if part <= 1.0), reverse=True):
        if fits(problems, taken, [served] * len(problems), workers):
            return served if in_time(taken, [served] * len(problems)) else 0.0
    return 0.0


def picked(problem: PipelineProblem, solution: Solution) -> list[Pick]:
    """What a solution takes of each stage."""
    found = []
    for each in problem.stages:
        (active,) = solution.pipelines[problem.name].stages[each.name]
        (own,) = [o for o in each.options if (o.candidate.variant, o.device) == (active.variant, active.device)]
        found.append((own, active.batch_rows))
    return found


def measured(problem: PipelineProblem, table: Mapping[tuple[str, ...], float]) -> PipelineProblem:
    return replace(problem, measured_accuracy=table)


def broken(cluster: Cluster, observation: Observation, plan: ClusterPlan) -> list[str]:
    """What is wrong with a plan of pipelines, in words, worked out with no code of the planner's."""
    wrong = []
    pools = {pool.device: pool for pool in cluster.pools}
    there = observation.devices
    devices = {}
    for worker in plan.held:
        device, plus, number = worker.rpartition("+")
        devices[worker] = there.get(worker, device)
        if worker not in there and (not plus or not number.isdigit() or pools[device].max_workers is None):
            wrong.append(f"{worker} is not there and cannot come")
    for device, pool in pools.items():
        count = sum(of == device for of in there.values())
        named = sum(of == device for of in devices.values())
        size = plan.pool_sizes[device]
        if pool.max_workers is None and size != count:
            wrong.append(f"pool {device} has {count} workers and not {size}")
        if pool.max_workers is not None and not named == size <= pool.max_workers:
            wrong.append(f"pool {device} names {named} of {size} workers, and may have {pool.max_workers}")
        if named > size:
            wrong.append(f"pool {device} names {named} of {size} workers")
    for worker, variants in plan.held.items():
        if sum(cluster.memory_bytes.get(each, 0) for each in variants) > pools[devices[worker]].memory_bytes:
            wrong.append(f"{worker} has no room for {sorted(variants)}")
    if plan.own_balancing != {each.name for each in cluster.endpoints} or plan.shares:
        wrong.append("an endpoint does not balance itself")
    for each in cluster.endpoints:
        demand_qps = observation.demand_qps.get(each.name, 0.0)
        choices = plan.stages[each.name]
        served_qps, capacity_qps = plan.served_qps[each.name], plan.capacity_qps[each.name]
        if plan.demand_qps[each.name] != demand_qps or not served_qps <= demand_qps:
            wrong.append(f"{each.name}: {served_qps} of {plan.demand_qps[each.name]} served, {demand_qps} asked for")
        if served_qps > capacity_qps * (1 + 1e-5):
            wrong.append(f"{each.name}: {served_qps} served, and room for {capacity_qps}")
        for name, own in [(s.name, s.candidates) for s in each.stages] or [("", each.candidates)]:
            needs = {c.variant: frozenset(c.needs) for device in own for c in own[device]}
            if name not in choices:
                words = ("No worker has memory", "has no worker that can run it", f"{each.name} is left out")
                if not any(part in line for line in plan.report.explanation for part in words):
                    wrong.append(f"{each.name}, {name} is held by nobody, and nobody says so")
                continue
            (variant,) = choices[name].variants
            holding = sum(needs[variant] <= variants for variants in plan.held.values())
            if not 0 < choices[name].workers <= holding:
                wrong.append(f"{each.name}, {name}: {choices[name].workers} workers, {holding} hold {variant}")
    return wrong
