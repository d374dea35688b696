"""How alike two examples are to a Gaussian process: the covariance of the logarithms of their slowdowns.

Written once for numpy (prediction) and torch (training): ``xp`` is either module. An example is a variant beside
others on a machine type. With kv and ku the similarity of variants as the one slowed down and as one that slows down
others, km that of machine types, and S = sum of ku over all pairs of an other here and an other there,

    k = km (c0 + c1 kv + c2 S + c3 kv S + c4 S^2 + c5 kv S^2).

The terms in S share what one neighbour does between pairs and triples, those in S^2 are for what neighbours do
together; a product with kv is for how much the variant suffers from it.
"""

from typing import Any

TERMS = 6


def similarity(xp: Any, points: Any, others: Any, scales: Any) -> Any:
    """exp(-d^2/2) of the distance d between points divided by ``scales``: shape [points, others]; 0 without metrics."""
    if points.shape[1] == 0:
        return points @ others.T
    a, b = points / scales, others / scales
    squares = (a * a).sum(1)[:, None] + (b * b).sum(1)[None, :] - 2.0 * (a @ b.T)
    return xp.exp(-0.5 * squares.clip(0.0))


def with_identity(alike: Any, same: Any, share: Any, metrics: int) -> Any:
    """Similarity by metrics, and, for a ``share`` of it, by being the very same one (all of it without metrics)."""
    return same if metrics == 0 else (1.0 - share) * alike + share * same


def covariance(machine: Any, variant: Any, others: Any, weights: Any) -> Any:
    """k of the module's docstring from km, kv and S, each of shape [examples, examples], and c0 to c5."""
    constant = weights[0] + weights[1] * variant
    linear = weights[2] + weights[3] * variant
    square = weights[4] + weights[5] * variant
    return machine * (constant + others * (linear + others * square))
