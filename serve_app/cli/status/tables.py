"""An answer of ``GET /accord/status`` as tables of at most 80 columns; a field that is missing shows as a dash."""

from collections.abc import Iterable
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from deployments.router.tables.progress import TableState
from dispatch.flow.ensemble import EnsembleFlow
from dispatch.latency.worker_latency import TAIL
from dispatch.promise.guarantee import Kept
from dispatch.selection.ramsis.policy import RamsisSelection
from serve_app.cli.cells import cell, marked, origin, percent
from serve_app.cli.status.faults import render_faults
from serve_app.cli.status.live_accuracy import render_live_accuracy
from serve_app.cli.status.slowdowns import render_slowdowns
from serve_app.cli.status.stages import render_stages

COUNTS = ("arrived", "answered", "violations", "rejected", "failed", "cancelled")
QUANTILES = ("p50", "p95", "p99")
EMULATED = "* emulated: no model runs"

DECIDES = {
    TableState.NONE: "greedy until tables are made",
    TableState.APPROXIMATE: "tables, approximate",
    TableState.EXACT: "tables, exact",
}

NODE_CHARS = 12
"""Of Ray's 56 for a node: enough to tell nodes apart, and to find one in `ray list nodes`."""

STYLES: dict[str, str] = {Kept.YES: "green", Kept.NO: "red"}


def render_status(body: dict[str, Any]) -> RenderableType:
    """What the server is doing, endpoint by endpoint and worker by worker."""
    endpoints, workers = body.get("endpoints", {}), body.get("workers", {})
    return Group(
        Text(f"Accord {body.get('version', '')}", style="bold"),
        _endpoints(endpoints),
        _queries(endpoints),
        *_refusals(endpoints),
        _promises(endpoints),
        _decisions(endpoints),
        *_held_back(endpoints),
        _variants(endpoints),
        *render_stages(endpoints),
        *_ground_truth(endpoints),
        *render_live_accuracy(endpoints),
        _workers(workers),
        _latency(workers),
        *render_slowdowns(workers),
        *render_faults(body.get("worker_events", {}), body.get("controller", {})),
    )


def _by_endpoint(title: str, *headings: str) -> Table:
    """An empty table that names endpoints in full, however long their names are."""
    return Table(Column("endpoint", overflow="fold"), *headings, title=title, title_justify="left")


def _endpoints(endpoints: dict[str, Any]) -> Table:
    table = _by_endpoint("Endpoints")
    for heading in ("objective", "load/s", "queued", *(f"{name} ms" for name in QUANTILES)):
        table.add_column(heading, justify="right")
    for name, endpoint in endpoints.items():
        quantiles = endpoint.get("latency_ms") or {}
        table.add_row(
            Text(name),
            f"{endpoint['slo_ms']:g} ms" if endpoint.get("slo_ms") is not None else "-",
            cell(endpoint.get("anticipated_qps")),
            cell(endpoint.get("queued")),
            *(cell(quantiles.get(quantile)) for quantile in QUANTILES),
        )
    seconds = _seconds(endpoint.get("window_s") for endpoint in endpoints.values())
    table.caption = f"latencies over the last {seconds}" if seconds else None
    return table


def _queries(endpoints: dict[str, Any]) -> Table:
    """A table of its own, since all columns of an endpoint do not fit 80 characters."""
    table = _by_endpoint("Queries")
    for heading in COUNTS:
        table.add_column(heading, justify="right")
    for name, endpoint in endpoints.items():
        table.add_row(Text(name), *(cell(endpoint.get(count)) for count in COUNTS))
    return table


def _refusals(endpoints: dict[str, Any]) -> list[Table]:
    """Why queries were refused; nothing where none was."""
    known = {name: endpoint.get("rejected_by_code") or {} for name, endpoint in endpoints.items()}
    if not any(known.values()):
        return []
    table = _by_endpoint("Refusals", "reason")
    table.add_column("queries", justify="right")
    for name, codes in known.items():
        for code, count in sorted(codes.items(), key=lambda each: -each[1]):
            table.add_row(Text(name), Text(code), cell(count))
    return [table]


def _promises(endpoints: dict[str, Any]) -> Table:
    """Promise beside truth: two rows per endpoint."""
    table = _by_endpoint("Promises", "kept", "")
    for heading in ("promised", "observed", "clients", "to come"):
        table.add_column(heading, justify="right")
    for name, endpoint in endpoints.items():
        seen = endpoint.get("guarantee") or {}
        kept = str(seen.get("kept", "-"))
        rates = (f"{whose}_violation_rate" for whose in ("observed", "client"))
        table.add_row(
            Text(name),
            Text("NO" if kept == Kept.NO else kept, style=STYLES.get(kept, "")),
            "violations",
            _bound("<=", seen.get("promised_violation_rate")),
            *(percent(seen.get(rate), digits=2) for rate in rates),
            _bound("<=", seen.get("predicted_violation_rate")),
        )
        accuracy = percent(seen.get("observed_accuracy"), digits=2)
        bounds = (_bound(">=", seen.get(f"{whose}_accuracy")) for whose in ("expected", "predicted"))
        table.add_row("", "", "accuracy", next(bounds), accuracy, "", next(bounds))
    seconds = _seconds((endpoint.get("guarantee") or {}).get("window_s") for endpoint in endpoints.values())
    table.caption = (
        f"over the last {seconds}, and 95% bounds for the next; what clients see is estimated" if seconds else None
    )
    return table


def _bound(sign: str, ratio: float | None) -> str:
    return "-" if ratio is None else f"{sign} {percent(ratio, digits=2)}"


def _decisions(endpoints: dict[str, Any]) -> Table:
    """Who decides at the moment, and which share of the slack it may spend."""
    table = _by_endpoint("Decisions", "selection", "decides now")
    for heading in ("tables", "slack"):
        table.add_column(heading, justify="right")
    for name, endpoint in endpoints.items():
        selection, tables = endpoint.get("selection"), endpoint.get("tables") or {}
        decides, made = cell(selection), "-"
        if selection == RamsisSelection.name and "state" in tables:
            decides, made = DECIDES[TableState(tables["state"])], f"{tables['made']} of {tables['wanted']}"
            if (rows := tables.get("query_rows", 1)) > 1:
                made = f"{made}, {rows} rows a query"
        factor = (endpoint.get("feedback") or {}).get("slack_factor")
        allowed = Text(percent(factor, digits=0), style="yellow" if factor is not None and factor < 1.0 else "")
        table.add_row(Text(name), Text(cell(selection)), Text(decides), made, allowed)
    return table


def _held_back(endpoints: dict[str, Any]) -> list[Text]:
    """Why policies may not spend all of the slack, endpoint by endpoint."""
    feedback = {name: endpoint.get("feedback") or {} for name, endpoint in endpoints.items()}
    return [
        Text(
            f"{name} may spend {percent(each['slack_factor'], digits=0)} of its slack: {each['reason']}", style="yellow"
        )
        for name, each in feedback.items()
        if each.get("slack_factor", 1.0) < 1.0 and each.get("reason")
    ]


def _variants(endpoints: dict[str, Any]) -> Table:
    table = _by_endpoint("Variants", "variant")
    shown = [seen for endpoint in endpoints.values() for seen in endpoint.get("variants", {}).values()]
    table.caption = EMULATED if any(seen.get("emulated") for seen in shown) else None
    for heading in ("queries", "share", "accuracy"):
        table.add_column(heading, justify="right")
    table.add_column("source")
    for name, endpoint in endpoints.items():
        of_stages = bool(endpoint.get("stages"))
        for variant, seen in () if of_stages else endpoint.get("variants", {}).items():
            shares = (percent(seen.get("share")), percent(seen.get("expected_accuracy")))
            shown_as = Text(marked(variant, seen.get("emulated")))
            table.add_row(Text(name), shown_as, cell(seen.get("queries")), *shares, Text(origin(seen)))
    return table


def _ground_truth(endpoints: dict[str, Any]) -> list[Table]:
    """What labels say of answers and of who gave them; nothing where no label came."""
    known = {name: endpoint.get("ground_truth") or {} for name, endpoint in endpoints.items()}
    told = {name: truth for name, truth in known.items() if truth.get("labelled")}
    if not told:
        return []
    table = _by_endpoint("Ground truth", "member")
    for heading in ("labelled", "accuracy", "agreement *"):
        table.add_column(heading, justify="right")
    table.caption = "* with the answers, which needs no label: a proxy for accuracy"
    for name, truth in told.items():
        table.add_row(Text(name), "answers", cell(truth["labelled"]), _share(truth, "right", "labelled"), "-")
        voted = endpoints[name].get("selection") == EnsembleFlow.name  # else every answer is its variant's own
        for member, seen in truth.get("members", {}).items():
            agreement = _share(seen, "agreed", "answered") if voted else "-"
            accuracy = _share(seen, "right", "labelled")
            table.add_row(Text(name), Text(member), cell(seen.get("labelled")), accuracy, agreement)
    return [table]


def _share(counts: dict[str, Any], part: str, whole: str) -> str:
    return percent(counts[part] / counts[whole]) if counts.get(whole) and part in counts else "-"


def _workers(workers: dict[str, Any]) -> Table:
    table = Table(
        "worker", "pool", "device", "state", "queued", "loaded", "failed", title="Workers", title_justify="left"
    )
    table.caption = EMULATED if any(worker.get("emulated") for worker in workers.values()) else None
    for name, worker in workers.items():
        failed = "\n".join(f"{variant}: {reason}" for variant, reason in worker.get("failed", {}).items())
        cells = (cell(worker.get(field)) for field in ("pool", "device", "state", "queued"))
        emulated = worker.get("emulated", [])
        loaded = "\n".join(marked(variant, variant in emulated) for variant in worker.get("loaded", []))
        table.add_row(Text(name), *map(Text, cells), Text(loaded), Text(failed, style="red"))
    return table


def _latency(workers: dict[str, Any]) -> Table:
    """What batches take on each worker: runs against their profiles, and the way there and back; and Ray's nodes."""
    nodes = {worker.get("node") for worker in workers.values()}
    table = Table("worker", *(["node"] if len(nodes) > 1 else []), title="Latency", title_justify="left")
    for heading in ("runs / profile", "path ms, mean", f"path ms, p{100 * TAIL:.0f}"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for name, worker in workers.items():
        known = worker.get("latency") or {}
        factor = known.get("run_factor")
        slow = Text("slow", style="yellow") if known.get("slow") else Text("")
        path = (cell(known.get(key)) for key in ("path_ms", "path_tail_ms"))
        where = [cell(worker.get("node"))[:NODE_CHARS]] if len(nodes) > 1 else []
        table.add_row(Text(name), *map(Text, where), "-" if factor is None else f"{factor:.2f}", *path, slow)
    return table


def _seconds(windows_s: Iterable[float | None]) -> str:
    """Lengths of windows in words; empty where none is known."""
    known = sorted({window_s for window_s in windows_s if window_s})
    return f"{', '.join(f'{window_s:g}' for window_s in known)} s" if known else ""
