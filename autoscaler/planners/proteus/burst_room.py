"""What workers bear in a burst where they hold fallback variants."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ortools.math_opt.python import mathopt

from autoscaler.planners.proteus.column import Column
from autoscaler.planners.proteus.placement_model import PlacementModel


@dataclass(frozen=True)
class BurstRoom:
    """What a worker bears in a burst, by device type and endpoint, in queries per second; where none, nothing."""

    fastest_qps: Mapping[tuple[str, str], float]

    @classmethod
    def of(cls, columns: Iterable[Column]) -> "BurstRoom":
        """Every worker may hold the fastest variant of its endpoint beside what is planned."""
        fastest: dict[tuple[str, str], float] = {}
        for column in columns:
            for use in column.uses:
                key = (column.device, use.endpoint)
                fastest[key] = max(fastest.get(key, 0.0), use.qps)
        return cls(fastest)

    def of_worker(self, column: Column) -> dict[str, float]:
        """By endpoint what one worker of a column bears; several endpoints have the same part of its time each."""
        names = {use.endpoint for use in column.uses}
        return {name: self.fastest_qps[column.device, name] / len(names) for name in names}

    def of_workers(self, counts: Mapping[Column, int]) -> dict[str, float]:
        """By endpoint what all workers bear."""
        found: dict[str, float] = {}
        for column, count in counts.items():
            for name, qps in self.of_worker(column).items():
                found[name] = found.get(name, 0.0) + count * qps
        return found

    def require(self, model: PlacementModel, qps: Mapping[str, float]) -> None:
        """From now on every endpoint's workers must bear so much."""
        terms: dict[str, list[mathopt.LinearTerm]] = {name: [] for name in qps}
        for column, count in model.count.items():
            for name, own_qps in self.of_worker(column).items():
                if name in terms:
                    terms[name].append(own_qps * count)
        for name, own in terms.items():
            model.model.add_linear_constraint(mathopt.fast_sum(own) >= qps[name])
