"""Cluster plans as JSON values, for what outlives the process or is shown outside it."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from autoscaler.cluster.plan import ClusterPlan, SolveReport, StageChoice, Status


def to_record(plan: ClusterPlan) -> dict[str, Any]:
    """The plan field by field, sets as sorted lists; rates in queries per second, accuracies and shares from 0 to 1."""
    report = plan.report
    return {
        "held": {worker: sorted(variants) for worker, variants in plan.held.items()},
        "shares": {endpoint: dict(shares) for endpoint, shares in plan.shares.items()},
        "demand_qps": dict(plan.demand_qps),
        "served_qps": dict(plan.served_qps),
        "capacity_qps": dict(plan.capacity_qps),
        "accuracy": dict(plan.accuracy),
        "pool_sizes": dict(plan.pool_sizes),
        "spare": sorted(plan.spare),
        "own_balancing": sorted(plan.own_balancing),
        "stages": {
            endpoint: {stage: asdict(choice) for stage, choice in stages.items()}
            for endpoint, stages in plan.stages.items()
        },
        "slowdowns": {worker: dict(slowdowns) for worker, slowdowns in plan.slowdowns.items()},
        "fallback": {worker: list(variants) for worker, variants in plan.fallback.items()},
        "burst_qps": dict(plan.burst_qps),
        "report": {
            "status": report.status.value,
            "gap": report.gap,
            "solve_s": report.solve_s,
            "explanation": list(report.explanation),
        },
    }


def from_record(record: Mapping[str, Any]) -> ClusterPlan:
    """The plan that `to_record` was given. Raises KeyError or ValueError where the record is of something else."""
    report = record["report"]
    return ClusterPlan(
        held={worker: frozenset(variants) for worker, variants in record["held"].items()},
        shares=record["shares"],
        demand_qps=record["demand_qps"],
        served_qps=record["served_qps"],
        capacity_qps=record["capacity_qps"] if "capacity_qps" in record else record["room_qps"],
        accuracy=record["accuracy"],
        pool_sizes=record["pool_sizes"],
        spare=frozenset(record.get("spare", ())),
        own_balancing=frozenset(record.get("own_balancing", ())),
        stages={
            endpoint: {stage: StageChoice(**choice) for stage, choice in stages.items()}
            for endpoint, stages in record.get("stages", {}).items()
        },
        slowdowns=record.get("slowdowns", {}),
        fallback={worker: tuple(variants) for worker, variants in record.get("fallback", {}).items()},
        burst_qps=record.get("burst_qps", {}),
        report=SolveReport(Status(report["status"]), report["gap"], report["solve_s"], tuple(report["explanation"])),
    )
