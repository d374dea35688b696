"""How many inference requests the proxy has refused that never came to a router."""

HEADER = b"x-accord-refused"
"""Requests of the same path that the proxy has refused since it started, its process id and its boot id, with dashes
between."""

MOST_DIGITS = 20

MOST_KNOWN = 256
"""Counters that are remembered: one for each path of an endpoint and each proxy process."""


class ProxyRefusals:
    """Reads the counters that the proxy sends along with what it lets through (`serve_app.proxy.config_text`).

    They count where the proxy stands on this very machine (``boot_id``), as its clock does: a client that reaches a
    router on another way must not make load up. What a process refused before its first request here is not known.
    """

    def __init__(self, boot_id: str) -> None:
        self._suffix = b"-" + boot_id.encode()
        self._latest: dict[tuple[bytes, bytes], int] = {}
        self._seen: dict[bytes, bytes] = {}

    def more(self, path: bytes, value: bytes) -> int:
        """Requests of ``path`` refused since the last time; 0 for the first ``value`` of a process or a strange one."""
        if self._seen.get(path) == value:  # the usual case: nothing is refused
            return 0
        digits, _, proxy = value.removesuffix(self._suffix).partition(b"-")
        if not value.endswith(self._suffix) or not digits.isdigit() or len(digits) > MOST_DIGITS:
            return 0
        if len(self._latest) >= MOST_KNOWN:
            self._latest.clear()
            self._seen.clear()
        self._seen[path] = value
        count = int(digits)
        before = self._latest.get((path, proxy), count)
        self._latest[path, proxy] = max(before, count)  # requests overtake each other on their way
        return max(count - before, 0)
