"""Processes that let others go first."""

import os
import subprocess
import sys
from pathlib import Path

from serve_app.yielding import NICENESS, let_yield

THREADED = """
import threading, time
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print("started", flush=True)
time.sleep(60)
"""


def test_all_threads_of_a_process_yield_and_a_second_time_changes_nothing() -> None:
    process = subprocess.Popen([sys.executable, "-c", THREADED], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        threads = [int(each.name) for each in Path(f"/proc/{process.pid}/task").iterdir()]
        assert len(threads) == 2
        for _ in range(2):
            let_yield(process.pid)
            assert {os.getpriority(os.PRIO_PROCESS, each) for each in threads} == {NICENESS}
    finally:
        process.kill()
        process.communicate()
    let_yield(process.pid)  # gone by now
