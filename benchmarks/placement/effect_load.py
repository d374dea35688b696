"""The load of the real effect: which variants, in batches of how many rows, how busy each keeps a CPU, which mixes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from predictor.measure.positions import Role

ROLES = (
    Role("digits-cnn-l", 4),
    Role("strip-find-m", 16),
    Role("digits-cnn-xl", 8),
    Role("strip-find-l", 4),
    Role("sentiment-minilm-1", 4),
    Role("digits-ensemble", 8),
    Role("sentiment-minilm-3", 4),
    Role("sentiment-minilm-6", 4),
    Role("strip-find-xl", 16),
)
"""A query is one batch; the shortest takes some 0.15 ms alone, the longest some 20 ms, in this order."""

LEAST_UTILISATION, MOST_UTILISATION = 0.15, 0.4
"""Of a CPU, by one variant alone."""

LEAST_TOTAL, MOST_TOTAL = 0.9, 1.25
"""Of both CPUs, in sum over a mix: moderate, and no two variants of a mix are too much for one CPU."""

P95 = 0.95

MIX_SIZES = (4, 4, 3)
"""In turns."""

Mix = tuple[str, ...]
"""Different variants in the order of their arrival."""


@dataclass(frozen=True)
class SteadyLoad:
    """Queries that come for a variant independently of each other and of the answers (Poisson)."""

    role: Role
    utilisation: float  # of a CPU, alone
    service_s: float  # CPU time of a query, alone

    @property
    def rate_qps(self) -> float:
        """Queries per second."""
        return self.utilisation / self.service_s


def draw_utilisations(names: Sequence[str], rng: np.random.Generator) -> dict[str, float]:
    """Evenly from the least to the most, in random order."""
    values = rng.permutation(np.linspace(LEAST_UTILISATION, MOST_UTILISATION, len(names)))
    return dict(zip(names, values.tolist(), strict=True))


def draw_mixes(utilisation: Mapping[str, float], number: int, rng: np.random.Generator) -> list[Mix]:
    """``number`` different mixes of `MIX_SIZES` variants each, in total between `LEAST_TOTAL` and `MOST_TOTAL`.

    ``utilisation`` is in the order of the sizes of the variants: a mix has one of the smaller and one of the larger
    half. Raises ValueError where that many are not found.
    """
    names = list(utilisation)
    found: list[Mix] = []
    for _ in range(1000 * number):
        if len(found) == number:
            return found
        chosen = rng.permutation(len(names))[: MIX_SIZES[len(found) % len(MIX_SIZES)]].tolist()
        mix = tuple(names[index] for index in chosen)
        total = sum(utilisation[name] for name in mix)
        spans = min(chosen) < len(names) // 2 <= max(chosen)
        if spans and LEAST_TOTAL <= total <= MOST_TOTAL and set(mix) not in map(set, found):
            found.append(mix)
    raise ValueError(f"no {number} mixes of {', '.join(names)} within the total utilisation; ask for fewer")


def arrivals_s(rate_qps: float, window_s: float, rng: np.random.Generator) -> tuple[float, ...]:
    """A Poisson process in [0, ``window_s``), conditioned on one arrival at least."""
    number = max(1, int(rng.poisson(rate_qps * window_s)))
    return tuple(np.sort(rng.uniform(0.0, window_s, number)).tolist())
