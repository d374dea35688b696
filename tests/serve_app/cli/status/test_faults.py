"""What people see of faults in ``accord status``."""

from io import StringIO
from typing import Any

from rich.console import Console

from deployments.router.observing.worker_events import WorkerEvent, WorkerEvents
from serve_app.cli.status.tables import render_status


def shown(events: WorkerEvents, controller: dict[str, Any]) -> str:
    console = Console(width=80, record=True, file=StringIO())
    console.print(render_status({"worker_events": events.to_record(100.0), "controller": controller}))
    return console.export_text()


def test_nothing_is_said_where_nothing_went_wrong() -> None:
    events = WorkerEvents()
    events.on_event("w1", WorkerEvent.JOINED, 1.0)
    text = shown(events, {"answers": True, "state": {"saved": True, "since": None, "why_not": None}})
    assert "What befell workers" not in text
    assert "controller" not in text


def test_workers_that_died_or_hang_are_shown_with_how_long_ago() -> None:
    events = WorkerEvents()
    events.on_event("w1", WorkerEvent.DIED, 40.0)
    events.on_event("w2", WorkerEvent.HANGS, 93.0)
    text = shown(events, {"answers": True})
    assert "What befell workers" in text
    assert "1 died, 1 does not answer" in " ".join(text.split())
    assert "Worker w2 has not answered for 7 s" in text
    assert text.index("w2") < text.index("w1"), "the newest first"


def test_a_controller_in_trouble_is_shown_with_the_reason() -> None:
    state = {"saved": False, "since": "2026-01-01T00:00:00.000+00:00", "why_not": "no space left on device"}
    text = shown(WorkerEvents(), {"answers": True, "state": state})
    assert "has not been saved since 2026-01-01" in text
    assert "no space left on device" in " ".join(text.split())
    gone = shown(WorkerEvents(), {"answers": False, "why_not": "it may be starting: try again"})
    assert "The controller does not answer; inference goes on without it" in gone


def test_a_service_of_an_older_version_is_shown_all_the_same() -> None:
    console = Console(width=80, record=True, file=StringIO())
    console.print(render_status({"version": "0.0.1"}))
    assert "Accord 0.0.1" in console.export_text()
