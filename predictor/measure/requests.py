"""What a process of a measurement is asked, and what it answers."""

from typing import NamedTuple


class Load(NamedTuple):
    """Have a variant ready for batches of so many rows."""

    variant: str
    rows: int


class Loaded(NamedTuple):
    """What loading a variant, and one run of it, added to the resident memory of the process."""

    resident_bytes: int


class Trial(NamedTuple):
    """Time a few batches, with whatever else goes on."""

    variant: str
    rows: int


class Window(NamedTuple):
    """Run batch after batch without pause, at once; measure those that begin within ``seconds`` from ``start_s`` on.

    Goes on until all ``positions`` are done with their measured batches, so that each of these ran beside all others.
    """

    number: int  # from 1 on, another one for each window
    variant: str
    rows: int
    start_s: float  # of the monotonic clock, the same for all positions
    seconds: float
    positions: tuple[int, ...]
    turn: int  # of the CPUs, which of them it begins on


class Queries(NamedTuple):
    """Answer queries, a batch each, in the order in which they arrive, one at a time."""

    variant: str
    rows: int
    start_s: float  # of the monotonic clock, the same for all positions
    arrivals_s: tuple[float, ...]  # after the start, rising; whoever comes while a batch runs waits


class Answered(NamedTuple):
    """What became of `Queries`."""

    latencies_s: tuple[float, ...]  # of each query, from its arrival to the end of its batch
    cpu_s: float  # that the process computed from the request to the answer


class Batches(NamedTuple):
    """The measured batches of one window, one after the other without a gap between them."""

    ran: int
    seconds: float
    cpu_s: float  # that the process computed meanwhile
    voluntary_switches: int
    involuntary_switches: int
    whole_cpu_s: float  # that it computed from the request to the answer

    @property
    def mean_s(self) -> float:
        """Mean latency of a batch."""
        return self.seconds / self.ran


Request = Load | Trial | Window | Queries
Answer = Loaded | float | Batches | Answered | Exception
