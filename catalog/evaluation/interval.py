"""Confidence intervals of shares."""

from math import sqrt

Z_95 = 1.959963984540054
"""Standard normal quantile of a two-sided interval of 95%."""


def wilson(hits: float, count: float, z: float = Z_95) -> tuple[float, float]:
    """Wilson's score interval (E. B. Wilson, 1927) of a share: ``hits`` of ``count``, 0 to 1; all where count is 0."""
    if count <= 0:
        return 0.0, 1.0
    share, square = hits / count, z * z
    centre = share + square / (2.0 * count)
    half = z * sqrt(share * (1.0 - share) / count + square / (4.0 * count * count))
    scale = 1.0 + square / count
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)
