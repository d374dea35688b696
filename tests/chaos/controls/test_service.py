"""An experiment without its service does not go on."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.client import IncompleteRead
from pathlib import Path

import pytest
from chaoslib.exceptions import InterruptExecution

from chaos.controls.service import before_experiment_control
from chaos.experiment import experiment
from chaos.report.journal import Journal
from chaos.services import start
from chaos.services.under_test import UnderTest


def test_whatever_a_start_fails_by_the_experiment_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setitem(start.SERVICES, "broken", starting(IncompleteRead(b"{")))  # type: ignore[arg-type]
    with pytest.raises(InterruptExecution, match="service 'broken' did not start: IncompleteRead"):
        before_experiment_control({}, configuration={"service": "broken"})


def test_why_a_service_does_not_start_is_in_the_results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setitem(start.SERVICES, "digits", starting(RuntimeError("no port is free")))  # type: ignore[arg-type]
    why = "service 'digits' did not start: no port is free"
    told = experiment("kill-worker").run(tmp_path)
    assert (told.verdict, list(told.problems())) == ("interrupted", [why])
    assert list(Journal.read(tmp_path).problems()) == [why]
    assert f"## Problems\n\n- {why}" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_an_interruption_is_passed_on_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setitem(start.SERVICES, "broken", starting(InterruptExecution("told to end")))  # type: ignore[arg-type]
    with pytest.raises(InterruptExecution, match=r"^told to end$"):
        before_experiment_control({}, configuration={"service": "broken"})


def starting(error: Exception) -> start.Start:
    @contextmanager
    def started(folder: Path) -> Iterator[UnderTest]:
        raise error
        yield

    return started
