"""What a service is put through beside its load."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from catalog.errors import ConfigError

NEIGHBOUR_SHARE = 0.5
"""Of one core, what the foreign process takes."""


@dataclass(frozen=True)
class Condition:
    """One of the conditions of the benchmark; ``as_is`` has none of its fields set."""

    name: str
    one_core: bool = False  # service, client and benchmark share one core
    neighbour: bool = False  # a foreign process takes `NEIGHBOUR_SHARE` of a core
    slower: float = 1.0  # how many times as long the worker takes from the middle of the run on
    bursts: bool = False  # the load follows a burst, instead of being even


CONDITIONS = {
    condition.name: condition
    for condition in (
        Condition("as_is"),
        Condition("one_core", one_core=True),
        Condition("busy_neighbour", neighbour=True),
        Condition("slower_1_5", slower=1.5),
        Condition("slower_2", slower=2.0),
        Condition("bursts", bursts=True),
    )
}


@contextmanager
def cores_of(condition: Condition) -> Iterator[None]:
    """Whatever this thread starts inside the block runs on the cores that the condition leaves.

    Raises `ConfigError` where the system does not let a process choose its cores.
    """
    if not condition.one_core:
        yield
        return
    if not hasattr(os, "sched_setaffinity"):
        raise ConfigError("condition 'one_core' needs a system that binds processes to cores; leave it out")
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
