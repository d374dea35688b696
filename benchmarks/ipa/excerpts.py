"""The four excerpts of a load that are played, chosen by a rule (section 5.1, Figure 7, has no more than pictures)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from catalog.errors import BadSeries
from forecast.series.series import LoadSeries
from forecast.series.windows import block_means
from workload.whole_counts import whole_counts

Kind = Literal["bursty", "steady_low", "steady_high", "fluctuating"]
KINDS: tuple[Kind, ...] = get_args(Kind)

LENGTH_S = 600
STEP_S = 60
"""Excerpts are of this length, and may begin at every such step."""

LEAD_S = 60
"""Played before each excerpt and not counted, so that what happens in it was decided in it."""

WARM_S = 120
"""Known to planners when the lead begins: what the forecaster reads."""

MEAN_S = 10
"""All figures of an excerpt are of means over so long, the planners' interval."""

LEAST_OBSERVED = 0.99

STEADY_SHARE = 0.5
"""So many of the excerpts, those of the least variability, count as steady."""

LOW_QPS, PEAK_QPS = 5.0, 40.0
"""The load is as high as it can be with the lowest excerpt at no more than the one and the highest mean over 10 s at no
more than the other: the paper's range, as far as its pictures say."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Excerpt:
    """It begins at ``start_s`` of the series.

    ``counts`` has the queries of each second from `WARM_S` and `LEAD_S` before it to its end. ``mean_qps``,
    ``variability`` (standard deviation over mean), ``surge`` (how many times what it had before and after, at its most)
    and ``movement`` (how far the load went up and down in sum, over its mean) are of the excerpt itself.
    """

    kind: Kind
    start_s: int
    counts: NDArray[np.int64]
    mean_qps: float
    variability: float
    surge: float
    movement: float

    @property
    def begin_s(self) -> int:
        """When the lead begins, in the time of the series; that is 0 in the simulation."""
        return self.start_s - LEAD_S

    @property
    def played(self) -> NDArray[np.int64]:
        """The counts from `begin_s` on."""
        return self.counts[WARM_S:]

    def arrivals_s(self, seed: int) -> Floats:
        """Ascending, from `begin_s`: in each second just so many queries, each at an instant of its own."""
        rng = np.random.default_rng((seed, self.start_s))
        arrivals: Floats = np.repeat(np.arange(len(self.played)), self.played) + rng.random(int(self.played.sum()))
        arrivals.sort()
        return arrivals


@dataclass(frozen=True)
class Spans:
    """Where a series is learned from, where settings are tuned, and what is reported, one after the other."""

    start_s: int
    tuned_from_s: int
    reported_from_s: int
    end_s: int


def spans_of(series: LoadSeries) -> Spans:
    """7/9 are learned from, which of 18 days are the paper's two weeks, 1/18 is tuned on, and the rest is reported."""
    length_s = series.end_s - series.start_s
    tuned_s, reported_s = (series.start_s + length_s * share // 18 for share in (14, 15))
    return Spans(series.start_s, tuned_s, reported_s, series.end_s)


def scale_of(series: LoadSeries, spans: Spans) -> float:
    """By what the load is multiplied; raises `BadSeries` where there is none after what is learned from."""
    played = series.between(spans.tuned_from_s, spans.end_s)
    whole = played.times_s[MEAN_S - 1 :] - played.times_s[: 1 - MEAN_S] == MEAN_S - 1
    highest = float(block_means(played.loads_qps, MEAN_S)[whole].max(initial=0.0)) if len(played) >= MEAN_S else 0.0
    if highest <= 0:
        raise BadSeries(
            f"from {spans.tuned_from_s} s to {spans.end_s} s the series has no {MEAN_S} s in one piece with any load; "
            "give a longer one, or one with load"
        )
    lowest = float(block_means(played.loads_qps, LENGTH_S).min()) if len(played) >= LENGTH_S else highest
    return min(LOW_QPS / lowest if lowest > 0 else np.inf, PEAK_QPS / highest)


def choose(series: LoadSeries, scale: float, from_s: int, until_s: int) -> Mapping[Kind, Excerpt]:
    """One excerpt of each kind, of the series times ``scale``; none overlaps another.

    In this order: *bursty* is the one with the greatest surge, the maximum over the
    largest of median, first minute and last. Of the half that varies least, *steady low* has the
    lowest mean and *steady high* the highest. *Fluctuating* is the one whose load moves most without the surge being
    more than the middle between that of the bursty excerpt and 1. Of equals the first is taken, and where a rule leaves
    none, all that are left count: a constant load makes four excerpts that are alike.

    Raises `BadSeries` where there are fewer than four that do not overlap.
    """
    found = _candidates(series, scale, from_s, until_s)
    bursty = _best(found, [each.surge for each in found])
    limit = np.quantile([each.variability for each in found], STEADY_SHARE) if found else 0.0
    chosen: dict[Kind, Excerpt | None] = {"bursty": bursty}

    def left(wanted: Sequence[bool]) -> list[Excerpt]:
        taken = [each for each in chosen.values() if each is not None]
        free = [all(abs(one.start_s - own.start_s) >= LENGTH_S for own in taken) for one in found]
        of_kind = [one for one, is_free, own in zip(found, free, wanted, strict=True) if is_free and own]
        return of_kind or [one for one, is_free in zip(found, free, strict=True) if is_free]

    steady = [each.variability <= limit for each in found]
    chosen["steady_low"] = _best(own := left(steady), [-each.mean_qps for each in own])
    chosen["steady_high"] = _best(own := left(steady), [each.mean_qps for each in own])
    calm = [bursty is not None and each.surge <= (1.0 + bursty.surge) / 2.0 for each in found]
    chosen["fluctuating"] = _best(own := left(calm), [each.movement for each in own])
    made = {kind: _named(each, kind) for kind, each in chosen.items() if each is not None}
    if len(made) < len(KINDS):
        raise BadSeries(
            f"from {from_s} s to {until_s} s of the series only {len(made)} excerpts of {LENGTH_S} s fit beside each "
            f"other, observed with the {WARM_S + LEAD_S} s before them; 4 are needed: give a series of some "
            f"{18 * (WARM_S + LEAD_S + 8 * LENGTH_S) / 3600:.0f} h or longer"
        )
    return {kind: made[kind] for kind in KINDS}


def _candidates(series: LoadSeries, scale: float, from_s: int, until_s: int) -> list[Excerpt]:
    found = []
    for start_s in range(from_s + WARM_S + LEAD_S, until_s - LENGTH_S + 1, STEP_S):
        begin_s, end_s = start_s - LEAD_S - WARM_S, start_s + LENGTH_S
        first, last = series.position(begin_s), series.position(end_s)
        if last - first < LEAST_OBSERVED * (end_s - begin_s):
            continue
        loads = np.zeros(end_s - begin_s)
        loads[series.times_s[first:last] - begin_s] = scale * series.loads_qps[first:last]
        means = loads[LEAD_S + WARM_S :].reshape(-1, MEAN_S).mean(axis=1)
        mean = float(means.mean())
        if mean <= 0:
            continue
        edge = STEP_S // MEAN_S
        usual = max(float(np.median(means)), float(means[:edge].mean()), float(means[-edge:].mean()))
        movement = float(np.abs(np.diff(means.reshape(-1, 3).mean(axis=1))).sum()) / mean
        surge = float(means.max()) / usual if usual > 0 else 1.0
        figures = (mean, float(means.std()) / mean, surge, movement)
        found.append(Excerpt("bursty", start_s, whole_counts(loads), *figures))
    return found


def _best(excerpts: Sequence[Excerpt], figures: Sequence[float]) -> Excerpt | None:
    return excerpts[int(np.argmax(figures))] if excerpts else None


def _named(excerpt: Excerpt, kind: Kind) -> Excerpt:
    return Excerpt(
        kind,
        excerpt.start_s,
        excerpt.counts,
        excerpt.mean_qps,
        excerpt.variability,
        excerpt.surge,
        excerpt.movement,
    )
