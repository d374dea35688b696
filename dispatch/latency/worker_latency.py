"""Measures what batches on one worker take, against their profiles."""

from math import exp2, log2

from dispatch.latency.decayed_histogram import DecayedHistogram
from dispatch.latency.decayed_mean import DecayedMean
from dispatch.latency.estimate import LatencyEstimate
from dispatch.latency.lead import LEAD
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
"""What the estimate before the first batch is worth; it ages as batches do."""

MOST_SURPRISE = 4.0
"""A batch that takes more than so many times what was expected counts as so many times: a pause is not a speed."""

JITTER = 0.25
"""Runs are compared with what was expected of them plus this share of the way: shorter differences do not matter."""

LIGHTER = 1.4
"""A load above this multiple of the one that was measured has to expect more."""

BELIEVED_S, MOST_BELIEVED = 5.0, 60
"""What a variant has shown of its own is half forgotten after so many seconds for each of its batches, of so many at
most, without another: a policy that thinks it too slow runs none, and one slow batch must not decide for good."""

MEASURE_EVERY_S = 0.1

Sums = tuple[DecayedMean, DecayedMean]
"""Measured runs and what they are compared with; their ratio is the factor: long runs count for more than short
ones."""


class WorkerLatency:
    """Follows one worker; ``prior`` is what is taken to hold before the first batches."""

    def __init__(self, prior: LatencyEstimate) -> None:
        self._prior = prior
        self._runs: Sums | None = None
        # Against the factor of all: what a variant has not shown lately follows that.
        self._of_variant: dict[str, Sums] = {}
        self._ran: dict[str, tuple[int, float]] = {}
        """Batches of a variant and when the last one came back."""
        self._now_s = 0.0
        self._lengths: Sums | None = None
        """Profiled runs of batches as long as they were, and of the typical length; None before any was another."""
        self._path = _mean(prior.path_s)
        self._run_tail = DecayedHistogram(TAIL_HALF_LIFE_S, TAIL_HALF_LIFE_BATCHES, least=2.0**-4)
        self._path_tail = DecayedHistogram(TAIL_HALF_LIFE_S, TAIL_HALF_LIFE_BATCHES, least=1e-5)
        self._prior_share = DecayedMean(TAIL_HALF_LIFE_S, TAIL_HALF_LIFE_BATCHES, 1.0, PRIOR_TAIL_BATCHES)
        self._log2_load = DecayedMean(MEAN_HALF_LIFE_S, MEAN_HALF_LIFE_BATCHES, 0.0, 0.0)
        self._memory = LoadMemory()
        self._remembered_s = -1.0

    def on_batch(
        self,
        variant: str,
        profiled_s: float,
        run_s: float,
        path_s: float,
        load_qps: float,
        now_s: float,
        length_ratio: float = 1.0,
        waited_s: float = 0.0,
    ) -> None:
        """A batch came back: its run took ``run_s`` where the profile has ``profiled_s``, and its way ``path_s``.

        The way has the ``waited_s`` in it that the worker was still running the batch before: that makes results late,
        as a long way does, but keeps the worker from nothing. The profile of a batch of as many rows of the typical
        length has ``profiled_s`` divided by ``length_ratio``.
        """
        if self._runs is None:
            self._runs = _sums(self._prior.of_one_length.run_factor, profiled_s)
        if length_ratio != 1.0 or self._lengths is not None:
            self._on_length(profiled_s, profiled_s / length_ratio, now_s)
        here_s = _factor(self._runs) * profiled_s
        own = self._of_variant.get(variant)
        if own is None:
            own = self._of_variant[variant] = _sums(1.0, here_s)
        expected_s = _factor(own) * here_s
        self._ran[variant] = (self._ran.get(variant, (0, 0.0))[0] + 1, now_s)
        self._now_s = now_s
        jitter_s = JITTER * self._path.value
        self._run_tail.add((run_s + jitter_s) / (expected_s + jitter_s), now_s)
        counted_s = min(run_s, MOST_SURPRISE * (expected_s + jitter_s))
        for (measured, reference), reference_s in ((self._runs, profiled_s), (own, here_s)):
            measured.add(counted_s, now_s)
            reference.add(reference_s, now_s)
        self._path_tail.add(path_s, now_s)
        self._prior_share.add(0.0, now_s)
        way_s = max(path_s - waited_s, 0.0)
        self._path.add(min(way_s, MOST_SURPRISE * max(self._path.value, jitter_s, 1e-3)), now_s)
        self._log2_load.add(log2(max(load_qps, 1.0)), now_s)
        if now_s - self._remembered_s >= MEASURE_EVERY_S:
            self._remembered_s = now_s
            self._memory.add(exp2(self._log2_load.value), self._measured(), now_s)

    def estimate(self, load_qps: float, lead: float = LEAD) -> LatencyEstimate:
        """What to reckon with under this load: where it has just risen, no less than is known or likely of it."""
        measured = self._measured()
        levels = measured
        if self._log2_load.count and load_qps > LIGHTER * exp2(self._log2_load.value):
            expected = self._memory.expected(load_qps)
            if expected is not None:
                levels = measured.at_least(expected)
        length_factor = self._prior.length_factor if self._lengths is None else _factor(self._lengths)
        profiled = self._runs if self._lengths is None else self._lengths
        return LatencyEstimate(
            run_factor=levels.run_factor * length_factor,
            run_tail=levels.run_tail,
            path_s=levels.path_s,
            path_tail_s=max(levels.path_tail_s, levels.path_s),
            typical_run_s=self._prior.typical_run_s if profiled is None else profiled[1].value,
            batches=self._path_tail.evidence,
            run_factors={
                variant: self._own_factor(variant) * levels.run_factor * length_factor for variant in self._of_variant
            },
            length_factor=length_factor,
            lead=lead,
        )

    def _own_factor(self, variant: str) -> float:
        """How much longer a variant's runs take than the factor of all says, as far as that is still believed."""
        batches, last_s = self._ran[variant]
        half_lives = (self._now_s - last_s) / (BELIEVED_S * min(batches, MOST_BELIEVED))
        shown: float = _factor(self._of_variant[variant]) ** exp2(-half_lives)
        return shown

    def _on_length(self, at_length_s: float, typical_s: float, now_s: float) -> None:
        if self._lengths is None:
            self._lengths = _sums(self._prior.length_factor, typical_s)
        at_length, typical = self._lengths
        at_length.add(at_length_s, now_s)
        typical.add(typical_s, now_s)

    def _measured(self) -> Levels:
        prior = self._prior
        prior_share = self._prior_share.value
        run_tail = max(self._run_tail.quantile(TAIL), 1.0)
        path_s, path_tail_s = self._path.value, self._path_tail.quantile(TAIL)
        return Levels(
            run_factor=prior.of_one_length.run_factor if self._runs is None else _factor(self._runs),
            run_tail=prior.run_tail**prior_share * run_tail ** (1.0 - prior_share),
            path_s=path_s,
            path_tail_s=max(path_s, (1.0 - prior_share) * path_tail_s + prior_share * prior.path_tail_s),
        )


def _mean(prior: float) -> DecayedMean:
    return DecayedMean(MEAN_HALF_LIFE_S, MEAN_HALF_LIFE_BATCHES, prior, PRIOR_BATCHES)


def _sums(factor: float, reference_s: float) -> Sums:
    return _mean(factor * reference_s), _mean(reference_s)


def _factor(sums: Sums) -> float:
    measured, reference = sums
    return measured.value / reference.value
