"""How long a request has been on its way from the proxy to the router."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path

HEADER = b"x-accord-received"
"""Microseconds since the epoch at which the proxy had the request's headers, a dash, and the proxy's boot id."""

MOST_DIGITS = 20

MOST_S = 120.0
"""A longer age is a clock that was set, and not a request that waited."""


class RequestAge:
    """Reads the header that the proxy sets (`serve_app.proxy`).

    It counts where the proxy stands on this very machine, whose clock it is (``boot_id``); otherwise requests are new
    when they are here. ``wall`` gives seconds since the epoch.
    """

    def __init__(self, boot_id: str, wall: Callable[[], float] = time.time) -> None:
        self._suffix = b"-" + boot_id.encode()
        self._wall = wall

    def age_s(self, headers: Iterable[tuple[bytes, bytes]]) -> float:
        """Seconds since the proxy had the request's headers; 0 where that is not known or cannot be."""
        for name, value in headers:
            if name == HEADER and value.endswith(self._suffix):
                digits = value[: -len(self._suffix)]
                if (
                    digits.isdigit()
                    and len(digits) <= MOST_DIGITS
                    and 0.0 <= (age_s := self._wall() - int(digits) * 1e-6) <= MOST_S
                ):
                    return age_s
        return 0.0


def boot_id() -> str:
    """What tells this machine since its last start from every other one; empty where the system has no such thing."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
