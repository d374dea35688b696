"""What a service is put through beside its load."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

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


class Cores(Enum):
    """What service, client and benchmark run on together: as many queries/s as one core bears are few for two."""

    ALL = "all_cores"
    ONE = "one_core"

    @classmethod
    def of(cls, condition: Condition) -> "Cores":
        """What a condition leaves."""
        return cls.ONE if condition.one_core else cls.ALL

    @contextmanager
    def used(self) -> Iterator[None]:
        """Whatever this thread starts inside the block runs on these cores.

        Raises `ConfigError` where the system does not let a process choose its cores.
        """
        if self is Cores.ALL:
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
