"""Quantiles for models that only give one number."""

import numpy as np
from numpy.typing import NDArray

from forecast.forecaster import LEVELS, Forecast
from forecast.training.scores import score

LEAST_QPS = 1.0
"""Loads below this one are off by a difference, not by a factor."""

HOUR_S = 3600
PART_S = 10
"""Scheduled work begins within seconds of the same place in every hour."""

LEAST_IN_PART = 40
"""A part of the hour that fewer forecasts are known of, with those beside it, is like all others."""

LEAST_PARTS = 4
"""With fewer, a part and those beside it are the whole hour."""

Ratios = NDArray[np.float64]


def ratios(truth_qps: NDArray[np.float64], point_qps: NDArray[np.float64]) -> Ratios:
    """By how much the truth was above the point forecast, at each level: empirical quantiles of their ratio.

    Shape ``[len(LEVELS)]``. Take them from origins that the model did not learn from, or they are too narrow.
    """
    found: Ratios = np.quantile(_off(truth_qps, point_qps), LEVELS)
    return found


def ratios_by_clock(
    truth_qps: NDArray[np.float64], point_qps: NDArray[np.float64], begins_s: NDArray[np.int64], every_s: int
) -> Ratios | None:
    """`ratios` for each part of the hour, shape ``[parts, len(LEVELS)]``; None where the clock says nothing.

    ``begins_s``, ascending, are the instants at which the windows of the forecasts begin, ``every_s`` apart where
    nothing is missing. A part is `PART_S` long, or ``every_s`` where that is more, and counts with those right before
    and after it. The clock says something where quantiles by it, of the older half of the forecasts, have a smaller
    pinball loss on the newer half than those of all parts together.
    """
    parts = HOUR_S // max(PART_S, every_s)
    if parts < LEAST_PARTS:
        return None
    half = len(truth_qps) // 2
    older, newer = slice(None, half), slice(half, None)
    known = _by_part(truth_qps[older], point_qps[older], begins_s[older], parts)
    if known is None:
        return None
    by_clock = spread(point_qps[newer], at_clock(known, begins_s[newer]))
    alike = spread(point_qps[newer], ratios(truth_qps[older], point_qps[older]))
    if score(by_clock, truth_qps[newer]).pinball_qps >= score(alike, truth_qps[newer]).pinball_qps:
        return None
    return _by_part(truth_qps, point_qps, begins_s, parts)


def at_clock(by_clock: Ratios, begins_s: NDArray[np.int64]) -> Ratios:
    """Those of `ratios_by_clock` for windows that begin at these instants, shape ``[len(begins_s), len(LEVELS)]``."""
    found: Ratios = by_clock[_part(begins_s, len(by_clock))]
    return found


def spread(point_qps: NDArray[np.float64], ratios: Ratios) -> Forecast:
    """The forecast whose quantiles are as far from the point as those that were.

    ``ratios`` has shape ``[len(LEVELS)]``, or ``[len(point_qps), len(LEVELS)]`` where they differ.
    """
    point = np.maximum(point_qps, 0.0)
    return Forecast(np.maximum((point[:, None] + LEAST_QPS) * ratios - LEAST_QPS, 0.0), point)


def _off(truth_qps: NDArray[np.float64], point_qps: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = (truth_qps + LEAST_QPS) / (point_qps + LEAST_QPS)
    return found


def _part(begins_s: NDArray[np.int64], parts: int) -> NDArray[np.int64]:
    found: NDArray[np.int64] = begins_s % HOUR_S * parts // HOUR_S
    return found


def _by_part(
    truth_qps: NDArray[np.float64], point_qps: NDArray[np.float64], begins_s: NDArray[np.int64], parts: int
) -> Ratios | None:
    """None where too little is known of every part."""
    off, part = _off(truth_qps, point_qps), _part(begins_s, parts)
    own = [off[part == number] for number in range(parts)]
    near = [np.concatenate([own[number - 1], own[number], own[(number + 1) % parts]]) for number in range(parts)]
    if max(len(each) for each in near) < LEAST_IN_PART:
        return None
    usual = ratios(truth_qps, point_qps)
    return np.stack([np.quantile(each, LEVELS) if len(each) >= LEAST_IN_PART else usual for each in near])
