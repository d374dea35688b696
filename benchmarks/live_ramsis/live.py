"""Loads on a running service: what came back, what batches needed on their way, and what tables promised."""

import contextlib
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.live_ramsis.latency import Ahead, MeasuredLatency, ahead_of, estimates_of
from benchmarks.live_ramsis.loads import Case, Floats
from benchmarks.live_ramsis.scene import ENDPOINT, Scene, dataset
from benchmarks.live_ramsis.ways import Ways
from catalog.profiles.profile import LatencyProfile
from dispatch.latency.estimate import LatencyEstimate
from serve_app.testing.queries import Queries
from serve_app.testing.repeatedly import Repeatedly
from serve_app.testing.sender import Load
from serve_app.testing.service import running, sending
from serve_app.testing.status_watch import Snapshot, look

START_WITHIN_S = 300.0
SOON_S = 0.5
REST_S = 1.0
LOOK_EVERY_S = 2.5
"""A status costs the router some milliseconds: rather few of them."""

Say = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Played:
    """A case on the live service.

    ``sent_s`` are the instants at which all its queries left, from the begin of the first case; ``from_s`` is the one
    from which on they count, and ``queries`` are those. ``path`` is what their batches needed, ``ways`` the way
    of every batch of the load, ``estimates`` what the
    service reckoned with, look by look; ``ahead`` is how it launched ahead of results, likewise. ``promise`` is the
    service's own account at the end.
    ``slack_share`` is what feedback let policies spend of the slack, the mean over looks.
    """

    case: Case
    sent_s: Floats
    from_s: float
    queries: Queries
    path: MeasuredLatency
    ways: Ways
    estimates: Sequence[LatencyEstimate]
    promise: Mapping[str, Any]
    tables: Mapping[str, Any]
    slack_share: float = 1.0
    ahead: Sequence[Ahead] = ()


def play(scene: Scene, system: str, cases: Sequence[Case], folder: Path, say: Say) -> list[Played]:
    """All cases one after the other on one service of a system."""
    content = scene.content(system, folder)
    queries = dataset()
    profiles = {name: each.profile for name, each in scene.profiled.items()}
    with running(content, folder, ENDPOINT, queries.bodies[0], within_s=START_WITHIN_S) as service:
        _wait_for_workers(service.url, scene.workers)
        say(f"{system}: {scene.workers} workers after {service.ready_s:.0f} s")
        zero_s = time.monotonic()
        found = []
        with sending(service, ENDPOINT, queries) as sender:
            for case in cases:
                snapshots: list[Snapshot] = []
                load = Load(case.arrivals_s(), case.duration_s, time.monotonic() + SOON_S)
                from_s = load.begin_s + case.warm_s
                with Repeatedly(lambda: _look(service.url, from_s, snapshots), LOOK_EVERY_S):  # noqa: B023
                    sender.begin(load)
                    whole = sender.finish()
                last = look(service.url)
                found.append(_played(case, whole, from_s, zero_s, [*snapshots, last], last, profiles))
                say(f"{system}, {case.trace} at {case.share:.0%}: {_in_words(found[-1])}")
                time.sleep(REST_S)
    return found


def _look(url: str, from_s: float, snapshots: list[Snapshot]) -> None:
    if time.monotonic() >= from_s:
        with contextlib.suppress(OSError):  # one look less
            snapshots.append(look(url))


def _played(
    case: Case,
    whole: Queries,
    from_s: float,
    zero_s: float,
    snapshots: Sequence[Snapshot],
    last: Snapshot,
    profiles: Mapping[str, LatencyProfile],
) -> Played:
    endpoint = last.endpoint(ENDPOINT)
    counted = whole.where(whole.intended_s >= from_s)
    path = MeasuredLatency.of(counted, profiles)
    sent_s = np.sort(whole.sent_s) - zero_s
    return Played(
        case,
        sent_s,
        from_s - zero_s,
        counted,
        path,
        Ways.of(whole, zero_s),
        estimates_of(snapshots, path.typical_run_s),
        endpoint["guarantee"],
        endpoint["tables"],
        statistics.fmean(each.endpoint(ENDPOINT)["feedback"]["slack_factor"] for each in snapshots),
        ahead_of(snapshots, float(sent_s[0]), zero_s),
    )


def _wait_for_workers(url: str, workers: int) -> None:
    """The service says that it is ready as soon as some are there."""
    end_s = time.monotonic() + START_WITHIN_S
    while len(look(url).status["workers"]) < workers:
        if time.monotonic() > end_s:
            raise RuntimeError(f"{url} has fewer than {workers} workers after {START_WITHIN_S:.0f} s")
        time.sleep(0.5)


def _in_words(played: Played) -> str:
    queries, path = played.queries, played.path
    return (
        f"{len(queries)} queries, {100 * queries.violated.mean():.2f}% violations, way {1e3 * path.path_s:.1f} ms, "
        f"95% in {1e3 * path.path_tail_s:.1f}, tables {played.tables['state']}"
    )
