"""``accord status``: what the server is doing."""

import asyncio
import time
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from catalog.errors import ConfigError
from serve_app.cli.call import get_object
from serve_app.cli.cells import cell, marked, percent
from serve_app.cli.console import OUT, exit_codes, print_json
from serve_app.cli.options import DEFAULT_URL, AsJson, TimeoutS, Url
from serve_app.loadgen.endpoint import base_url

COUNTS = ("arrived", "answered", "violations", "rejected", "failed")
QUANTILES = ("p50", "p95", "p99")
EMULATED = "* emulated: no model runs"


def status(
    url: Url = DEFAULT_URL,
    watch: Annotated[float | None, typer.Option(min=0.1, help="Refresh every so many seconds until Ctrl-C.")] = None,
    timeout_s: TimeoutS = 5.0,
    as_json: AsJson = False,
) -> None:
    """Show endpoints, the variants that answer them, and workers."""
    with exit_codes(as_json):
        if watch is not None and as_json:
            raise ConfigError("--watch with --json, which prints a single object; leave one of them out")
        body = _fetch(url, timeout_s)
        if as_json:
            print_json(body)
        elif watch is None:
            OUT.print(render_status(body))
        else:
            _watch(url, timeout_s, watch, body)


def _fetch(url: str, timeout_s: float) -> dict[str, Any]:
    server_url = base_url(url)
    return asyncio.run(get_object(f"{server_url}/accord/status", server_url, timeout_s))


def _watch(url: str, timeout_s: float, every_s: float, body: dict[str, Any]) -> None:
    try:
        with Live(render_status(body), console=OUT, auto_refresh=False) as live:
            while True:
                time.sleep(every_s)
                live.update(render_status(_fetch(url, timeout_s)), refresh=True)
    except KeyboardInterrupt:
        return


def render_status(body: dict[str, Any]) -> RenderableType:
    """Tables for an answer of ``/accord/status``; a field that is missing shows as a dash."""
    endpoints, workers = body.get("endpoints", {}), body.get("workers", {})
    title = Text(f"Accord {body.get('version', '')}", style="bold")
    return Group(
        title,
        _endpoints(endpoints),
        _queries(endpoints),
        _guarantees(endpoints),
        _variants(endpoints),
        _workers(workers),
    )


def _endpoints(endpoints: dict[str, Any]) -> Table:
    table = Table("endpoint", "objective", "selection", title="Endpoints", title_justify="left")
    for heading in ("queued", *(f"{name} ms" for name in QUANTILES)):
        table.add_column(heading, justify="right")
    for name, endpoint in endpoints.items():
        quantiles = endpoint.get("latency_ms") or {}
        table.add_row(
            Text(name),
            f"{endpoint['slo_ms']:g} ms" if endpoint.get("slo_ms") is not None else "-",
            Text(cell(endpoint.get("selection"))),
            cell(endpoint.get("queued")),
            *(cell(quantiles.get(quantile)) for quantile in QUANTILES),
        )
    windows_s = {endpoint["window_s"] for endpoint in endpoints.values() if endpoint.get("window_s")}
    table.caption = f"latencies over the last {', '.join(f'{s:g}' for s in sorted(windows_s))} s" if windows_s else None
    return table


def _queries(endpoints: dict[str, Any]) -> Table:
    """A table of its own, since all columns of an endpoint do not fit 80 characters."""
    table = Table("endpoint", title="Queries", title_justify="left")
    for heading in COUNTS:
        table.add_column(heading, justify="right")
    for name, endpoint in endpoints.items():
        table.add_row(Text(name), *(cell(endpoint.get(count)) for count in COUNTS))
    return table


def _guarantees(endpoints: dict[str, Any]) -> Table:
    """Bounds of the decision tables in force beside what happened."""
    table = Table("endpoint", title="Guarantees over the last minute", title_justify="left")
    for heading in ("load/s", "accuracy, at least", "observed", "violations, at most", "observed", "kept"):
        table.add_column(heading, justify="right")
    for name, endpoint in endpoints.items():
        seen = endpoint.get("guarantee") or {}
        accuracy, violations = (
            [percent(seen.get(f"{whose}_{what}"), digits=2) for whose in ("expected", "observed")]
            for what in ("accuracy", "violation_rate")
        )
        promised = seen.get("expected_violation_rate") is not None
        kept = Text("NO", style="red") if seen.get("broken") else Text("yes" if promised else "-")
        table.add_row(Text(name), cell(endpoint.get("anticipated_qps")), *accuracy, *violations, kept)
    return table


def _variants(endpoints: dict[str, Any]) -> Table:
    table = Table("endpoint", "variant", title="Variants", title_justify="left")
    shown = [seen for endpoint in endpoints.values() for seen in endpoint.get("variants", {}).values()]
    table.caption = EMULATED if any(seen.get("emulated") for seen in shown) else None
    for heading in ("queries", "share", "accuracy"):
        table.add_column(heading, justify="right")
    for name, endpoint in endpoints.items():
        for variant, seen in endpoint.get("variants", {}).items():
            shares = (percent(seen.get("share")), percent(seen.get("expected_accuracy")))
            table.add_row(Text(name), Text(marked(variant, seen.get("emulated"))), cell(seen.get("queries")), *shares)
    return table


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
