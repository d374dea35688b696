"""Measures what batches on one worker take, against their profiles."""

from math import exp2, log2

from dispatch.latency.decayed_histogram import DecayedHistogram
from dispatch.latency.decayed_mean import DecayedMean
from dispatch.latency.estimate import LatencyEstimate
from dispatch.latency.load_memory import Levels, LoadMemory

MEAN_HALF_LIFE_S = 1.5
MEAN_HALF_LIFE_BATCHES = 8.0
"""Means follow a change within seconds, and rest on some ten batches at least."""

TAIL_HALF_LIFE_S = 8.0
TAIL_HALF_LIFE_BATCHES = 150.0
"""A percentile far out needs more of them."""

TAIL = 0.95
"""The quantile that stands for nearly all batches, as in RAMSIS, section 6. Few batches are launched at the last
instant at which that is in time; a higher one costs accuracy, and needs more batches to be known."""

LATE_SHARE = 1.0 - TAIL
"""The share of batches that take longer than estimates say of nearly all."""

PRIOR_BATCHES = 4.0
PRIOR_TAIL_BATCHES = 20.0
"""What the estimate before the first batch is worth."""

MOST_SURPRISE = 4.0
"""A batch that takes more than so many times what was expected counts as so many times: a pause is not a speed."""

JITTER = 0.25
"""Runs are compared with what was expected of them plus this share of the way: shorter differences do not matter."""

LIGHTER = 1.4
"""A load above this multiple of the one that was measured has to expect more."""

MEASURE_EVERY_S = 0.1

Sums = tuple[DecayedMean, DecayedMean]
"""Measured runs and what they are compared with; their ratio is the factor: long runs count for more than short
ones."""


class WorkerLatency:
    """Follows one worker; ``prior`` is what is taken to hold before the first batches."""

    def __init__(self, prior: LatencyEstimate) -> None:
        self._prior = prior
        self._runs: Sums | None = None
        self._of_variant: dict[
            str, Sums
        ] = {}  # against the factor of all: what a variant has not shown lately follows that
        self._path = _mean(prior.path_s)
        self._run_tail = DecayedHistogram(TAIL_HALF_LIFE_S, TAIL_HALF_LIFE_BATCHES, least=2.0**-4)
        self._path_tail = DecayedHistogram(TAIL_HALF_LIFE_S, TAIL_HALF_LIFE_BATCHES, least=1e-5)
        self._log2_load = DecayedMean(MEAN_HALF_LIFE_S, MEAN_HALF_LIFE_BATCHES, 0.0, 0.0)
        self._memory = LoadMemory()
        self._remembered_s = -1.0

    def on_batch(
        self, variant: str, profiled_s: float, run_s: float, path_s: float, load_qps: float, now_s: float
    ) -> None:
        """A batch came back: its run took ``run_s`` where the profile has ``profiled_s``, and its way ``path_s``."""
        if self._runs is None:
            self._runs = _sums(self._prior.run_factor, profiled_s)
        here_s = _factor(self._runs) * profiled_s
        own = self._of_variant.get(variant)
        if own is None:
            own = self._of_variant[variant] = _sums(1.0, here_s)
        expected_s = _factor(own) * here_s
        jitter_s = JITTER * self._path.value
        self._run_tail.add((run_s + jitter_s) / (expected_s + jitter_s), now_s)
        counted_s = min(run_s, MOST_SURPRISE * (expected_s + jitter_s))
        for (measured, reference), reference_s in ((self._runs, profiled_s), (own, here_s)):
            measured.add(counted_s, now_s)
            reference.add(reference_s, now_s)
        self._path_tail.add(path_s, now_s)
        self._path.add(min(path_s, MOST_SURPRISE * max(self._path.value, jitter_s, 1e-3)), now_s)
        self._log2_load.add(log2(max(load_qps, 1.0)), now_s)
        if now_s - self._remembered_s >= MEASURE_EVERY_S:
            self._remembered_s = now_s
            self._memory.add(exp2(self._log2_load.value), self._measured(), now_s)

    def estimate(self, load_qps: float) -> LatencyEstimate:
        """What to reckon with under this load: where it has just risen, no less than is known or likely of it."""
        measured = self._measured()
        levels = measured
        if self._log2_load.count and load_qps > LIGHTER * exp2(self._log2_load.value):
            expected = self._memory.expected(load_qps)
            if expected is not None:
                levels = measured.at_least(expected)
        return LatencyEstimate(
            run_factor=levels.run_factor,
            run_tail=levels.run_tail,
            path_s=levels.path_s,
            path_tail_s=max(levels.path_tail_s, levels.path_s),
            typical_run_s=self._runs[1].value if self._runs is not None else self._prior.typical_run_s,
            batches=self._path_tail.evidence,
            run_factors={variant: _factor(own) * levels.run_factor for variant, own in self._of_variant.items()},
        )

    def _measured(self) -> Levels:
        prior = self._prior
        known = self._path_tail.evidence
        share = known / (known + PRIOR_TAIL_BATCHES)
        run_tail = max(self._run_tail.quantile(TAIL), 1.0) if known else 1.0
        path_s, path_tail_s = self._path.value, self._path_tail.quantile(TAIL)
        return Levels(
            run_factor=prior.run_factor if self._runs is None else _factor(self._runs),
            run_tail=prior.run_tail ** (1.0 - share) * run_tail**share,
            path_s=path_s,
            path_tail_s=max(path_s, share * path_tail_s + (1.0 - share) * prior.path_tail_s),
        )


def _mean(prior: float) -> DecayedMean:
    return DecayedMean(MEAN_HALF_LIFE_S, MEAN_HALF_LIFE_BATCHES, prior, PRIOR_BATCHES)


def _sums(factor: float, reference_s: float) -> Sums:
    return _mean(factor * reference_s), _mean(reference_s)


def _factor(sums: Sums) -> float:
    measured, reference = sums
    return measured.value / reference.value
