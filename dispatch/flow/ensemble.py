"""The flow of an endpoint whose queries are voted on: one stage per member, one job per member that is asked."""

from collections.abc import Collection, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf
from typing import Any

from catalog.errors import AccordError, ConstraintUnmet
from dispatch import refusals
from dispatch.commands import Answer, BatchDone, Outcome, Reject
from dispatch.ensemble.ballots import Ballots
from dispatch.ensemble.chooser import MemberChooser
from dispatch.ensemble.member import Constraint, MemberSet
from dispatch.ensemble.tally import Tally
from dispatch.ensemble.weights import ClassWeights
from dispatch.flow.flow import Step
from dispatch.flow.open_vote import OpenVote
from dispatch.query import Job, Query

ANSWER_BEFORE_SHARE = 0.05
"""Part of a query's time that is left for its way back when those that answered so far decide."""

CLEAR = 1e-9
"""A lead that is larger than another by no more than this may only be so by rounding."""

EASED_REMEMBERED = 64
"""Constraints that could not be met of which is known what members were chosen for instead; the oldest goes."""


class EnsembleFlow:
    """Asks the members that ``chooser`` names and answers with the class-weighted vote (Cocktail, section 4.1.1).

    A stage's name is its member's, the only variant that runs there. A query is answered when its vote can no longer
    change, when all have answered, or shortly before its deadline with the members that did; where none did by then,
    with the first that does. Members that fail, or that no worker holds, do not vote. A query that is asked of in two
    waves gets its second only where that can be back when the time is up.

    ``latency_share`` is the part of a query's time that its members may run for, the rest being for queues and the way.
    ``accuracy`` is what queries get at least that ask for none, None for the most there is. With ``best_effort`` a
    query whose accuracy cannot be reached is served by the best there is, else it is refused.
    """

    name = "ensemble"

    def __init__(
        self,
        chooser: MemberChooser,
        weights: ClassWeights,
        ballots: Ballots,
        *,
        latency_share: float = 0.5,
        accuracy: float | None = None,
        best_effort: bool = False,
    ) -> None:
        self.chooser = chooser
        self.weights = weights
        self._ballots = ballots
        self._latency_share = latency_share
        self._accuracy = accuracy
        self._best_effort = best_effort
        self._columns = {name: column for column, name in enumerate(weights.members)}
        self._served: frozenset[str] = frozenset()
        self._ids = count(1)
        self._open: dict[int, OpenVote] = {}
        self._due: list[tuple[float, int]] = []
        self._eased: dict[Constraint, Constraint] = {}

    @property
    def open_queries(self) -> int:
        """How many queries have neither an outcome nor been withdrawn."""
        return len(self._open)

    # -- queries ----------------------------------------------------------------------------------------------

    def start(self, query: Query, now_s: float) -> tuple[Job, Sequence[Job]]:
        """See `QueryFlow.start`; raises `ConstraintUnmet` where no members can do what the query asks."""
        constraint, members = self._choose(query, now_s)
        tallies = [Tally(self.weights.rows, self.weights.against_rows) for _ in range(query.rows)]
        due_s = query.deadline_s - ANSWER_BEFORE_SHARE * query.allowed_s
        vote = OpenVote(query, constraint, members, tallies, self.weights.largest, due_s)
        self._open[query.id] = vote
        heappush(self._due, (due_s, query.id))
        if len(self._due) > 2 * len(self._open):
            self._due = [entry for entry in self._due if entry[1] in self._open]
            heapify(self._due)
        first, *others = self._next_wave(vote)
        return first, others

    def on_done(self, done: BatchDone) -> Step:
        """See `QueryFlow.on_done`."""
        enqueue: list[Job] = []
        withdraw: list[Job] = []
        outcomes: list[Outcome] = []
        member = done.batch.stage.stage
        every: Sequence[Mapping[str, Any]] = done.outputs or [{}] * len(done.batch.jobs)  # a simulation has none
        for job, outputs in zip(done.batch.jobs, every, strict=True):
            vote = self._open.get(job.query.id)
            if vote is None or job.id in done.withdrawn or vote.waiting.pop(job.id, None) is None:
                continue
            try:
                said = self._ballots.read(outputs, job.rows)
            except ValueError as error:
                vote.error = refusals.variant_failed(done.batch, str(error))
            else:
                vote.on_votes(member, self._columns[member], said, done)
            self._go_on(vote, done.done_s, enqueue, withdraw, outcomes)
        return Step(enqueue, withdraw, outcomes)

    def on_failed(self, job: Job, error: AccordError, now_s: float) -> Step:
        """See `QueryFlow.on_failed`."""
        vote = self._open.get(job.query.id)
        if vote is None or vote.waiting.pop(job.id, None) is None:
            return Step()
        vote.error = error
        enqueue: list[Job] = []
        withdraw: list[Job] = []
        outcomes: list[Outcome] = []
        self._go_on(vote, now_s, enqueue, withdraw, outcomes)
        return Step(enqueue, withdraw, outcomes)

    def withdraw(self, query: Query) -> Sequence[Job]:
        """See `QueryFlow.withdraw`."""
        vote = self._open.pop(query.id, None)
        return [] if vote is None else list(vote.waiting.values())

    def constraint(self, query: Query) -> Constraint:
        """What a query asks of its members."""
        return self.constraint_of(query.allowed_s, query.accuracy)

    def constraint_met(self, query: Query) -> Constraint:
        """What the members of such a query were chosen for of late: what it asks, or less where that cannot be."""
        asked = self.constraint(query)
        return self._eased.get(asked, asked)

    def constraint_of(self, allowed_s: float, accuracy: float | None = None) -> Constraint:
        """What a query with so much time, which asks for so much accuracy or for none, asks of its members."""
        return Constraint.within(allowed_s * self._latency_share, self._accuracy if accuracy is None else accuracy)

    # -- time and workers -------------------------------------------------------------------------------------

    def answers_with(self, stages: Collection[str]) -> bool:
        """See `QueryFlow.answers_with`: one member is enough."""
        return bool(stages)

    @property
    def due_s(self) -> float:
        """See `TimedFlow.due_s`."""
        while self._due and self._due[0][1] not in self._open:
            heappop(self._due)
        return self._due[0][0] if self._due else inf

    def on_due(self, now_s: float) -> Step:
        """See `TimedFlow.on_due`: queries whose time is up are answered by those that have voted."""
        withdraw: list[Job] = []
        outcomes: list[Outcome] = []
        while self._due and self._due[0][0] <= now_s:
            vote = self._open.get(heappop(self._due)[1])
            if vote is None:
                continue
            vote.overdue = True
            if vote.voted:
                self._answer(vote, now_s, withdraw, outcomes)
        return Step((), withdraw, outcomes)

    def waits_for(self, job: Job) -> bool:
        """See `TimedFlow.waits_for`."""
        vote = self._open.get(job.query.id)
        return vote is not None and job.id in vote.waiting

    def on_limits(self, *, drop_late: bool) -> None:
        """See `TimedFlow.on_limits`: those that have voted answer whatever is dropped."""

    def on_served(self, stages: frozenset[str], now_s: float) -> Step:
        """See `TimedFlow.on_served`: nobody waits for members that no worker holds, unless none is held at all."""
        self._served = stages
        enqueue: list[Job] = []
        withdraw: list[Job] = []
        outcomes: list[Outcome] = []
        if not stages:
            return Step()
        for vote in list(self._open.values()):
            lost = [job for job in vote.waiting.values() if job.stage not in stages]
            others = vote.voted or len(lost) < len(vote.waiting) or vote.could_ask(stages)
            if not lost or not (others or self._begin_anew(vote, now_s)):
                continue
            for job in lost:
                del vote.waiting[job.id]
            withdraw += lost
            self._go_on(vote, now_s, enqueue, withdraw, outcomes)
        return Step(enqueue, withdraw, outcomes)

    def _begin_anew(self, vote: OpenVote, now_s: float) -> bool:
        """No worker holds any member of a query's set: ask others, if there are any."""
        constraint, members = self._best_of(vote.query, self._served, now_s)
        if self._served.isdisjoint(members.members):
            return False
        vote.begin_anew(constraint, members)
        return True

    # -- inner steps ------------------------------------------------------------------------------------------

    def _choose(self, query: Query, now_s: float) -> tuple[Constraint, MemberSet]:
        constraint = self.constraint(query)
        served = self._served or frozenset(self._columns)
        try:
            members = self.chooser.choose(constraint, served, now_s)
        except ConstraintUnmet:
            if not self._best_effort:
                try:  # what all members can is not the client's fault
                    self.chooser.choose(constraint, self._columns, now_s)
                except ConstraintUnmet as error:
                    raise refusals.constraint_unmet(error, query, self._latency_share) from None
            easier, members = self._best_of(query, served, now_s)
            self._eased.pop(constraint, None)
            if len(self._eased) >= EASED_REMEMBERED:
                del self._eased[next(iter(self._eased))]
            self._eased[constraint] = easier
            return easier, members
        self._eased.pop(constraint, None)
        return constraint, members

    def _best_of(self, query: Query, served: frozenset[str], now_s: float) -> tuple[Constraint, MemberSet]:
        """The members that come nearest to what a query asks; raises `ConstraintUnmet` where there is none."""
        for easier in (Constraint(self.constraint(query).latency_s), Constraint(inf)):
            try:
                return easier, self.chooser.choose(easier, served, now_s)
            except ConstraintUnmet:
                continue
        raise ConstraintUnmet(f"endpoint {query.endpoint!r} has no member that could answer")

    def _next_wave(self, vote: OpenVote) -> list[Job]:
        jobs = [self._job(vote, member) for member in vote.next_wave()]
        vote.waiting.update((job.id, job) for job in jobs)
        return jobs

    def _job(self, vote: OpenVote, member: str) -> Job:
        query = vote.query
        return Job(next(self._ids), query, query.deadline_s, query.rows, query.inputs, member, length=query.length)

    def _go_on(
        self, vote: OpenVote, now_s: float, enqueue: list[Job], withdraw: list[Job], outcomes: list[Outcome]
    ) -> None:
        """A member voted or is out: answer, ask the next wave, refuse, or wait for the others."""
        to_come = sum([vote.largest[self._columns[job.stage]] for job in vote.waiting.values()])
        decided = vote.margin - to_come > vote.enough + CLEAR and not vote.members.wait_for_all
        if vote.voted and (vote.overdue or decided):
            out = sum([vote.largest[self._columns[member]] for member in vote.out])
            as_good = decided and vote.margin - to_come - out > vote.enough + CLEAR
            self._answer(vote, now_s, withdraw, outcomes, as_good=as_good)
            return
        while not vote.waiting and vote.more and (not vote.voted or now_s + vote.further_s <= vote.due_s):
            vote.members = vote.members_served(self._served, self.chooser.accuracy)
            enqueue += self._next_wave(vote)
        if vote.waiting:
            return
        if vote.voted:
            self._answer(vote, now_s, withdraw, outcomes)
        else:
            del self._open[vote.query.id]
            assert vote.error is not None
            outcomes.append(Reject(vote.query, vote.error))

    def _answer(
        self,
        vote: OpenVote,
        now_s: float,
        withdraw: list[Job],
        outcomes: list[Outcome],
        *,
        as_good: bool = False,
    ) -> None:
        """By those that voted; ``as_good`` as by the whole set, whose other members would not change it."""
        del self._open[vote.query.id]
        withdraw += vote.waiting.values()
        votes = {member: vote.votes[member] for member in self._columns if member in vote.votes}
        for row, tally in enumerate(vote.tallies):
            said = {member: classes[row] for member, classes in votes.items()}
            self.chooser.on_vote(vote.constraint, tally.leader, said, tally.confidence)
        outcomes.append(
            Answer(
                vote.query,
                "+".join(votes),
                vote.members.accuracy if as_good or vote.complete else self.chooser.accuracy(tuple(votes)),
                self._ballots.write(vote.tallies),
                vote.batch_rows,
                vote.launched_s,
                now_s,
                vote.run_s,
                votes,
            )
        )
