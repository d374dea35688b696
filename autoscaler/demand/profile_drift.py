"""How far batches on live workers are from their profiles."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import exp2, floor, inf, log2
from typing import Any

from dispatch.latency.lead import gap_s
from dispatch.selection.policy import Candidate

BINS_PER_OCTAVE = 8
LEAST_OCTAVE, MOST_OCTAVE = -3, 3
BIN_COUNT = BINS_PER_OCTAVE * (MOST_OCTAVE - LEAST_OCTAVE)
"""Ratios of measured to profiled time are counted from 1/8 to 8, in steps of an eighth of an octave (9%)."""

PERCENTILE = 0.95
"""Profiles hold the 95th percentile of a batch's time; so without drift that of the ratio is 1."""

HALF_LIFE_S, PRIOR_BATCHES, LEAST, MOST, DEADBAND = 60.0, 20.0, 0.5, 4.0, 0.1
"""As `ProfileDrift` has them where nothing else is said."""


def bin_of(ratio: float) -> int:
    """The bin of a ratio of measured to profiled time, from 0 to ``BIN_COUNT`` - 1; both ends are open."""
    if ratio <= 0.0:
        return 0
    if ratio == inf:
        return BIN_COUNT - 1
    return min(max(floor((log2(ratio) - LEAST_OCTAVE) * BINS_PER_OCTAVE), 0), BIN_COUNT - 1)


@dataclass(frozen=True)
class _Evidence:
    """Batches by bin, as much as they were worth at ``at_s``, and the factor that was given out last."""

    at_s: float
    counts: tuple[float, ...] = (0.0,) * BIN_COUNT
    settled: float = 1.0


class ProfileDrift:
    """Learns from counted ratios the factors to correct profiles with; a key is whatever has a profile of its own.

    A batch is worth half after every ``half_life_s``. Of n batches in worth, the 95th percentile q of the ratio is
    shrunk towards 1 by ``prior`` batches without drift, to q ** (n / (n + prior)), and kept within ``least`` and
    ``most``. Factors that differ from the one given out last by less than ``deadband`` of it are not given out, so
    that plans do not follow noise. Instants are of one clock, in seconds.
    """

    def __init__(
        self,
        half_life_s: float = HALF_LIFE_S,
        prior: float = PRIOR_BATCHES,
        least: float = LEAST,
        most: float = MOST,
        deadband: float = DEADBAND,
    ) -> None:
        self._half_life_s = half_life_s
        self._prior = prior
        self._least = least
        self._most = most
        self._deadband = deadband
        self._known: dict[Hashable, _Evidence] = {}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], now_s: float, **settings: float) -> "ProfileDrift":
        """Go on from a record as if it had been made now, with the constructor's ``settings``.

        What was counted in other bins than these is left out.
        """
        drift = cls(**settings)
        for each in record["keys"]:
            if len(each["counts"]) == BIN_COUNT:
                key = tuple(each["key"]) if isinstance(each["key"], list) else each["key"]
                drift._known[key] = _Evidence(now_s, tuple(each["counts"]), each["settled"])
        return drift

    def on_counts(self, key: Hashable, counts: Sequence[float], now_s: float) -> None:
        """So many batches fell into each bin. Raises ValueError where these are not all the bins."""
        if len(counts) != BIN_COUNT:
            raise ValueError(f"{len(counts)} bins counted for {key!r}; give {BIN_COUNT}")
        aged = self._aged(key, now_s)
        added = tuple(old + new for old, new in zip(aged.counts, counts, strict=True))
        self._known[key] = replace(aged, counts=added)

    def factor(self, key: Hashable, now_s: float) -> float:
        """How many times its profiled time a batch of ``key`` takes, 1 where nothing is known."""
        aged = self._aged(key, now_s)
        batches = sum(aged.counts)
        octaves = _percentile_octaves(aged.counts) * batches / (batches + self._prior) if batches else 0.0
        bounded = min(max(exp2(octaves), self._least), self._most)
        if abs(bounded / aged.settled - 1.0) < self._deadband:
            return aged.settled
        self._known[key] = replace(aged, settled=bounded)
        return bounded

    def evidence(self, key: Hashable, now_s: float) -> float:
        """How many batches the factor rests on, in what they are worth now."""
        return sum(self._aged(key, now_s).counts)

    def forget(self, key: Hashable) -> None:
        """What was learned of a key, if anything, counts no more."""
        self._known.pop(key, None)

    def move(self, key: Hashable, to: Hashable, now_s: float) -> None:
        """What was learned of a key counts as another's from now on, beside what that has."""
        self.on_counts(to, self._aged(key, now_s).counts, now_s)
        self.forget(key)

    def to_record(self, now_s: float) -> dict[str, Any]:
        """All that was learned, in JSON values; a key must be a string or a tuple of strings."""
        keys: list[dict[str, Any]] = []
        for key in self._known:
            aged = self._aged(key, now_s)
            name = list(key) if isinstance(key, tuple) else key
            keys.append({"key": name, "counts": list(aged.counts), "settled": aged.settled})
        return {"keys": keys}

    def _aged(self, key: Hashable, now_s: float) -> _Evidence:
        known = self._known.get(key, _Evidence(now_s))
        worth = 0.5 ** (max(now_s - known.at_s, 0.0) / self._half_life_s)
        return replace(known, at_s=max(now_s, known.at_s), counts=tuple(count * worth for count in known.counts))


def corrected(
    candidate: Candidate, profiled_s: Sequence[float], run_factor: float, transport_s: float, lead: float = 0.0
) -> Candidate:
    """The candidate with what its batches take where it runs: ``run_factor`` times the profile, and the way there.

    ``profiled_s[n]`` is the profiled run of n rows, without the way. The next batch is launched the ``lead`` of the way
    before the result of one is there (`dispatch.latency.lead`). Raises ValueError where the profile ends before the
    candidate's batches do.
    """
    if len(profiled_s) <= candidate.max_batch:
        raise ValueError(
            f"{candidate.variant!r} has a profile up to {len(profiled_s) - 1} rows and batches of {candidate.max_batch}"
        )
    runs_s = [profiled_s[rows] * run_factor for rows in range(1, candidate.max_batch + 1)]
    latency_s = (0.0, *(run_s + transport_s for run_s in runs_s))
    follow_s = (0.0, *(run_s + gap_s(transport_s, run_s, 1.0, lead) for run_s in runs_s)) if lead else ()
    return Candidate(
        candidate.variant,
        candidate.accuracy,
        latency_s,
        path_s=transport_s,
        members=candidate.members,
        follow_s=follow_s,
    )


def _percentile_octaves(counts: Sequence[float]) -> float:
    """The binary logarithm of the ratio that `PERCENTILE` of the batches do not exceed; within a bin they are even."""
    target = PERCENTILE * sum(counts)
    number = next(number for number, upto in enumerate(accumulate(counts)) if upto >= target)
    part = (target - sum(counts[:number])) / counts[number]
    return LEAST_OCTAVE + (number + part) / BINS_PER_OCTAVE
