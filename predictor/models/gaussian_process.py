"""A Gaussian process over the logarithm of slowdowns (Rasmussen and Williams 2006, algorithm 2.1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from predictor.configuration import Configuration
from predictor.models import kernel
from predictor.models.examples_index import ExamplesIndex, Positions
from predictor.predictor import Prediction

Array = NDArray[np.float64]

JITTER = 1e-5
"""Added to the noise, so that the covariance can be factored."""

ROWS_AT_ONCE = 2000
"""Deviations are made of so many rows at a time: they take several arrays of rows times examples."""

STRETCH = 1.5
"""For each variant more than any configuration learned from had, slowdowns are at most so many times the largest."""


@dataclass(frozen=True)
class KernelParameters:
    """What `predictor.models.kernel` is made with.

    ``suffer_scales`` and ``harm_scales`` [metrics] are distances at which variants are no longer alike, as the one
    slowed down and as one that slows down others; ``suffer_identity`` and ``harm_identity`` (0 to 1) are how much being
    the very same variant counts beside metrics. ``machine_similarity`` [machines, machines] is 1 on its diagonal.
    ``weights`` are c0 to c5, ``noise`` is the variance of one measurement, both of standardised logarithms.
    """

    suffer_scales: Array
    harm_scales: Array
    suffer_identity: float
    harm_identity: float
    machine_similarity: Array
    weights: Array
    noise: float


class _Known(NamedTuple):
    """What predictions need of the examples learned from, one column for each."""

    harm: Array  # [variants + 1, examples]: sum of ku over the example's others
    suffer: Array  # [variants + 1, examples]: kv
    machine: Array  # [machines + 1, examples]: km
    weights: Array  # [examples]


@dataclass(frozen=True)
class GaussianProcess:
    """Predicts from examples, the more alike the more they count; far from all of them, what is usual.

    ``points`` [variants, metrics] are of ``variants``; ``encodings`` [machines, dimensions] of ``machines``. A variant
    or machine type that is neither is taken as the mean of those that are, with none of its own traits. The slowdowns
    learned from are those of the variants of ``configurations``, one after the other, means of ``repeats`` each.
    """

    variants: tuple[str, ...]
    machines: tuple[str, ...]
    points: Array
    encodings: Array
    parameters: KernelParameters
    configurations: tuple[Configuration, ...]
    slowdown: Array
    repeats: Array

    def predict(self, configurations: Sequence[Configuration]) -> Prediction:
        """See `SlowdownPredictor.predict`."""
        rows = self._index.positions(configurations)
        return Prediction(self._slowdown(rows), self._deviation(rows))

    def slowdowns(self, configurations: Sequence[Configuration]) -> Array:
        """See `SlowdownPredictor.slowdowns`."""
        return self._slowdown(self._index.positions(configurations))

    def posterior(self, configurations: Sequence[Configuration]) -> tuple[Array, Array]:
        """Covariance of the errors of all predictions, and the variance that a measurement has: [rows, rows], [rows].

        Rows are the variants of the configurations, one configuration after the other; both are of slowdowns.
        """
        rows = self._index.positions(configurations)
        known, c = self._known, self.parameters.weights
        machine, suffer = self._similarities
        counts = self._index.counts(rows.others)
        with_examples = kernel.covariance(
            known.machine[rows.machine], known.suffer[rows.variant], counts @ known.harm, c
        )
        solved = solve_triangular(self._factor[0], with_examples.T, lower=True)
        prior = kernel.covariance(
            machine[rows.machine][:, rows.machine],
            suffer[rows.variant][:, rows.variant],
            counts @ self._harm_similarity @ counts.T,
            c,
        )
        scale = self._slowdown(rows) * self._scale
        return (prior - solved.T @ solved) * np.outer(scale, scale), self.parameters.noise * scale**2

    # -- prediction -------------------------------------------------------------------------------------------

    def _slowdown(self, rows: Positions) -> Array:
        logs = np.zeros(len(rows.variant))
        known, c = self._known, self.parameters.weights
        for machine in np.unique(rows.machine):
            there = np.flatnonzero(rows.machine == machine)
            alpha = known.weights * known.machine[machine]
            sets, set_of, sizes = np.unique(rows.others[there], axis=0, return_inverse=True, return_counts=True)
            common = sizes[set_of] > sizes.size  # one sum over others serves many variants
            for number in np.unique(set_of[common]):
                mine = there[common & (set_of == number)]
                s = self._index.sums(known.harm, sets[number : number + 1])[0]
                constant = alpha @ (c[0] + s * (c[2] + s * c[4]))
                by_variant = alpha * (c[1] + s * (c[3] + s * c[5]))
                logs[mine] = constant + known.suffer[rows.variant[mine]] @ by_variant
            for variant in np.unique(rows.variant[there[~common]]):
                mine = there[~common & (rows.variant[there] == variant)]
                kv = known.suffer[variant]
                s = self._index.sums(known.harm, rows.others[mine])
                logs[mine] = (
                    alpha @ (c[0] + c[1] * kv)
                    + s @ (alpha * (c[2] + c[3] * kv))
                    + (s * s) @ (alpha * (c[4] + c[5] * kv))
                )
        return self._bounded(logs * self._scale + self._mean, rows)

    def _bounded(self, logs: Array, rows: Positions) -> Array:
        degree = 1 + (rows.others < len(self.variants) + 1).sum(axis=1)
        beyond = np.maximum(degree - self._most_degree, 0)
        least, most = np.log(min(self.slowdown.min(), 1.0)), np.log(self.slowdown.max()) + np.log(STRETCH) * beyond
        return np.where(degree == 1, 1.0, np.exp(np.clip(logs, least, most)))

    def _deviation(self, rows: Positions) -> Array:
        """Standard deviation of the slowdown, from that of its logarithm (delta method)."""
        deviation = np.zeros(len(rows.variant))
        for first in range(0, len(deviation), ROWS_AT_ONCE):
            some = slice(first, first + ROWS_AT_ONCE)
            deviation[some] = self._log_deviation(Positions(*(each[some] for each in rows)))
        alone = (rows.others == self._index.nobody).all(axis=1)
        return np.where(alone, 0.0, self._slowdown(rows) * deviation)

    def _log_deviation(self, rows: Positions) -> Array:
        """Standard deviation of the logarithm of the slowdown."""
        known, c = self._known, self.parameters.weights
        covariance = kernel.covariance(
            known.machine[rows.machine], known.suffer[rows.variant], self._index.sums(known.harm, rows.others), c
        )
        solved = solve_triangular(self._factor[0], covariance.T, lower=True)
        prior = kernel.covariance(1.0, 1.0, self._own_sum(rows), c)
        variance = np.maximum(prior - (solved * solved).sum(axis=0), 0.0) + self.parameters.noise
        deviation: Array = np.sqrt(variance) * self._scale
        return deviation

    def _own_sum(self, rows: Positions) -> Array:
        """S of each row with itself."""
        padded = np.pad(self._harm_similarity, ((0, 1), (0, 1)))
        pairs = padded[rows.others[:, :, None], rows.others[:, None, :]]
        total: Array = pairs.sum(axis=(1, 2))
        return total

    # -- what follows from the examples -----------------------------------------------------------------------

    @cached_property
    def _index(self) -> ExamplesIndex:
        return ExamplesIndex(self.variants, self.machines)

    @cached_property
    def _most_degree(self) -> int:
        return max(configuration.degree for configuration in self.configurations)

    @cached_property
    def _mean(self) -> float:
        return float(np.log(self.slowdown).mean())

    @cached_property
    def _scale(self) -> float:
        return float(np.log(self.slowdown).std()) or 1.0

    @cached_property
    def _harm_similarity(self) -> Array:
        return self._similarity(self.parameters.harm_scales, self.parameters.harm_identity)

    def _similarity(self, scales: Array, identity: float) -> Array:
        """Of all variants and, last, of one that is unknown: shape [variants + 1, variants + 1]."""
        metrics = self.points.shape[1]
        with_unknown = np.vstack([self.points, np.zeros((1, metrics))])
        same = np.diag([1.0] * len(self.variants) + [0.0])
        alike = kernel.similarity(np, with_unknown, with_unknown, scales)
        made: Array = kernel.with_identity(alike, same, identity, metrics)
        return made

    @cached_property
    def _rows(self) -> Positions:
        return self._index.positions(self.configurations)

    @cached_property
    def _similarities(self) -> tuple[Array, Array]:
        """km and kv with an unknown machine type and an unknown variant at the end."""
        machine = self.parameters.machine_similarity
        unknown = machine.mean(axis=0)
        bordered = np.block([[machine, unknown[:, None]], [unknown[None, :], np.ones((1, 1))]])
        return bordered, self._similarity(self.parameters.suffer_scales, self.parameters.suffer_identity)

    @cached_property
    def _columns(self) -> tuple[Array, Array, Array]:
        """km, kv and sums of ku between anything known and the examples."""
        rows = self._rows
        machine, suffer = self._similarities
        harm = self._index.sums(self._harm_similarity, rows.others).T
        return machine[:, rows.machine], suffer[:, rows.variant], np.ascontiguousarray(harm)

    @cached_property
    def _factor(self) -> tuple[Array, bool]:
        rows = self._rows
        machine, suffer, harm = self._columns
        covariance = kernel.covariance(
            machine[rows.machine], suffer[rows.variant], self._index.sums(harm, rows.others), self.parameters.weights
        )
        covariance[np.diag_indices_from(covariance)] += self.parameters.noise / self.repeats + JITTER
        factor: tuple[Array, bool] = cho_factor(covariance, lower=True)
        return factor

    @cached_property
    def _known(self) -> _Known:
        machine, suffer, harm = self._columns
        targets = (np.log(self.slowdown) - self._mean) / self._scale
        return _Known(harm, suffer, machine, cho_solve(self._factor, targets))
