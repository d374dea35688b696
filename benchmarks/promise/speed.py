"""How fast the machine is now, beside how fast it was: shared ones differ by a factor of two within minutes."""

import heapq
import time
from statistics import median

EVENTS = 20_000
ROUNDS = 5


def loop_s() -> float:
    """What a fixed event loop takes, pushing to a heap and popping from it, in pure Python: the median of a few."""
    return median(_once_s() for _ in range(ROUNDS))


def _once_s() -> float:
    began_s = time.perf_counter()
    heap: list[tuple[int, int]] = []
    for number in range(EVENTS):
        heapq.heappush(heap, (number * 7919 % EVENTS, number))
        if number % 2:
            heapq.heappop(heap)
    return time.perf_counter() - began_s
