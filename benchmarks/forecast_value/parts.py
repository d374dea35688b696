"""The hours of a load that are played, bursty and diurnal ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from catalog.errors import BadSeries
from forecast.series.series import LoadSeries
from workload.whole_counts import whole_counts

Kind = Literal["bursty", "diurnal"]
KINDS: tuple[Kind, ...] = get_args(Kind)

LENGTH_S = 3600
LEAD_S = 300
"""Played before each part and not counted, so that what happens in it was decided in it."""

WARM_S = 60
"""Known to every demand estimate when the lead begins."""

SURGE_FACTOR = 1.8
SURGE_MEAN_S = 10
SURGE_S = 60
"""An hour is bursty if for so many seconds the mean of the load over 10 s is above 1.8 times its middle, which is the
median of the hour with half an hour on both sides."""

APART_S = 300
"""Surges that are closer than that are one burst."""

LEAST_OBSERVED = 0.99


@dataclass(frozen=True, eq=False)
class Part:
    """An hour that begins at ``start_s`` of the series.

    ``counts`` has the queries of each second from `WARM_S` and `LEAD_S` before it to its end.
    """

    kind: Kind
    start_s: int
    bursts: int
    counts: NDArray[np.int64]

    @property
    def begin_s(self) -> int:
        """When the lead begins, in the time of the series; that is 0 in the simulation."""
        return self.start_s - LEAD_S

    @property
    def played(self) -> NDArray[np.int64]:
        """The counts from `begin_s` on."""
        return self.counts[WARM_S:]

    def arrivals_s(self, seed: int) -> NDArray[np.float64]:
        """Ascending, from `begin_s`: in each second just so many queries, each at an instant of its own."""
        rng = np.random.default_rng((seed, self.start_s))
        arrivals: NDArray[np.float64] = np.repeat(np.arange(len(self.played)), self.played) + rng.random(
            int(self.played.sum())
        )
        arrivals.sort()
        return arrivals


@dataclass(frozen=True, eq=False)
class Choice:
    """The parts that are played, and how many hours of each kind there are in all."""

    parts: Sequence[Part]
    hours: dict[Kind, int]

    def weight(self, kind: Kind) -> float:
        """How many hours each part of the kind stands for."""
        chosen = sum(part.kind == kind for part in self.parts)
        return self.hours[kind] / chosen if chosen else 0.0


def choose(series: LoadSeries, from_s: int, until_s: int, wanted: dict[Kind, int], seed: int) -> Choice:
    """So many hours of each kind, drawn evenly over the span; all of a kind where there are no more.

    Hours begin a multiple of an hour after ``from_s``, and are left out where they or their lead were not observed.
    Raises `BadSeries` where there is none.
    """
    found: dict[Kind, list[Part]] = {kind: [] for kind in KINDS}
    for start_s in range(from_s, until_s - LENGTH_S + 1, LENGTH_S):
        part = _part(series, start_s)
        if part is not None:
            found[part.kind].append(part)
    if not any(found.values()):
        raise BadSeries(
            f"no hour from {from_s} s to {until_s} s of the series was wholly observed; give a longer one, or train "
            "on fewer days"
        )
    rng = np.random.default_rng(seed)
    parts: list[Part] = []
    for kind, own in found.items():
        if chosen := min(wanted[kind], len(own)):
            parts += [own[int(rng.choice(stratum))] for stratum in np.array_split(np.arange(len(own)), chosen)]
    return Choice(parts, {kind: len(own) for kind, own in found.items()})


def _part(series: LoadSeries, start_s: int) -> Part | None:
    """The hour from an instant on, None where too little of it is known."""
    begin_s, end_s = start_s - LEAD_S - WARM_S, start_s + LENGTH_S
    first, last = series.position(begin_s), series.position(end_s)
    if last - first < LEAST_OBSERVED * (end_s - begin_s):
        return None
    counts = np.zeros(end_s - begin_s, dtype=np.int64)
    counts[series.times_s[first:last] - begin_s] = whole_counts(series.loads_qps[first:last])
    if not counts[LEAD_S + WARM_S :].any():
        return None  # nothing to serve, and nothing that could be late
    around = series.between(start_s - LENGTH_S // 2, end_s + LENGTH_S // 2)
    most = SURGE_FACTOR * max(float(np.median(around.loads_qps)), 1.0)
    means = np.convolve(counts[LEAD_S + WARM_S :], np.ones(SURGE_MEAN_S) / SURGE_MEAN_S, "valid")
    surging = np.flatnonzero(means > most)
    if len(surging) < SURGE_S:
        return Part("diurnal", start_s, 0, counts)
    return Part("bursty", start_s, 1 + int((np.diff(surging) > APART_S).sum()), counts)
