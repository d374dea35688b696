"""Variants as points, so that those with similar metrics are near each other on every machine type."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from predictor.variant_table import VariantTable

LOG_FROM_RATIO = 20.0
"""Metrics whose largest value is so many times the smallest are compared by their logarithms."""


def variant_points(
    table: VariantTable, variants: Sequence[str], columns: Sequence[str] | None = None
) -> NDArray[np.float64]:
    """Metrics of variants in standard deviations from the mean: shape [variants, metrics].

    Metrics alone on a machine are taken relative to the other variants there, then averaged over the machine types
    where they are known: so one point stands for a variant everywhere, also where it was never profiled (section 3.2:
    metrics of some machine types suffice). What is not known is 0, the mean; so a variant without metrics is the mean
    variant. ``columns`` chooses metrics; None takes all that there are.
    """
    wanted = (*table.hardware_columns, *table.architecture_columns) if columns is None else tuple(columns)
    points = [
        _over_machines(table, variants, name)
        if name in table.hardware_columns
        else _standardised([table.architecture.get(variant, {}).get(name) for variant in variants])
        for name in wanted
    ]
    return np.column_stack(points) if points else np.zeros((len(variants), 0))


def _over_machines(table: VariantTable, variants: Sequence[str], name: str) -> NDArray[np.float64]:
    machines = sorted({machine for machine, _ in table.hardware})
    by_machine = np.array([_relative(table.hardware, machine, variants, name) for machine in machines])
    known = np.isfinite(by_machine)
    total = np.where(known, by_machine, 0.0).sum(axis=0)
    means = total / np.maximum(known.sum(axis=0), 1)
    return _standardised([mean if there else None for mean, there in zip(means, known.any(axis=0), strict=True)], 1.0)


def _relative(
    hardware: Mapping[tuple[str, str], Mapping[str, float]], machine: str, variants: Sequence[str], name: str
) -> NDArray[np.float64]:
    values = [hardware.get((machine, variant), {}).get(name) for variant in variants]
    return np.where([value is None for value in values], np.nan, _standardised(values))


def _standardised(values: Sequence[float | None], size: float | None = None) -> NDArray[np.float64]:
    """All 0 where values differ by no more than rounding of what has that size, by default the largest of them."""
    there = np.array([value is not None for value in values])
    numbers = np.array([0.0 if value is None else value for value in values], dtype=np.float64)
    if not there.any():
        return np.zeros(len(values))
    least, most = numbers[there].min(), numbers[there].max()
    if least > 0 and most / least > LOG_FROM_RATIO:
        numbers = np.log(np.where(there, numbers, 1.0))
    mean, deviation = numbers[there].mean(), numbers[there].std()
    if deviation <= 1e-9 * (np.abs(numbers[there]).max() if size is None else size):
        return np.zeros(len(values))
    return np.where(there, (numbers - mean) / deviation, 0.0)
