"""Python's wall clock, shifted while a service runs: for experiments with jumps of the clock.

Every Python process with this folder on its PYTHONPATH reads, a few times a second, by how many seconds `time.time` and
`time.time_ns` are off from the file named by ACCORD_SHIFTED_CLOCK; no file means 0. `time.monotonic`, by which
deadlines are kept, is the machine's; so are `datetime.now` and the clocks of processes that are not Python.
"""

import os
import time

READ_EVERY_S = 0.2

_FILE = os.environ.get("ACCORD_SHIFTED_CLOCK")
_real_time, _real_time_ns, _monotonic = time.time, time.time_ns, time.monotonic
_shift_s, _read_at_s = 0.0, 0.0


def _shift() -> float:
    global _shift_s, _read_at_s
    now_s = _monotonic()
    if now_s - _read_at_s >= READ_EVERY_S:
        _read_at_s = now_s
        try:
            with open(str(_FILE), encoding="ascii") as file:
                _shift_s = float(file.read())
        except (OSError, ValueError):
            _shift_s = 0.0
    return _shift_s


if _FILE is not None:
    time.time = lambda: _real_time() + _shift()
    time.time_ns = lambda: _real_time_ns() + int(_shift() * 1e9)
