"""The log of a service, and what of it people see."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from catalog.errors import ConfigError
from serve_app.cli.run.log_file import REPEAT_S, LogFile, log_folder, log_path

ROUTER = "\x1b[36m(ServeReplica:accord:Router pid=12)\x1b[0m"
BROKEN = "Endpoint digits breaks its promise: 4.00% of its last queries were late [not markup]"


def warning(message: str, level: str = "WARNING", prefix: str = ROUTER, component: str = "accord_Router a1b2c3") -> str:
    return f"{prefix} {level} 2026-11-22 18:41:29,851 {component} -- {message}\n"


class Written:
    """A log file, what is written to it, and what of it was shown since the last time; ``now_s`` is the time."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path.touch()
        self.now_s = 0.0
        self.log = LogFile(path, lambda: self.now_s)
        self._capsys = capsys

    def shows(self, text: str) -> list[str]:
        with self.log.path.open("a") as file:
            file.write(text)
        self.log.print_warnings()
        return self._capsys.readouterr().err.splitlines()


@pytest.fixture
def written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Written]:
    written = Written(tmp_path / "log", capsys)
    with written.log:
        yield written


def test_warnings_and_errors_of_replicas_are_shown_with_time_and_deployment(written: Written) -> None:
    assert written.shows(warning(BROKEN)) == [f"18:41:29 WARNING Router: {BROKEN}"]
    worker = "(ServeReplica:accord:cpu pid=13, ip=10.0.0.2)"
    assert written.shows(warning("Variant large raised on a batch.", "ERROR", worker, "accord_cpu d4 0f-request")) == [
        "18:41:29 ERROR cpu: Variant large raised on a batch."
    ]
    building = "(build_serve_application pid=14)"
    shared = "Endpoints a and b share the workers of pool cpu"
    assert written.shows(warning(shared, prefix=building)) == [f"18:41:29 WARNING build: {shared}"]


def test_whatever_else_is_logged_stays_in_the_file(written: Written) -> None:
    serve = "\x1b[36m(ServeController pid=11)\x1b[0m"
    assert (
        written.shows(
            warning("Allocated port 30000", "INFO")
            + warning("Cannot deregister autoscaling state", prefix=serve, component="controller 11")
            + warning("Failed to get queue length from Replica(id='x') within 0.1s.")
            + f"{ROUTER} Traceback (most recent call last):\n"
            + f"{ROUTER} ValueError: WARNING 2026-11-22\n"
            + "2026-11-22 18:41:16,830\tWARNING scripts.py:489 -- Running config file\n"
        )
        == []
    )


def test_that_serve_gave_up_building_the_application_is_noticed(written: Written) -> None:
    serve = "\x1b[36m(ServeController pid=11)\x1b[0m"
    written.shows(warning("Deploying app 'accord' failed with exception:", prefix=ROUTER))
    assert not written.log.given_up, "nobody but Serve's controller knows"
    written.shows(warning("Deploying app 'accord' failed with exception:", prefix=serve, component="controller 11"))
    assert written.log.given_up


def test_a_line_is_shown_when_all_of_it_is_there(written: Written) -> None:
    line = warning(BROKEN)
    assert written.shows(line[:70]) == []
    assert written.shows(line[70:-1]) == []
    assert len(written.shows(line[-1:])) == 1


def test_the_same_warning_is_shown_once_a_minute(written: Written) -> None:
    fault = warning("Variant large raised on a batch.", "ERROR")
    assert len(written.shows(100 * fault)) == 1
    written.now_s = REPEAT_S - 1.0
    assert len(written.shows(fault + warning("Variant small raised on a batch.", "ERROR"))) == 1
    written.now_s = REPEAT_S
    assert len(written.shows(fault)) == 1


def test_the_log_before_is_kept_and_the_end_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ACCORD_CACHE_DIR", str(tmp_path))
    first = log_path(8000)
    first.write_text("\n".join(f"line {number} [not markup]" for number in range(100)))
    assert log_path(8000) == first
    assert not first.exists()
    kept = first.with_suffix(".log.before")
    with LogFile(kept) as log:
        log.print_tail()
    shown = capsys.readouterr().err.splitlines()
    assert shown[0] == "line 60 [not markup]"
    assert shown[-2] == "line 99 [not markup]"
    assert shown[-1] == f"The whole log: {kept}"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCORD_CACHE_DIR", str(tmp_path))
    log_folder().chmod(0o500)
    with pytest.raises(ConfigError, match=r"cannot write to the folder .*; set ACCORD_CACHE_DIR"):
        log_folder()


def test_what_is_not_right_is_said_before_the_traceback_that_it_came_with(
    written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    traceback = "Traceback (most recent call last):\n  File main.py, line 3, in build\n"
    written.shows(traceback + "catalog.errors.ConfigError: profiles.cpu has no variant 'xl'; measure it\n\nfor help\n")
    written.log.print_tail()
    first, *tail = capsys.readouterr().err.splitlines()
    assert first == "profiles.cpu has no variant 'xl'; measure it"
    assert "Traceback (most recent call last):" in tail


def test_a_call_that_ends_in_an_error_of_accord_s_is_no_fault_but_any_other_is(written: Written) -> None:
    controller = "(ServeReplica:accord:Controller pid=15)"
    failed = warning("Request failed.", "ERROR", controller, "accord_Controller d4 0f-request")
    raised = (
        f"{controller} Traceback (most recent call last):\n{controller}   File controller.py, line 1\n{controller} "
    )
    assert written.shows(failed + raised + "catalog.errors.BadRequest: there is no variant 'nope'\n") == []
    assert written.shows("") == []
    assert written.shows(failed + raised) == [], "what was raised is to come"
    assert written.shows("KeyError: 'nope'\n") == []
    assert written.shows("") == ["18:41:29 ERROR Controller: Request failed."]
