"""The same cases in virtual time: the live router's plan, run times as emulated, and ways as they were measured."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, product
from pathlib import Path

import numpy as np
from rich.progress import Progress

from benchmarks.live_ramsis.live import Played
from benchmarks.live_ramsis.loads import Floats
from benchmarks.live_ramsis.scene import BY_TABLES, DEVICE, ENDPOINT, POOL, SELECTIONS, Scene
from benchmarks.live_ramsis.ways import Ways
from catalog.profiles.profile import LatencyProfile
from deployments.controller.variants.variant_book import VariantBook
from deployments.router.tables.making import table_store
from deployments.router.warm_up import sizes_in_time
from deployments.runtimes.run_times import RunTimes
from dispatch.latency.estimator import LatencyEstimator
from dispatch.plan import EndpointPlan, Plan
from dispatch.query import Batch
from dispatch.selection.ramsis.policy import RamsisSelection
from dispatch.selection.ramsis.tables.grid import TableGrid
from dispatch.selection.ramsis.tables.latency_level import LatencyLevel
from dispatch.selection.ramsis.tables.leveled_grids import LeveledGrids
from dispatch.selection.ramsis.tables.maker import make_table
from dispatch.selection.ramsis.tables.work import NEAR, TableTask, TableWork, worth_a_table
from dispatch.table_plan import with_selection
from serve_app.build.assemble import assemble
from serve_app.build.control import control_settings
from serve_app.build.ingress import MOST_QPS
from serve_app.build.ladders import ladders_for
from serve_app.build.profiles import profiles_for
from simulator.host import Host
from simulator.record import Record

SEEDS = 5
"""So many times a session is played: near the capacity violations of some seconds are those of few queues."""


@dataclass(frozen=True, eq=False)
class Simulated:
    """One entry per query of a session, in the order of arrival: when it came, whether it was in time, and the accuracy
    of the variant that answered. ``slack_shares`` has one entry per case: the mean share of the slack that policies
    might spend when batches were launched that count."""

    arrival_s: Floats
    in_time: np.ndarray[tuple[int], np.dtype[np.bool_]]
    accuracy: Floats
    slack_shares: Sequence[float]


def simulate(scene: Scene, system: str, session: Sequence[Played], folder: Path, progress: Progress) -> list[Simulated]:
    """A whole session on one dispatcher, as live, so that what a case leaves behind is there for the next; `SEEDS`
    times, with other draws. It begins with what a router has learned when it says ready.

    Batches are launched ahead of results as the router did at that time.
    Before that it is played with run times as the emulation draws them, then with those so many times as long as live
    runs were longer than that in each case: threads that wake up late on a busy machine.
    """
    _, profiles = plan_of(scene, system, folder)
    app, _ = scene.app(system, folder)
    grids = make_tables(scene, system, session, folder, progress) if system in BY_TABLES else None
    workers = {f"w{number:03}": DEVICE for number in range(scene.workers)}
    ready_s = app.warm_up_s
    shifted = [_later(each, ready_s) for each in session]
    sent_s = np.concatenate([each.sent_s for each in session])
    paths = [each.path for each in session]
    ways = Ways.joined([each.ways for each in session], ready_s)

    def played(slowdowns: Sequence[float], seed: int) -> tuple[SessionLatency, Record]:
        estimator = LatencyEstimator(app.transport_ms / 1e3)
        served, _ = plan_of(scene, system, folder)  # its load monitor and its balancer have seen nothing yet
        if grids is not None:
            served = with_selection(served, RamsisSelection(leveled={DEVICE: grids}), estimator.typical)
        latency = SessionLatency(profiles, shifted, ways, slowdowns, estimator, seed)
        _warm_up(estimator, served, workers, latency, ready_s)
        host = Host(Plan(1, {ENDPOINT: served}), workers, latency, estimator=estimator)
        latency.slack_share = partial(host.slack_share, ENDPOINT)
        return latency, host.run({ENDPOINT: sent_s + ready_s})

    as_drawn, _ = played([1.0] * len(session), scene.seed)
    slowdowns = [each.run_factor / drawn for each, drawn in zip(paths, as_drawn.run_factors, strict=True)]
    found = []
    bar = progress.add_task(f"simulating {system}", total=SEEDS)
    for seed in range(scene.seed, scene.seed + SEEDS):
        latency, record = played(slowdowns, seed)
        accuracy = np.append(record.batches.accuracy, np.nan)[record.batch]
        in_time = record.done_s <= record.deadline_s
        found.append(Simulated(sent_s, in_time, accuracy, latency.slack_shares))
        progress.advance(bar)
    return found


def _later(played: Played, by_s: float) -> Played:
    ahead = [replace(each, from_s=each.from_s + by_s) for each in played.ahead]
    return replace(played, sent_s=played.sent_s + by_s, from_s=played.from_s + by_s, ahead=ahead)


def plan_of(scene: Scene, system: str, folder: Path) -> tuple[EndpointPlan, Mapping[str, LatencyProfile]]:
    """The endpoint as the live router has it once the controller has spoken, without tables; and the profiles."""
    app, catalogue = scene.app(system, folder)
    profiles = profiles_for(app, catalogue)
    settings = control_settings(app, catalogue, profiles)
    book = VariantBook(settings)
    endpoint = settings.endpoints[ENDPOINT]
    offered = book.candidates(endpoint, lambda _: 1.0, lambda _: 1.0, ())[POOL]
    if endpoint.by_tables:
        offered = worth_a_table(offered, endpoint.limits.slo_s)
    plan = assemble(app, catalogue, profiles, ladders=ladders_for(app, catalogue, profiles)).plan.endpoints[ENDPOINT]
    candidates = tuple(book.as_profiled(candidate, POOL) for candidate in offered)
    return plan.with_stage(candidates={DEVICE: candidates}), profiles[DEVICE]


def _warm_up(
    estimator: LatencyEstimator,
    served: EndpointPlan,
    workers: Iterable[str],
    latency: "SessionLatency",
    length_s: float,
) -> None:
    """What a router learns in the first ``length_s`` seconds, before it says ready (`deployments.router.warm_up`)."""
    sizes = [
        (candidate, rows)
        for candidate in served.stage.candidates[DEVICE]
        for rows in sizes_in_time(candidate.latency_s, served.slo_s)
    ]
    for worker in workers:
        spent_s = 0.0
        for candidate, rows in cycle(sizes):
            run_s, way_s = latency.draw_s(0, candidate.variant, rows, 0.0)
            spent_s += run_s + way_s
            if spent_s >= length_s:
                break
            estimator.on_batch(worker, candidate, rows, run_s, run_s + way_s, 0.0, spent_s)


def make_tables(scene: Scene, system: str, session: Sequence[Played], folder: Path, progress: Progress) -> LeveledGrids:
    """Those that a router makes first for the loads of a session and what it reckoned with, look by look: kept ones, or
    made now and kept."""
    plan, _ = plan_of(scene, system, folder)
    task = TableTask(
        plan.stage.candidates[DEVICE],
        scene.slo_s,
        scene.workers,
        "round_robin",
        MOST_QPS,
        SELECTIONS[system].get("formulation"),
    )
    grids: dict[LatencyLevel, TableGrid] = {}
    for each in progress.track(session, description=f"decision tables of {system}"):
        work = TableWork(task)
        for estimate, load_qps in product(each.estimates, loads_between(*each.case.span_qps)):
            work.aim(estimate, load_qps)
            while (wanted := work.next(ahead=False)) is not None:
                level, problem = wanted
                work.add(level, make_table(problem, store=table_store()))
            made = work.grids
            assert made is not None
            grids |= {level: with_more(grids.get(level), grid) for level, grid in made.grids.items()}
    return LeveledGrids(grids)


def with_more(grid: TableGrid | None, more: TableGrid) -> TableGrid:
    """The tables of both, which are for one level: a router forgets levels that a session comes back to later."""
    tables = {table.load_qps: table for known in (grid, more) if known is not None for table in known.tables}
    return TableGrid(tuple(tables[load_qps] for load_qps in sorted(tables)), more.beyond)


def loads_between(lowest_qps: float, highest_qps: float) -> list[float]:
    """Loads for which tables near each of them are enough for all loads in between, and some beside."""
    low, high = NEAR
    loads_qps = [lowest_qps * low]
    while loads_qps[-1] < highest_qps:
        loads_qps.append(loads_qps[-1] * high / low)
    return loads_qps


class SessionLatency:
    """Run times as emulated workers draw them, and ways as they were in each case of a session.

    Runs of each case take its one of ``slowdowns`` times as long as drawn. A way is that of a batch which was launched
    about then. ``slack_share`` says what policies may spend of the slack when a batch is launched.
    The ``estimator`` is told how far ahead of results the router launched by then.
    """

    def __init__(
        self,
        profiles: Mapping[str, LatencyProfile],
        session: Sequence[Played],
        ways: Ways,
        slowdowns: Sequence[float],
        estimator: LatencyEstimator,
        seed: int,
    ) -> None:
        self.slack_share: Callable[[], float] = lambda: 1.0
        self._estimator = estimator
        self._ahead = [each for case in session for each in case.ahead]
        self._slack_sums = [0.0] * len(session)
        self._counted = [0] * len(session)
        self._count_from_s = [each.from_s for each in session]
        self._profiles = profiles
        self._starts_s = [float(each.sent_s[0]) for each in session]
        self._ways = ways
        self._slowdowns = list(slowdowns)
        self._rng = np.random.default_rng(seed)
        self._runs = {name: RunTimes(profile, "quantiles", self._rng) for name, profile in profiles.items()}
        self._ran_s = [0.0] * len(self._starts_s)
        self._profiled_s = [0.0] * len(self._starts_s)

    def times_s(self, device: str, batch: Batch) -> tuple[float, float]:
        """The next draw of both."""
        self._launch_ahead_as_at(batch.launched_s)
        case = max(bisect_right(self._starts_s, batch.launched_s) - 1, 0)
        run_s, way_s = self.draw_s(case, batch.variant, batch.rows, batch.launched_s)
        self._ran_s[case] += run_s
        self._profiled_s[case] += self._profiles[batch.variant].p95_s(batch.rows)
        if batch.launched_s >= self._count_from_s[case]:
            self._counted[case] += 1
            self._slack_sums[case] += self.slack_share()
        return run_s, way_s

    def _launch_ahead_as_at(self, now_s: float) -> None:
        if self._ahead:
            now = self._ahead[max(bisect_right(self._ahead, now_s, key=lambda each: each.from_s) - 1, 0)]
            self._estimator.lead, self._estimator.all_ahead = now.lead, now.all_ahead

    def draw_s(self, case: int, variant: str, rows: int, now_s: float) -> tuple[float, float]:
        """What a batch takes that is launched in a case: its run and its way."""
        run_s = self._slowdowns[case] * self._runs[variant].draw_s(rows)
        return run_s, self._ways.draw_s(now_s, self._rng)

    @property
    def run_factors(self) -> list[float]:
        """By case what `MeasuredLatency.run_factor` is of the runs so far: over the profile's 95th percentiles."""
        sums = zip(self._ran_s, self._profiled_s, strict=True)
        return [ran_s / profiled_s if profiled_s else 1.0 for ran_s, profiled_s in sums]

    @property
    def slack_shares(self) -> list[float]:
        """By case the mean of ``slack_share``; 1 where no batch was launched."""
        sums = zip(self._slack_sums, self._counted, strict=True)
        return [total / batches if batches else 1.0 for total, batches in sums]
