"""Ports that nothing uses."""

import random
import socket

FIRST, LAST = 20_000, 29_000
"""Below those that the system gives out by itself (32768 and up on Linux) and Serve's own (30000 and up), above those
of Ray's workers (10002 to 19999): nothing that starts in the meantime takes one of these."""

_draw = random.SystemRandom()


def find_free_port() -> int:
    """A port that nothing uses now; raises RuntimeError where there is none."""
    for port in _draw.sample(range(FIRST, LAST), 200):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError(f"no free port from {FIRST} to {LAST}; stop what listens there")
