"""A sweep in figures: every system's row and frontier, and how Accord compares."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from rich.table import Table

from benchmarks.proteus.sweep import Case, Figures, Runs
from benchmarks.proteus.systems import BASELINES, SYSTEMS

HEADINGS = ("system", "head-\nroom", "answers\nper s", "at\npeak", "accuracy\n%", "largest\ndrop %", "violated\n%")
"""Of the table."""

METRICS = (
    "throughput_qps",
    "peak_throughput_qps",
    "effective_accuracy_pct",
    "max_accuracy_drop_pct",
    "slo_violation_ratio",
)

BETTER = 2.0
"""How many times better than a baseline `proteus` is to be on violations or drop, and no worse on either."""


@dataclass(frozen=True)
class Summary:
    """Means over the seeds of what was played; ``chosen`` is by system the headroom of its row."""

    runs: Runs
    chosen: Mapping[str, float]

    @property
    def systems(self) -> dict[str, dict[str, Any]]:
        """By system its row: means, the least and the greatest of the seeds, and what each headroom gave."""
        return {name: self._row(name) for name in SYSTEMS}

    def _row(self, name: str) -> dict[str, Any]:
        chosen = self._of(name, self.chosen[name])
        metrics = {metric: _mean(_values(chosen, metric)) for metric in METRICS}
        return {
            **metrics,
            "plans": fmean(each.plans for each in chosen),
            "largest_shed": max(each.largest_shed for each in chosen),
            "variants_loaded": fmean(each.variants_loaded for each in chosen),
            "median_solve_s": fmean(each.median_solve_s for each in chosen),
            "max_solve_s": max(each.max_solve_s for each in chosen),
            "headroom": self.chosen[name],
            "spread": {metric: _range(_values(chosen, metric)) for metric in METRICS},
            "frontier": self.frontier(name),
        }

    def frontier(self, name: str) -> list[dict[str, Any]]:
        """Accuracy, its largest drop and violations on the trace as recorded, by rising headroom."""
        headrooms = sorted({case.headroom for case in self.runs if case.system == name})
        recorded = {headroom: self.runs[Case(name, headroom, 0)].metrics for headroom in headrooms}
        return [
            {"headroom": headroom} | {metric: getattr(of, metric) for metric in METRICS[2:]}
            for headroom, of in recorded.items()
        ]

    def _of(self, name: str, headroom: float) -> list[Figures]:
        return [figures for case, figures in self.runs.items() if (case.system, case.headroom) == (name, headroom)]


def ratios(systems: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What the paper compares in section 6.2: how many times Accord's figure the baselines' are."""
    ours = systems["proteus"]

    def times(name: str, metric: str) -> float | None:
        return systems[name][metric] / ours[metric] if ours[metric] and systems[name][metric] is not None else None

    return {
        "accuracy_drop": {name: times(name, "max_accuracy_drop_pct") for name in BASELINES},
        "violations": {name: times(name, "slo_violation_ratio") for name in BASELINES},
        "peak_throughput_over_clipper_ha": ours["peak_throughput_qps"] / systems["clipper_ha"]["peak_throughput_qps"]
        if systems["clipper_ha"]["peak_throughput_qps"]
        else None,
    }


def goals(systems: Mapping[str, Mapping[str, Any]]) -> dict[str, bool]:
    """By baseline whether `proteus` is no worse on violations and on drop, and `BETTER` times better on one."""
    ours = _both(systems["proteus"])
    met = {}
    for name in BASELINES:
        theirs = _both(systems[name])
        pairs = list(zip(ours, theirs, strict=True))
        met[name] = all(own <= other for own, other in pairs) and any(
            own < other and BETTER * own <= other for own, other in pairs
        )
    return met


def _both(row: Mapping[str, Any]) -> tuple[float, float]:
    drop = row["max_accuracy_drop_pct"]
    return row["slo_violation_ratio"], 100.0 if drop is None else drop


def as_table(systems: Mapping[str, Mapping[str, Any]], title: str) -> Table:
    """One line per system."""
    table = Table(title=title)
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading == "system" else "right", no_wrap=True)
    for name, of in systems.items():
        table.add_row(
            name,
            f"{of['headroom']:g}",
            f"{of['throughput_qps']:.0f}",
            f"{of['peak_throughput_qps']:.0f}",
            _percent(of["effective_accuracy_pct"]),
            _percent(of["max_accuracy_drop_pct"]),
            _percent(100 * of["slo_violation_ratio"]),
        )
    return table


def _values(figures: Iterable[Figures], metric: str) -> list[float]:
    values = (getattr(each.metrics, metric) for each in figures)
    return [value for value in values if value is not None]


def _mean(values: list[float]) -> float | None:
    return fmean(values) if values else None


def _range(values: list[float]) -> list[float] | None:
    return [min(values), max(values)] if values else None


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
