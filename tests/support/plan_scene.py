"""What a controller tells of its plans: decisions 6 and 7 over two pools, of which 7 is in force."""

from typing import Any

from autoscaler.cluster.plan import ClusterPlan, SolveReport, Status
from autoscaler.cluster.plan_record import to_record

WORKERS = {
    "k3j2h1g0": {"pool": "cpu", "device": "cpu", "router": "r0r0r0r0"},
    "x9y8z7w6": {"pool": "cpu", "device": "cpu", "router": "r0r0r0r0"},
    "a1b2c3d4": {"pool": "gpu", "device": "cuda", "router": None},
}


def plan_of(version: int) -> ClusterPlan:
    """The plans differ in what the first worker of ``cpu`` holds and in their loads; 8 has a worker to come."""
    first = {6: "digits-mlp", 7: "digits-cnn-s", 8: "digits-cnn-s"}[version]
    held = {
        "k3j2h1g0": frozenset((first,)),
        "x9y8z7w6": frozenset(("digits-cnn-s", "plates-tiny")),
        "a1b2c3d4": frozenset(("digits-cnn-l",)),
    }
    if version == 8:
        held["cpu+1"] = frozenset(("digits-cnn-s",))
    load = {6: 120.0, 7: 240.5, 8: 400.0}[version]
    return ClusterPlan(
        held=held,
        shares={"digits": {"k3j2h1g0": 0.25, "x9y8z7w6": 0.15, "a1b2c3d4": 0.6}, "plates": {"x9y8z7w6": 0.8}},
        demand_qps={"digits": load, "plates": 20.0},
        served_qps={"digits": load, "plates": 16.0},
        capacity_qps={"digits": load * 1.5, "plates": 16.0},
        accuracy={"digits": 0.9125, "plates": 0.8},
        pool_sizes={"cpu": 3 if version == 8 else 2, "gpu": 1},
        report=SolveReport(
            Status.OPTIMAL,
            0.0005,
            0.21,
            (
                "1.5% of 260 queries/s are shed, no plan sheds less than 1.5%: plates 20.0%.",
                "cpu: all 2 workers are needed; one more would bring about 1.2 points more of the demand served.",
            ),
        ),
    )


def decision(version: int, **changes: Any) -> dict[str, Any]:
    """A decision that came into force; the newest is still in it."""
    return {
        "version": version,
        "asked_at": f"2026-03-01T12:0{version}:00+00:00",
        "reason": "load of digits is above what the plan has room for",
        "state": "in force" if version == 7 else "replaced",
        "in_force_at": f"2026-03-01T12:0{version}:03+00:00",
        "in_force_s": 3.25,
        "solve_s": 0.21,
        "demand_qps": {"digits": 240.5, "plates": 20.0},
        "workers": WORKERS,
        "loading": {},
        "failed": {"a1b2c3d4": {"digits-vit": "out of memory"}} if version == 7 else {},
        "plan": to_record(plan_of(version)),
    } | changes


def body() -> dict[str, Any]:
    """An answer of ``/accord/plan``."""
    price = {"least": 1, "most": 4, "price_per_h": 0.35}
    return {
        "version": 7,
        "planner": "proteus",
        "decision": decision(7),
        "under_way": None,
        "pools": {
            "cpu": {"device": "cpu", "workers": 2, "wanted": 2} | price,
            "gpu": {"device": "cuda", "workers": 1, "wanted": 1, "least": 1, "most": 1, "price_per_h": 2.5},
        },
        "corrections": [{"pool": "cpu", "variant": "digits-cnn-s", "factor": 1.234, "batches": 812.4}],
        "transport_ms": {"cpu": 3.14, "gpu": 4.0},
        "slo_ms": {"digits": 100, "plates": 250.0},
        "unloadable": [
            {"pool": "gpu", "variant": "digits-vit", "reason": "out of memory", "until": "2026-03-01T12:15:00+00:00"},
            {"worker": "w2", "variant": "digits-mlp", "reason": "a checksum", "until": "2026-03-01T12:16:00+00:00"},
        ],
    }
