"""The stages of pipelines as people see them."""

from io import StringIO
from typing import Any

from rich.console import Console, Group

from serve_app.cli.status.stages import render_stages


def shown(endpoints: dict[str, Any]) -> str:
    out = StringIO()
    Console(file=out, width=80).print(Group(*render_stages(endpoints)))
    return out.getvalue()


def stage(queries: int = 10, jobs: int = 65, **changes: Any) -> dict[str, Any]:
    times = {key: {"p95": ms} for key, ms in (("queue_ms", 4.0), ("run_ms", 11.5), ("latency_ms", 19.0))}
    return (
        {"queued": 7, "workers": 2, "queries": queries, "jobs": jobs, "variants": {"cnn": 9, "mlp": 1}}
        | times
        | changes
    )


def test_a_stage_shows_who_served_it_how_many_jobs_a_query_makes_and_its_times() -> None:
    text = shown({"strips": {"stages": {"read": stage()}}})
    for cell in ("strips", "read", "cnn 90%", "mlp 10%", "6.5", "4.0", "11.5", "19.0"):
        assert cell in text


def test_a_stage_without_queries_shows_dashes() -> None:
    nothing = {"latency_ms": None, "queue_ms": None, "run_ms": None, "variants": {}}
    text = shown({"strips": {"stages": {"read": stage(0, 0, **nothing)}}})
    assert text.count("-") > 4


def test_there_is_no_table_without_pipelines() -> None:
    assert render_stages({"digits": {"stages": {}}, "older": {}}) == []
