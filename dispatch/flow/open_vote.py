"""A query that members vote on."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from catalog.errors import AccordError
from dispatch.commands import BatchDone
from dispatch.ensemble.member import Constraint, MemberSet
from dispatch.ensemble.tally import Tally
from dispatch.query import Job, Query


@dataclass
class OpenVote:
    """What is known of a query that has no answer yet.

    ``tallies`` has one per row, ``votes`` the class of each row by member, ``waiting`` the jobs without a result by id.
    ``largest`` is the most that each member may bring to a class, by the weights of the tallies. ``asked`` counts the
    waves that were. The query's time is up at ``due_s``; it is ``overdue`` where nobody had voted by then, so that
    the first vote answers it. ``launched_s`` is the first launch, ``run_s`` the longest run, and ``batch_rows`` the
    largest batch.
    """

    query: Query
    constraint: Constraint
    members: MemberSet
    tallies: list[Tally]
    largest: Sequence[float]
    due_s: float
    votes: dict[str, list[int]] = field(default_factory=dict)
    waiting: dict[int, Job] = field(default_factory=dict)
    asked: int = 0
    overdue: bool = False
    error: AccordError | None = None
    launched_s: float = inf
    run_s: float = 0.0
    batch_rows: int = 0

    @property
    def voted(self) -> bool:
        """Whether any member has."""
        return bool(self.votes)

    @property
    def margin(self) -> float:
        """The least lead of all rows."""
        return min(tally.margin for tally in self.tallies)

    @property
    def more(self) -> bool:
        """Whether there is another wave to ask."""
        return self.asked < len(self.members.waves)

    @property
    def enough(self) -> float:
        """The lead beyond which nobody else is asked or waited for."""
        return self.members.stop_margin if self.more else 0.0

    @property
    def further_s(self) -> float:
        """What the waves to come take: never more than the whole."""
        return self.members.latency_s - self.members.first_s

    @property
    def out(self) -> list[str]:
        """Members that were asked and will not vote: they failed, or their workers are gone."""
        waiting = {job.stage for job in self.waiting.values()}
        asked = (name for wave in self.members.waves[: self.asked] for name in wave)
        return [name for name in asked if name not in self.votes and name not in waiting]

    @property
    def complete(self) -> bool:
        """Whether all that the set asks for have voted."""
        return not self.more and len(self.votes) == len(self.members.members)

    def begin_anew(self, constraint: Constraint, members: MemberSet) -> None:
        """Others are asked from now on; nobody has voted."""
        self.constraint, self.members, self.asked = constraint, members, 0

    def could_ask(self, served: Collection[str]) -> bool:
        """Whether a worker holds one of the members to come."""
        return any(name in served for wave in self.members.waves[self.asked :] for name in wave)

    def next_wave(self) -> tuple[str, ...]:
        """The members to ask now."""
        self.asked += 1
        return self.members.waves[self.asked - 1]

    def members_served(self, served: Collection[str], accuracy: Callable[[Sequence[str]], float]) -> MemberSet:
        """The set without the members to come that no worker holds; ``accuracy`` says what those that remain are worth.

        Its own where none is left out.
        """
        waves = tuple(
            wave if index < self.asked else tuple(name for name in wave if name in served)
            for index, wave in enumerate(self.members.waves)
        )
        if waves == self.members.waves:
            return self.members
        return replace(self.members, waves=waves, accuracy=accuracy([name for wave in waves for name in wave]))

    def on_votes(self, member: str, column: int, classes: list[int], done: BatchDone) -> None:
        """A member gave its class of each row."""
        self.votes[member] = classes
        for tally, said in zip(self.tallies, classes, strict=True):
            tally.add(column, said)
        self.launched_s = min(self.launched_s, done.launched_s)
        self.run_s = max(self.run_s, done.run_s)
        self.batch_rows = max(self.batch_rows, done.batch.rows)
