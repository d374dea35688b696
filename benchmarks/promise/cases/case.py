"""One policy under one condition at one load: its figures, and their median over rounds."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from statistics import median
from typing import Any

from benchmarks.promise.cases.figures import Figures, kept_again_s
from benchmarks.promise.cases.timeline import Timeline
from serve_app.testing.queries import Queries
from serve_app.testing.status_watch import Snapshot


@dataclass(frozen=True)
class Case:
    """``judged`` leaves out the seconds after a change, ``whole`` nothing.

    Seconds until the promise is kept again are from the change: ``kept_again_s`` by the answers, ``said_kept_again_s``
    by what the service says, None where that was not so at the end, or where the service does not say.
    """

    condition: str
    policy: str
    load_share: float  # of the highest load
    load_qps: float
    judged: Figures
    whole: Figures
    kept_again_s: float | None
    said_kept_again_s: float | None
    generator_lag_p99_ms: float  # how late the generator itself sent; beyond 10 ms it distorts what clients see
    machine_speed: float  # before and after the case, with nothing to do; 1: as when the highest load was found
    times_played: int  # more than once: that changed meanwhile, and these are the figures of the last time

    @property
    def key(self) -> tuple[str, str, float]:
        """What it is a case of."""
        return self.condition, self.policy, self.load_share


def judge(
    names: tuple[str, str, float],
    load_qps: float,
    timeline: Timeline,
    began_s: float,
    queries: Queries,
    snapshots: Sequence[Snapshot],
    *,
    endpoint: str,
    slo_ms: float,
    lag_p99_ms: float,
    machine_speed: float,
    times_played: int,
) -> Case:
    """The figures of a load that began at ``began_s`` of the monotonic clock."""
    change_s, end_s = began_s + timeline.change_s, began_s + timeline.duration_s
    judged = queries.intended_in([(began_s + start_s, began_s + end_s) for start_s, end_s in timeline.judged_s])
    return Case(
        *names,
        load_qps=load_qps,
        judged=Figures.of(judged, slo_ms),
        whole=Figures.of(queries, slo_ms),
        kept_again_s=kept_again_s(queries, change_s, end_s),
        said_kept_again_s=said_kept_again_s(snapshots, endpoint, change_s, end_s),
        generator_lag_p99_ms=lag_p99_ms,
        machine_speed=machine_speed,
        times_played=times_played,
    )


def said_kept_again_s(snapshots: Sequence[Snapshot], endpoint: str, change_s: float, end_s: float) -> float | None:
    """From the change to the first snapshot from which on the service never says no; 0 where it never did.

    None where its last word is no, or where it says nothing.
    """
    words = [
        (snapshot.told_s, (snapshot.endpoint(endpoint).get("guarantee") or {}).get("kept"))
        for snapshot in snapshots
        if change_s <= snapshot.asked_s <= end_s
    ]
    words = [(told_s, word) for told_s, word in words if word is not None]
    if not words or words[-1][1] == "no":
        return None
    after = 1 + max((index for index, (_, word) in enumerate(words) if word == "no"), default=-1)
    return words[after][0] - change_s if after else 0.0


def over_rounds(rounds: Sequence[Case]) -> Case:
    """Medians of every figure over rounds of the same case."""
    return Case(*rounds[0].key, *(_median([getattr(each, f.name) for each in rounds]) for f in fields(Case)[3:]))


def _median(values: Sequence[Any]) -> Any:
    """Field by field and key by key; a time that was None in half of the rounds or more is None."""
    first = values[0]
    if isinstance(first, Figures):
        return Figures(*(_median([getattr(each, f.name) for each in values]) for f in fields(Figures)))
    if isinstance(first, dict):
        names = {name: None for each in values for name in each}
        return {name: median(each.get(name, 0.0) for each in values) for name in names}
    known = [value for value in values if value is not None]
    if isinstance(first, int):
        return round(median(known))
    return median(known) if 2 * len(known) > len(values) else None
