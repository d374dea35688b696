"""The plan in force as metrics of Ray, which exports them to Prometheus with the prefix ``ray_``."""

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

from ray.serve import metrics

from autoscaler.planners.registry import planner_kind
from deployments.metrics.exporting import keep_exporting

EXPORT_EVERY_S = 5.0
"""The view of a plan for a thousand workers takes some milliseconds."""

OF_PLAN = {
    "accord_plan_version": "Number of the plan in force; a new one is one more, or more where some were given up.",
    "accord_plan_solve_seconds": "How long the planner took over the plan in force.",
    "accord_plan_under_way": "1 while another plan is asked for or variants load for it, else 0.",
    "accord_unloadable_variants": "Variants that a pool could not load and that plans do without for now.",
}

OF_ENDPOINTS = {
    "accord_planned_load_qps": ("demand_qps", "Rows per second that the plan in force was made for."),
    "accord_planned_capacity_qps": ("capacity_qps", "Rows per second that it bears without shedding more."),
    "accord_planned_accuracy_ratio": ("accuracy", "Mean accuracy that it reckons with."),
}
"""By name the field of `autoscaler.cluster.plan_record`, and what it says; of planners that go by the load."""

OF_POOLS = {
    "accord_pool_workers": ("workers", "Workers that are there, whatever router has them."),
    "accord_pool_workers_wanted": ("wanted", "Workers that the plan in force wants."),
}


class PlanMetrics:
    """Gauges by endpoint and by pool; needs a Serve replica around it.

    ``view`` gives what `deployments.controller.plan_views.plan_view` does. A gauge that has nothing to tell is not
    set: Ray ends it two of its reports later, until it is set again.
    """

    def __init__(self, view: Callable[[], Mapping[str, Any]]) -> None:
        self._view = view
        self._gauges = {name: metrics.Gauge(name, text, ()) for name, text in OF_PLAN.items()}
        self._gauges |= {name: metrics.Gauge(name, text, ("endpoint",)) for name, (_, text) in OF_ENDPOINTS.items()}
        self._gauges |= {name: metrics.Gauge(name, text, ("pool",)) for name, (_, text) in OF_POOLS.items()}

    async def run(self) -> None:
        """Export until cancelled."""
        await keep_exporting(self.export, "The plan", EXPORT_EVERY_S)

    def export(self) -> None:
        """Set the gauges."""
        view = self._view()
        decision = view["decision"] or {}
        self._set("accord_plan_version", view["version"])
        self._set("accord_plan_solve_seconds", decision.get("solve_s"))
        self._set("accord_plan_under_way", float(view["under_way"] is not None))
        self._set("accord_unloadable_variants", len(view["unloadable"]))
        plan = (decision.get("plan") or {}) if planner_kind(view["planner"]).by_load else {}
        for name, (key, _) in OF_ENDPOINTS.items():
            for endpoint, value in plan.get(key, {}).items():
                self._set(name, value, endpoint=endpoint)
        for name, (key, _) in OF_POOLS.items():
            for pool, known in view["pools"].items():
                self._set(name, known[key], pool=pool)

    def _set(self, name: str, value: float | None, **tags: str) -> None:
        if value is not None and isfinite(value):
            self._gauges[name].set(value, tags)
