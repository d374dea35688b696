"""Admission control of one endpoint: who is let in, who makes room, and when variants have to be fast enough."""

from collections.abc import Collection, Mapping, Sequence
from math import inf
from typing import NamedTuple

from catalog.errors import WORKER_COMES_S, AccordError
from dispatch.admission import refusals
from dispatch.admission.displacement import displaced
from dispatch.admission.drain import common_end_s, own_end_s, pace_of
from dispatch.admission.giving_up import hopeless
from dispatch.admission.headroom import Headroom
from dispatch.admission.hurry import hurried
from dispatch.admission.recent_refusals import RecentRefusals
from dispatch.flow.flow import QueryFlow
from dispatch.plan import EndpointPlan
from dispatch.query import NORMAL_PRIORITY, ONLY_STAGE, Batch, Job, Query
from dispatch.queues.lane import Lane
from dispatch.queues.stage_queues import StageQueues
from dispatch.refusals import no_room
from dispatch.selection.greedy import NEARLY
from dispatch.selection.policy import Choice, QueueView

PROBE_S = 1.0
"""After so long without a query let in one is, whatever estimates say: they would never be corrected otherwise."""

PRESSED = 0.5
"""Where even the fastest variants need this share of a query's time for what waits, variants have to be fast enough
..."""

PRESSED_S = 0.5
"""... for so long at least."""

LAGGING = 0.2
"""Where answers reach clients later by more than this share of the objective, the router is short of its core, which
workers may share: faster variants leave it more."""

SOON = 0.5
"""What waits is to be done within this share of the objective, beside what comes meanwhile."""

ROOM = 1.25
"""A variant is fast enough that bears so many times that: arrivals come in bursts ..."""

ROOM_SHORT = 2.5
"""... and with so much it leaves most of its core to a router that is short of it, and takes in what is refused."""

HOPELESS = 0.5
"""No estimate is so wrong that a query with less than this share of the fastest run is let in to correct it."""


class Verdict(NamedTuple):
    """What becomes of a query that does not simply join: its ``refusal``, or the jobs that are ``displaced`` to make
    room for it, each with why."""

    refusal: AccordError | None
    displaced: Sequence[tuple[Job, AccordError]] = ()


class AdmissionControl:
    """Judges queries at arrival by the most that workers can do (`dispatch.admission.drain`).

    A query that fits into the next batch is always let in, unless its own deadline is shorter than the fastest
    variant's run. Behind more than that it must be done in time by the mean latencies of the fastest variants held,
    with a headroom that follows how many of those let in are late. Where it would not be, jobs of lower priority make
    room.

    ``delay_s`` is how much later than the dispatcher has them answers reach clients on average, ``high_delay_s`` what
    that seldom exceeds; the host sets both. Who is let in is to be in time with the latter, who is given up cannot be
    with the former.
    """

    def __init__(self, plan: EndpointPlan, stages: Mapping[str, StageQueues], flow: QueryFlow) -> None:
        self.delay_s = self.high_delay_s = 0.0
        self._plan = plan
        self._stages = stages
        self._flow = flow
        self._only = stages.get(ONLY_STAGE)
        self._headroom = Headroom(0.0)
        self._pressed_until_s = -inf
        self._refusals = RecentRefusals()
        self._admitted_s = -inf
        self._lowest = 0  # no waiting query has a larger priority number
        self.refresh(plan)

    def refresh(self, plan: EndpointPlan) -> None:
        """Workers, variants or limits are others from now on."""
        assert plan.limits.admission is not None
        self._plan = plan
        self._headroom.late_share = 1.0 - plan.limits.admission.in_time_share
        self.forget()

    def forget(self) -> None:
        """Something left: who was refused before may be let in now."""
        self._full_from_s = inf  # queries due then or later ...
        self._full_end_s = -inf  # ... would be done no sooner than this ...
        self._full_for = 0  # ... where their priority number is this or a larger one

    def pressed(self, now_s: float) -> bool:
        """Whether only variants that are fast enough may run."""
        return now_s < self._pressed_until_s

    @property
    def _lagging(self) -> bool:
        return self.high_delay_s > LAGGING * self._plan.slo_s

    def press(self, now_s: float) -> None:
        """Capacity is short: variants have to be fast enough for a while."""
        self._pressed_until_s = now_s + PRESSED_S

    def refusing(self, rows: int, now_s: float) -> None:
        """Rows are refused, here or in front of the router: such have to be borne too for a while."""
        self._refusals.add(rows, now_s)
        self.press(now_s)

    def surely_refused(
        self, arrival_s: float, deadline_s: float, now_s: float, priority: int = NORMAL_PRIORITY
    ) -> bool:
        """Whether a query is known to be refused; costs next to nothing."""
        if deadline_s <= now_s:
            return True
        full = deadline_s >= self._full_from_s and self._full_end_s > self._limit_s(arrival_s, deadline_s)
        return full and priority >= self._full_for and not self._probes(now_s)

    def refusal(self, query: Query, now_s: float) -> AccordError:
        """Why a query is refused of which `surely_refused` says so."""
        if query.deadline_s <= now_s:
            return refusals.expired(query, now_s)
        self.refusing(query.rows, now_s)
        return refusals.infeasible(self._plan, query, self._full_end_s, now_s)

    # -- arrivals -----------------------------------------------------------------------------------------------

    def on_arrival(self, query: Query, waiting_rows: int, now_s: float) -> Verdict | None:
        """None for a query that joins; ``waiting_rows`` wait for the endpoint already."""
        if query.deadline_s <= now_s:
            return Verdict(refusals.expired(query, now_s))
        if not waiting_rows:
            self._lowest = 0
        if self._lagging:
            self.press(now_s)
        verdict = self._judge(query, now_s) if self._only is None else self._judge_one(self._only, query, now_s)
        most = self._plan.limits.max_queued_rows
        if waiting_rows + query.rows > most and (verdict is None or verdict.refusal is None):
            verdict = self._within_bound(verdict, query, waiting_rows)
        if verdict is None or verdict.refusal is None:
            self._admitted_s = now_s
            self._lowest = max(self._lowest, query.priority)
        elif self._only is not None:
            self._only.choice = None
        return verdict

    def _judge_one(self, stage: StageQueues, query: Query, now_s: float) -> Verdict | None:
        if not stage.lanes:
            return self._without_workers(stage, query, now_s)
        if self.surely_refused(query.arrival_s, query.deadline_s, now_s, query.priority):
            return Verdict(self.refusal(query, now_s))
        central = stage.plan.central
        lane = stage.common if central else stage.lanes[stage.choose(now_s)]
        pace = pace_of(stage.lanes[0] if central else lane)
        rows = stage.worth_rows(query.rows, query.length)
        if lane.load.queued_rows + rows <= pace.batch_rows:
            least_s, left_s = pace.run_s(rows), query.deadline_s - now_s
            if central and left_s < least_s:  # of the first worker; another may be faster
                least_s = min(pace_of(each).run_s(rows) for each in stage.lanes)
            if left_s < least_s <= stage.slo_s and (left_s < HOPELESS * least_s or not self._probes(now_s)):
                return Verdict(refusals.too_short(self._plan, query, least_s, now_s))
            return None
        return self._judge_behind(stage, lane, query, now_s)

    def _judge_behind(self, stage: StageQueues, lane: Lane, query: Query, now_s: float) -> Verdict | None:
        """More waits in the lane than its next batch holds."""
        limit_s = self._limit_s(query.arrival_s, query.deadline_s)
        end_s = self._end_s(stage, lane, query, now_s)
        if end_s > limit_s and lane is not stage.common:
            other = min(stage.healthy_lanes(now_s), key=_backlog_s)
            if (sooner_s := self._end_s(stage, other, query, now_s)) < end_s:
                lane, end_s = other, sooner_s
                stage.choice = lane.index
        if end_s - query.arrival_s > PRESSED * query.allowed_s:
            self.press(now_s)
        if end_s <= limit_s or self._probes(now_s):
            return None
        if query.priority < self._lowest:
            rate = sum(pace_of(each).rate for each in (stage.lanes if lane is stage.common else (lane,)))
            rows = max(1, round((end_s - limit_s) * rate + 0.5))
            if out := displaced((lane.queue,), query, rows, ahead=True):
                return Verdict(None, self._room_of(out))
        if query.priority >= min(self._lowest, NORMAL_PRIORITY):  # those that go first are judged one by one
            self._full_from_s, self._full_end_s = query.deadline_s, end_s
            self._full_for = min(query.priority, self._lowest)
        return self._refused(end_s, query, now_s)

    def _judge(self, query: Query, now_s: float) -> Verdict | None:
        """Of an endpoint with several stages: whether those in time are enough for an answer.

        Optimistic, since a query waits in one stage while the queues of those behind it grow shorter.
        """
        limit_s = self._limit_s(query.arrival_s, query.deadline_s)
        ends_s = {}
        for name, stage in self._stages.items():
            rows = stage.worth_rows(query.rows, query.length) + sum(
                lane.queue.rows_before(query.deadline_s) for lane in stage.distinct_lanes()
            )
            if stage.lanes and rows > sum(pace_of(lane).batch_rows for lane in stage.lanes):
                ends_s[name] = common_end_s(stage, rows, query.deadline_s, now_s) + stage.plan.after_s
        if not ends_s:
            return None
        if max(ends_s.values()) - query.arrival_s > PRESSED * query.allowed_s:
            self.press(now_s)
        timely = [name for name in self._stages if ends_s.get(name, now_s) <= limit_s]
        if self._flow.answers_with(timely) or self._probes(now_s):
            return None
        return self._refused(max(ends_s.values()), query, now_s)

    def _without_workers(self, stage: StageQueues, query: Query, now_s: float) -> Verdict | None:
        expected = now_s < stage.endpoint.expected_until_s
        soon = not expected and query.deadline_s - now_s < WORKER_COMES_S
        return Verdict(refusals.nobody_home(self._plan)) if soon else None

    def _within_bound(self, verdict: Verdict | None, query: Query, waiting_rows: int) -> Verdict | None:
        """The verdict, with more who make room where the queue is full, or the refusal where there are not enough.

        How many rows the jobs of a query of several stages have is seen when it has begun (`make_room`).
        """
        out = () if verdict is None else [job for job, _ in verdict.displaced]
        room = self.make_room(query, query.rows, waiting_rows - sum([job.rows for job in out]), out)
        if room is None:
            return Verdict(no_room(self._plan, waiting_rows, query.rows))
        if self._only is None or not room:
            return verdict
        return Verdict(None, [*(() if verdict is None else verdict.displaced), *room])

    def make_room(
        self, query: Query, rows: int, waiting_rows: int, besides: Collection[Job] = ()
    ) -> Sequence[tuple[Job, AccordError]] | None:
        """Those that are displaced where a query's jobs, of so many ``rows``, are more than the queue may hold beside
        ``waiting_rows``; None where there are not enough. Those ``besides`` make room already.
        """
        most = self._plan.limits.max_queued_rows
        if waiting_rows + rows <= most:
            return ()
        if query.priority < self._lowest and rows <= most:
            queues = [lane.queue for stage in self._stages.values() for lane in stage.distinct_lanes()]
            if out := displaced(queues, query, waiting_rows + rows - most, besides=besides):
                return self._room_of(out)
        return None

    def _room_of(self, out: Sequence[Job]) -> Sequence[tuple[Job, AccordError]]:
        """Jobs that are displaced, each with why."""
        self.forget()
        return [(job, refusals.making_room(self._plan)) for job in out]

    def _refused(self, end_s: float, query: Query, now_s: float) -> Verdict:
        self.refusing(query.rows, now_s)
        return Verdict(refusals.infeasible(self._plan, query, end_s, now_s))

    def _end_s(self, stage: StageQueues, lane: Lane, query: Query, now_s: float) -> float:
        """When a query that joins the lane would be done."""
        rows = lane.queue.rows_before(query.deadline_s) + stage.worth_rows(query.rows, query.length)
        if lane is stage.common:
            return common_end_s(stage, rows, query.deadline_s, now_s)
        return own_end_s(stage.workers[lane.index], lane, rows, query.deadline_s, now_s)

    def _limit_s(self, arrival_s: float, deadline_s: float) -> float:
        return deadline_s - (1.0 - self._headroom.share) * (deadline_s - arrival_s) - self.high_delay_s

    def _probes(self, now_s: float) -> bool:
        return now_s - self._admitted_s >= PROBE_S

    # -- batches ------------------------------------------------------------------------------------------------

    def hopeless(self, lane: Lane, now_s: float) -> list[Job]:
        """Take out the first jobs of a lane that no variant can meet: see `dispatch.admission.giving_up`."""
        return hopeless(lane, now_s, lane.stage.plan.after_s + self.delay_s, pressed=self.pressed(now_s))

    def fast_enough(self, lane: Lane, choice: Choice, view: QueueView, length: int) -> Choice:
        """What runs while capacity is short, of the rows that ``view`` is of (`dispatch.admission.hurry`).

        What waits and what comes must be borne, or nearly as much as can be; while queries are refused more than that,
        and if it lasts, as much as can be. Of rows of another length than the usual one a batch holds as many as are
        worth that.
        """
        waiting = lane.load.queued_rows / (view.workers if lane.stage.plan.central else 1)
        room = ROOM_SHORT if self._lagging or self._refusals.any(view.now_s) else ROOM
        pace, needed_rate = pace_of(lane), inf
        if not self._refusals.lasting(view.load_qps, view.now_s):
            needed_rate = room * (view.load_qps / view.workers + waiting / (SOON * lane.stage.slo_s))
            needed_rate = min(needed_rate, pace.rate / NEARLY)
        return hurried(pace, choice, view, lane.weight(length), needed_rate)

    def on_done(self, batch: Batch, now_s: float) -> None:
        """A batch of the endpoint came back."""
        self.forget()
        if now_s < self._pressed_until_s:
            late_s = now_s + self.delay_s
            self._headroom.on_batch(len(batch.jobs), sum(job.deadline_s < late_s for job in batch.jobs))


def _backlog_s(lane: Lane) -> float:
    return lane.load.queued_rows / pace_of(lane).rate
