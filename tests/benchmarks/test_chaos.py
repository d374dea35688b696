"""What the benchmark makes of journals."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.chaos import __main__ as chaos
from chaos.experiment import Experiment, experiment
from chaos.report.journal import Journal
from serve_app.testing.served import TOLD_TO_END

JOURNALS = Path(__file__).parents[1] / "chaos" / "journals"
ASKED = ("sent", "answered", "failed", "late", "duplicated", "unanswered", "accuracy_loss_points", "recovered_s")


def test_every_experiment_has_the_figures_and_goals_that_were_missed_are_named() -> None:
    body = chaos._summed({name: Journal.read(JOURNALS / f"{name}.json") for name in ("kill-worker", "kill-proxy")})
    for figures in body["experiments"].values():
        assert set(ASKED) <= set(figures)
    assert body["missed"] == {
        "kill-worker": ["seconds until all is there again"],
        "kill-proxy": ["404 for a path that exists", "seconds until clients see nothing of it"],
    }
    assert body["goals_met"] is False


def test_a_service_that_does_not_start_is_a_goal_missed() -> None:
    body = chaos._summed({"kill-worker": "service digits: it did not serve"})
    assert body["missed"] == {"kill-worker": ["its service started"]}
    assert body["experiments"]["kill-worker"]["verdict"] == "service digits: it did not serve"
    assert not body["goals_met"]


def test_a_service_that_never_is_whole_is_started_once_for_each_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts: list[str] = []

    @contextmanager
    def broken(name: str) -> Iterator[None]:
        starts.append(name)
        yield

    monkeypatch.setattr(chaos, "shared_service", broken)
    monkeypatch.setattr(chaos, "settled", lambda bench: False)
    body = chaos.measured([experiment("kill-worker"), experiment("hang-worker")], tmp_path, 1.0)
    assert starts == ["digits", "digits"]
    not_started = ["its service started"]
    assert body["missed"] == {"kill-worker": not_started, "hang-worker": not_started}
    assert body["experiments"]["kill-worker"]["verdict"] == f"service digits: {chaos.NOT_WHOLE}"


def test_an_unknown_experiment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["chaos", "--only", "kill-all"])
    with pytest.raises(SystemExit) as refused:
        chaos.main()
    assert refused.value.code == 2


def test_an_experiment_that_was_stopped_is_the_last_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(self: Experiment, results: Path, variables: object) -> Journal:
        TOLD_TO_END.set()  # as a signal's handler does; Chaos Toolkit goes on as if nothing had come
        return Journal.read(JOURNALS / "kill-worker.json")

    monkeypatch.setattr(Experiment, "run", stopped)
    try:
        with pytest.raises(SystemExit, match="stopped in kill-worker, which was rolled back"):
            chaos._run(experiment("kill-worker"), tmp_path, 1.0)
    finally:
        TOLD_TO_END.clear()
