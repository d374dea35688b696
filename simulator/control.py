"""The seam between a simulated host and what decides for it while it runs."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dispatch.commands import Command
from dispatch.dispatcher import Dispatcher
from simulator.traffic import Traffic


class Control(Protocol):
    """What changes workers and plans while a host runs: a `ControlPath`, or an `ElasticPool`."""

    traffic: Traffic
    """Hears of answers and refusals."""

    @property
    def held(self) -> Mapping[str, frozenset[str]]:
        """What each worker holds now; those that hold nothing may be missing."""
        ...

    @property
    def next_s(self) -> float:
        """When `act` is due next."""
        ...

    def start(self, arrivals_s: Mapping[str, NDArray[np.float64]]) -> None:
        """The run begins: these arrivals, ascending, will come by endpoint."""
        ...

    def act(self, dispatcher: Dispatcher) -> list[Command]:
        """Do what is due at `next_s`, and give the dispatcher's commands."""
        ...
