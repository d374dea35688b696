"""The log file of a service, and which of its lines are shown on the terminal."""

import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from rich.text import Text

from catalog.errors import ConfigError
from catalog.profiles.profile_cache import cache_folder
from serve_app.cli.console import ERR

TAIL_LINES = 40
"""Of the log, where the start fails."""

REPEAT_S = 60.0
"""The same warning is shown again after so long: a fault of every batch would fill the terminal."""

ANSI = re.compile(r"\x1b\[[0-9;]*m")
LINE = re.compile(
    r"\((?:ServeReplica:[^ ]*:(?P<deployment>[^ :]+)|build_serve_application) pid=[^)]*\) "
    r"(?P<level>WARNING|ERROR|CRITICAL) \S+ (?P<time>\d\d:\d\d:\d\d)\S* .*?-- (?P<message>.*)"
)
"""What Ray's driver writes of a line that a replica, or the building of an application, logged in Serve's format."""

GIVEN_UP = re.compile(
    r"\(ServeController pid=[^)]*\) .*-- (?:Deploying app '[^']*' failed with exception|"
    r"Runtime env setup for app '[^']*' failed|Unexpected error occurred while deploying application '[^']*')"
)
"""What Serve's controller logs of an application that could not be built: it is not tried again."""

REASON = re.compile(r"(?:^|\) )catalog\.errors\.\w+: (?P<message>.*)")
"""The line of a traceback that says what is not right with a config, or with what it names."""

FAILED_REQUEST = "Request failed."
"""Serve's error line where a call of a deployment raised; the traceback follows. What Accord raises is the caller's
answer, such as a registration that is refused, and no fault to tell the terminal of."""

CHATTER = "Failed to get queue length from Replica"
"""Serve's warning where its first call to a replica takes long; Accord does not route by queue lengths."""


def log_folder() -> Path:
    """Where logs go, which is made where it is missing; raises `ConfigError` where none can be written there."""
    folder = cache_folder("logs")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(
            f"cannot write to the folder {folder}; set ACCORD_CACHE_DIR to one that can be written, or give --verbose"
        )
    return folder


def log_path(port: int) -> Path:
    """Where the log of a service on this port goes; that of the start before is kept beside it."""
    path = log_folder() / f"run-{port}.log"
    if path.exists():
        path.replace(path.with_suffix(".log.before"))
    return path


class LogFile:
    """Follows the log file that a service writes at ``path``, which exists.

    The service writes to the file itself, not to a pipe, so that it never waits for whoever reads.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.path = path
        self._file = path.open("rb")
        self._clock = clock
        self._rest = b""
        self._shown_s: dict[str, float] = {}
        self._failed_request: re.Match[str] | None = None
        self.given_up = False
        """Whether Serve has said that the application cannot be built."""

    def __enter__(self) -> "LogFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def print_warnings(self) -> None:
        """Print what replicas warned of since the last time; of an exception only the first line."""
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        now_s = self._clock()
        if not lines:
            self._show_failed_request(now_s)
        for line in lines:
            text = ANSI.sub("", line.decode(errors="replace"))
            self.given_up = self.given_up or GIVEN_UP.match(text) is not None
            found = LINE.match(text)
            if REASON.search(text) is not None:
                self._failed_request = None
            if found is None or found["message"].startswith(CHATTER):
                continue
            self._show_failed_request(now_s)
            if found["message"] == FAILED_REQUEST:
                self._failed_request = found
            else:
                self._show(found, now_s)
        self._shown_s = {message: at_s for message, at_s in self._shown_s.items() if now_s - at_s < REPEAT_S}

    def print_tail(self) -> None:
        """Print the reason, where Accord gave one, the last `TAIL_LINES` lines, and where all are."""
        lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        reasons = [found["message"] for line in lines if (found := REASON.search(ANSI.sub("", line))) is not None]
        if reasons:
            ERR.print(Text(reasons[-1], style="red"), soft_wrap=True)
        for line in lines[-TAIL_LINES:]:
            ERR.print(line, markup=False, highlight=False, soft_wrap=True)
        ERR.print(f"The whole log: [bold]{self.path}[/]", soft_wrap=True)

    def _show_failed_request(self, now_s: float) -> None:
        """The one before, of which it is known now that nothing of Accord's was raised."""
        if self._failed_request is not None:
            self._show(self._failed_request, now_s)
            self._failed_request = None

    def _show(self, found: re.Match[str], now_s: float) -> None:
        message = found["message"]
        if now_s - self._shown_s.get(message, -REPEAT_S) < REPEAT_S:
            return
        self._shown_s[message] = now_s
        style = "yellow" if found["level"] == "WARNING" else "red"
        ERR.print(
            Text(f"{found['time']} {found['level']} {found['deployment'] or 'build'}: {message}", style=style),
            soft_wrap=True,
        )
