"""The wall clock of a Python process, shifted while it runs."""

import os
import subprocess
import sys
from pathlib import Path

from chaos.services.digits import SHIFTED_CLOCK

CODE = """
import sys, time
from pathlib import Path
file = Path(sys.argv[1])
def told(): return time.time(), time.time_ns() / 1e9, time.monotonic()
def after(shift):
    end_s = time.monotonic() + 30
    while abs(time.time() - start[0] - shift) > 60 and time.monotonic() < end_s:
        time.sleep(0.01)
    return told()
start = told()
file.write_text("3600")
ahead = after(3600)
file.unlink()
back = after(0)
for wall, wall_ns, steady in (start, ahead, back):
    print(wall - start[0], wall_ns - start[1], steady - start[2])
"""


def test_the_clock_jumps_with_the_file_and_monotonic_time_does_not(tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    env = {**os.environ, "PYTHONPATH": str(SHIFTED_CLOCK), "ACCORD_SHIFTED_CLOCK": str(clock)}
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(clock)], env=env, capture_output=True, text=True, timeout=90, check=True
    )
    start, ahead, back = ([float(word) for word in line.split()] for line in done.stdout.splitlines())
    assert start == [0.0, 0.0, 0.0]
    assert all(3500 < shift < 3700 for shift in ahead[:2])
    assert all(abs(shift) < 60 for shift in (*back[:2], ahead[2], back[2]))
