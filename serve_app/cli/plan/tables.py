"""A cluster plan, and what became of it, as people read it."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from autoscaler.cluster.plan import ClusterPlan
from autoscaler.cluster.plan_difference import PlanDifference
from autoscaler.cluster.plan_record import from_record
from autoscaler.planners.registry import PLANNERS
from serve_app.cli.cells import cell, percent
from serve_app.cli.plan.accuracies import render_accuracies
from serve_app.cli.plan.neighbours import render_corrections, render_neighbours
from serve_app.cli.plan.stages import render_stages

SLOW = 1.25
"""A worker that takes so many times as long as its pool as a whole is named."""


def render_plan(body: Mapping[str, Any]) -> RenderableType:
    """Tables for an answer of ``/accord/plan``; a field that is missing shows as a dash."""
    decision = body.get("decision")
    plan = from_record(decision["plan"]) if decision and decision.get("plan") else None
    parts: list[RenderableType] = []
    if decision is None or plan is None:
        parts.append(Text("No plan is in force yet.", style="bold"))
    else:
        parts += [Text(f"Plan {decision['version']} of {body.get('planner')}, in force", style="bold")]
        parts += _origin(decision, plan)
    if body.get("under_way"):
        parts += _section("Under way", _under_way(body["under_way"]))
    if decision is not None and plan is not None:
        parts += [_endpoints(plan, body.get("slo_ms", {})), *render_stages(plan, body.get("slo_ms", {}))]
        parts.append(_workers(plan, decision.get("workers", {})))
        parts += render_neighbours(decision)
    parts.append(_pools(body.get("pools", {})))
    parts += render_accuracies(body.get("accuracies", {}))
    parts += _forecasts(body.get("forecast", {}))
    parts += _section("What limits it", () if plan is None else plan.report.explanation)
    parts += _corrections(body.get("corrections", []), body.get("transport_ms", {}))
    parts += render_corrections(body.get("interference"))
    parts += _troubles(decision or {}, body.get("unloadable", []))
    if body.get("refused_config"):
        parts.append(Text(f"The deployed user_config changes nothing: {body['refused_config']}", style="red"))
    return Group(*parts)


def render_simulation(would: ClusterPlan, changed: PlanDifference | None, body: Mapping[str, Any]) -> RenderableType:
    """The plan that other loads would get. ``body`` is an answer of ``/accord/plan``."""
    pools = {
        name: {**pool, "wanted": would.pool_sizes.get(name, pool.get("workers"))}
        for name, pool in body.get("pools", {}).items()
    }
    workers = (body.get("decision") or {}).get("workers", {})
    return Group(
        Text(f"What {body.get('planner')} would plan for these loads; nothing is changed", style="bold"),
        *([Text(_for_no_load(body.get("planner")), style="yellow")] if would.for_no_load else []),
        Text(_solved(would)),
        _endpoints(would, body.get("slo_ms", {})),
        *render_stages(would, body.get("slo_ms", {})),
        _workers(would, workers),
        _pools(pools),
        *_section("What limits it", would.report.explanation),
        *(() if changed is None else _section("From the plan in force to this one", _lines(changed))),
    )


def _for_no_load(planner: str | None) -> str:
    able = ", ".join(kind.name for kind in PLANNERS.values() if kind.by_load)
    return (
        f"Planner {planner} plans for no load: its plan is the same for every one, and does not say what of it is "
        f"served. Planners that go by the load: {able} (controller.planner)"
    )


def render_difference(before: Mapping[str, Any], after: Mapping[str, Any], changed: PlanDifference) -> RenderableType:
    """What changed from one decision's plan to another's."""
    asked = (
        f"{each['version']}, asked for {_instant(each.get('asked_at'))}: {each['reason']}" for each in (before, after)
    )
    return Group(
        Text(f"From plan {before['version']} to plan {after['version']}", style="bold"),
        _bullets(f"Plan {line}" for line in asked),
        *_section("Changes", _lines(changed)),
    )


def _lines(changed: PlanDifference) -> Iterable[str]:
    return changed.lines() or ("Nothing differs.",)


def _origin(decision: Mapping[str, Any], plan: ClusterPlan) -> list[RenderableType]:
    """Why the plan was made, when, and how long it took."""
    took_s = decision.get("in_force_s")
    then = "not in force yet" if took_s is None else f"in force on all workers {took_s:.2f} s later"
    return [
        Text(f"Made because: {decision.get('reason', '-')}"),
        Text(f"Asked for {_instant(decision.get('asked_at'))}, {then}"),
        Text(_solved(plan)),
    ]


def _solved(plan: ClusterPlan) -> str:
    report = plan.report
    gap = "" if report.gap is None else f", gap {percent(report.gap, 2)}"
    return f"Solved in {report.solve_s:.2f} s: {report.status.value}{gap}"


def _instant(iso: str | None) -> str:
    """An ISO instant in the time of this machine."""
    return "-" if iso is None else f"{datetime.fromisoformat(iso).astimezone():%Y-%m-%d %H:%M:%S}"


def _endpoints(plan: ClusterPlan, slo_ms: Mapping[str, float]) -> Table:
    table = Table("endpoint", title="Endpoints", title_justify="left")
    headings = ["objective", "demand/s", "served/s", "capacity/s", "shed", "accuracy"]
    bursts = bool(plan.fallback and plan.burst_qps)
    if bursts:
        headings.insert(4, "in bursts")
    for heading in headings:
        table.add_column(heading, justify="right")
    for name, demand_qps in plan.demand_qps.items():
        served_qps = None if plan.for_no_load else plan.served_qps.get(name, 0.0)
        table.add_row(
            Text(name),
            f"{slo_ms[name]:g} ms" if name in slo_ms else "-",
            cell(demand_qps),
            cell(served_qps),
            cell(plan.capacity_qps.get(name)),
            *((cell(plan.burst_qps.get(name)),) if bursts else ()),
            percent(1 - served_qps / demand_qps if demand_qps and served_qps is not None else None),
            percent(plan.accuracy.get(name), 2),
        )
    if len(plan.demand_qps) > 1:
        summed = [plan.demand_qps, plan.served_qps, plan.capacity_qps, *((plan.burst_qps,) if bursts else ())]
        sums = (None if plan.for_no_load and not qps else float(sum(qps.values())) for qps in summed)
        known = all(name in plan.accuracy for name, qps in plan.served_qps.items() if qps)
        accuracy = percent(plan.effective_accuracy if known else None, 2)
        table.add_section()
        shed = percent(None if plan.for_no_load else plan.shed)
        table.add_row("all", "", *(cell(qps) for qps in sums), shed, accuracy)
    return table


def _workers(plan: ClusterPlan, workers: Mapping[str, Mapping[str, Any]]) -> Table:
    """Workers by pool. Those that the plan has beyond ``workers`` are to come; their names tell the pool."""
    table = Table("worker", "pool", "router", "holds", "share of", title="Workers", title_justify="left")
    to_come = {
        name: {"pool": name.rpartition("+")[0], "router": "to come"} for name in plan.held if name not in workers
    }
    known = {**workers, **to_come}
    for name in sorted(known, key=lambda name: (str(known[name].get("pool")), name in to_come, name)):
        shares = (f"{endpoint} {percent(own[name])}" for endpoint, own in plan.shares.items() if own.get(name))
        table.add_row(
            Text(name),
            Text(cell(known[name].get("pool"))),
            Text(cell(known[name].get("router"))),
            Text(
                "\n".join([*sorted(plan.held.get(name, ())), *(f"or {v}" for v in plan.fallback.get(name, ()))]) or "-"
            ),
            Text("\n".join(shares) or "-"),
        )
    return table


def _pools(pools: Mapping[str, Mapping[str, Any]]) -> Table:
    table = Table("pool", "device", title="Pools", title_justify="left")
    for heading in ("workers", "planned", "may be", "price/h", "cost/h"):
        table.add_column(heading, justify="right")
    costs = []
    for name, pool in pools.items():
        price, wanted = pool.get("price_per_h"), pool.get("wanted")
        cost = None if price is None or wanted is None else price * wanted
        costs.append(cost or 0.0)
        bounds = (pool.get("least"), pool.get("most"))
        table.add_row(
            Text(name),
            Text(cell(pool.get("device"))),
            cell(pool.get("workers")),
            cell(wanted),
            "-" if None in bounds else f"{bounds[0]} to {bounds[1]}",
            "-" if price is None else f"{price:g}",
            "-" if cost is None else f"{cost:g}",
        )
    table.caption = f"{sum(costs):g} an hour in all" if any(costs) else None
    return table


def _forecasts(forecasts: Mapping[str, Mapping[str, Any]]) -> list[RenderableType]:
    """Who forecasts the load of which endpoint, why nobody does, and how the last trainings ended."""
    if not forecasts:
        return []
    table = Table("endpoint", "forecast by", title="Forecasts", title_justify="left")
    for heading in ("ahead", "quantile", "load/s"):
        table.add_column(heading, justify="right")
    table.add_column("trained until")
    lines = []
    for name, each in forecasts.items():
        ahead, quantile = f"{each['horizon_s']} s", f"{each['quantile']:g}"
        until = _instant(each["trained_until"])
        table.add_row(Text(name), Text(each["model"]), ahead, quantile, cell(each["forecast_qps"]), until)
        if each["why"]:
            lines.append(f"{name}: {each['why']}")
        if (training := each["training"]) is not None:
            lines.append(f"{name}, last training ({_instant(training['at'])}, {training['model']}): {training['why']}")
    return [table, *([_bullets(lines)] if lines else [])]


def _under_way(decision: Mapping[str, Any]) -> list[str]:
    asked = f"asked for {_instant(decision.get('asked_at'))}"
    lines = [f"Plan {decision['version']} is {decision['state']}, {asked}: {decision.get('reason', '-')}"]
    loading = decision.get("loading", {})
    return lines + [f"{worker} loads {', '.join(loading[worker])}" for worker in sorted(loading)]


def _corrections(corrections: Iterable[Mapping[str, Any]], transport_ms: Mapping[str, float]) -> list[RenderableType]:
    """How far workers are from their profiles, and the way there; nothing where nothing is known."""
    parts: list[RenderableType] = []
    rows = sorted(corrections, key=lambda each: (each["pool"], each["variant"]))
    if rows:
        table = Table("pool", "variant", title="Latencies corrected by what was measured", title_justify="left")
        for heading in ("times the profile", "batches"):
            table.add_column(heading, justify="right")
        for each in rows:
            table.add_row(Text(each["pool"]), Text(each["variant"]), f"{each['factor']:.2f}", f"{each['batches']:.0f}")
        parts.append(table)
        if apart := [line for each in rows for line in _apart(each)]:
            parts.append(_bullets(apart))
    if transport_ms:
        transports = ", ".join(f"{pool} {ms:.1f} ms" for pool, ms in transport_ms.items())
        parts.append(Text(f"Beside its run a batch is reckoned to take: {transports}"))
    return parts


def _apart(correction: Mapping[str, Any]) -> list[str]:
    """The workers that are much slower with a variant than their pool as a whole."""
    workers = correction.get("workers", {})
    if len(workers) < 2:
        return []
    return [
        f"Worker {worker} takes {factor:.2f} times the profile of {correction['variant']}, its pool "
        f"{correction['factor']:.2f}"
        for worker, factor in workers.items()
        if factor >= SLOW * correction["factor"]
    ]


def _troubles(decision: Mapping[str, Any], unloadable: Iterable[Mapping[str, Any]]) -> list[RenderableType]:
    """Variants that workers failed to load, and those that are not planned with for a while because of that."""
    table = Table("where", "variant", "reason", "left out until", title="Could not be loaded", title_justify="left")
    for worker, reasons in decision.get("failed", {}).items():
        for variant, reason in reasons.items():
            table.add_row(Text(worker), Text(variant), Text(reason, style="red"), "-")
    for each in unloadable:
        until = _instant(each.get("until"))
        where = f"pool {each['pool']}" if "pool" in each else each["worker"]
        table.add_row(Text(where), Text(each["variant"]), Text(each["reason"], style="red"), until)
    return [table] if table.rows else []


def _section(title: str, lines: Iterable[str]) -> list[RenderableType]:
    """A title above points; nothing without points."""
    points = _bullets(lines)
    return [Text(title, style="italic"), points] if points.rows else []


def _bullets(lines: Iterable[str]) -> Table:
    grid = Table.grid(padding=(0, 1))
    for line in lines:
        grid.add_row("-", Text(line))
    return grid
