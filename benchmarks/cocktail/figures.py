"""What is said of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median

import numpy as np

from benchmarks.cocktail.models import ASKS
from benchmarks.cocktail.play import Outcome
from benchmarks.cocktail.systems import TRANSFER_S
from simulator.pools.spot_market import HOUR_S, Lease


@dataclass(frozen=True)
class Figures:
    """Of one run. Latencies are from arrival to answer without the way."""

    dollars_per_h: float
    violations_pct: float  # late, or cut short
    late_pct: float
    latency_p25_s: float
    latency_p50_s: float
    latency_p75_s: float
    response_p50_s: float  # with the way
    met_pct: float  # of requests whose window is right often enough
    accuracy_pct: float
    members: float  # that voted, in the mean
    machines: float  # in the mean over time
    started: int
    interrupted: int

    @classmethod
    def of(cls, outcome: Outcome) -> "Figures":
        """Queries without an answer are late."""
        quartiles_s = np.percentile(outcome.latency_s, [25, 50, 75], method="lower")
        return cls(
            dollars_per_h=outcome.dollars * HOUR_S / outcome.length_s,
            violations_pct=_percent(outcome.violated),
            late_pct=_percent(outcome.late),
            latency_p25_s=float(quartiles_s[0]),
            latency_p50_s=float(quartiles_s[1]),
            latency_p75_s=float(quartiles_s[2]),
            response_p50_s=float(quartiles_s[1]) + TRANSFER_S,
            met_pct=_percent(outcome.met),
            accuracy_pct=_percent(outcome.right),
            members=float(outcome.members.mean()),
            machines=machine_seconds(outcome.leases, outcome.length_s) / outcome.length_s,
            started=len(outcome.leases),
            interrupted=outcome.lost,
        )


def medians(runs: Sequence[Figures]) -> dict[str, float]:
    """Field by field."""
    records = [asdict(run) for run in runs]
    return {name: float(median(record[name] for record in records)) for name in records[0]}


def by_ask(outcomes: Sequence[Outcome]) -> dict[str, dict[str, float]]:
    """Medians over runs by constraint: the median latency, and the parts that are late and that are met."""
    found: dict[str, dict[str, float]] = {}
    for number, ask in enumerate(ASKS):
        own = [(outcome, outcome.ask == number) for outcome in outcomes]
        if not all(mine.any() for _, mine in own):
            continue
        found[ask.name] = {
            "latency_p50_s": median(float(np.percentile(o.latency_s[mine], 50, method="lower")) for o, mine in own),
            "violations_pct": median(_percent(o.violated[mine]) for o, mine in own),
            "met_pct": median(_percent(o.met[mine]) for o, mine in own),
            "members": median(float(o.members[mine].mean()) for o, mine in own),
        }
    return found


def ratios(ours: Sequence[Figures], other: Sequence[Figures]) -> Mapping[str, float]:
    """How many times as dear, and how many times as slow in the median, another system is; medians over seeds."""
    pairs = list(zip(ours, other, strict=True))
    return {
        "times_as_dear": median(b.dollars_per_h / a.dollars_per_h for a, b in pairs),
        "times_as_slow": median(b.latency_p50_s / a.latency_p50_s for a, b in pairs),
        "times_as_slow_with_transfer": median(b.response_p50_s / a.response_p50_s for a, b in pairs),
    }


def machine_seconds(leases: Sequence[Lease], length_s: float) -> float:
    """How long machines were there, from when they were asked for, in sum."""
    return sum(max(min(each.ended_s, length_s) - each.asked_s, 0.0) for each in leases)


def _percent(flags: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> float:
    return 100.0 * float(flags.mean()) if len(flags) else 0.0
