"""How often a router's process looks for garbage."""

import gc
import subprocess
import sys

PROGRAM = """
import gc
from deployments.router.garbage import look_seldom
kept = [[] for _ in range(1000)]
look_seldom()
assert gc.get_freeze_count() >= 1000, gc.get_freeze_count()
assert not any(each is kept[0] for each in gc.get_objects()), "what was there is out of sight"
cycle = []
cycle.append(cycle)
del cycle
assert gc.collect() == 1, "and what comes is not"
print(*gc.get_threshold())
"""


def test_what_was_imported_is_never_looked_at_again_and_the_rest_less_often() -> None:
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    young, *_ = map(int, found.stdout.split())
    assert young > gc.get_threshold()[0]
