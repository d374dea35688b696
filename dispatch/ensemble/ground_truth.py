"""What turns out to have been true, matched with what was answered."""

import marshal
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from dispatch.ensemble.member import Constraint
from dispatch.ensemble.voting import ABSENT
from dispatch.ensemble.weights import VoteCounts

WINDOW_S = 600.0
"""Labels count that come within so long after the answer."""

REMEMBERED = 20_000
"""Answers at most that labels are waited for, the latest; and as many ids of which it is known that they expired."""


class Told(StrEnum):
    """What became of a label."""

    MATCHED = "matched"
    DUPLICATE = "duplicate"
    EXPIRED = "expired"
    UNKNOWN = "unknown"


class Answered(NamedTuple):
    """An answer that a label is waited for."""

    at_s: float
    winners: Sequence[int]  # the class of each row that was answered
    votes: Mapping[str, Sequence[int]]  # the class of each row by member
    constraint: Constraint | None  # that its members were chosen for
    labelled: bool = False


@dataclass
class Agreement:
    """How often members say what the answer says, which needs no label: a proxy for how often they are right."""

    rows: int = 0
    agreed: int = 0


class GroundTruth:
    """Keeps answers of one endpoint for a while and counts what labels say of them.

    ``counts`` are of ``members`` [classes, members], as the weights of their votes are learned from; votes are of these
    alone, and others may join (`add`). ``right`` of ``labelled`` rows were answered correctly. Bounded in memory by
    `WINDOW_S` and `REMEMBERED`.
    """

    def __init__(self, members: Sequence[str], classes: int) -> None:
        self.members = tuple(members)
        self.classes = classes
        self.counts = VoteCounts.none(classes, len(members))
        self.labelled = 0
        self.right = 0
        self.agreement = {member: Agreement() for member in members}
        self._columns = {member: column for column, member in enumerate(members)}
        self._answers: OrderedDict[str, bytes] = OrderedDict()  # by `_kept`
        self._expired: OrderedDict[str, None] = OrderedDict()

    def add(self, member: str) -> None:
        """Count one more from now on, unless it is a member already; what was counted of others stays."""
        if member in self._columns:
            return
        self._columns[member] = len(self.members)
        self.members = (*self.members, member)
        self.agreement[member] = Agreement()
        known = (self.counts.seen, self.counts.right, self.counts.said)
        self.counts = VoteCounts(*(np.pad(each, ((0, 0), (0, 1))) for each in known))

    def remember(self, request_id: str, answered: Answered) -> None:
        """An answer went out under this id; of two with one id the later counts."""
        self._expire(answered.at_s)
        for member, said in answered.votes.items():
            agreement = self.agreement[member]
            agreement.rows += len(said)
            agreement.agreed += sum(map(int.__eq__, said, answered.winners))
        self._answers.pop(request_id, None)
        self._answers[request_id] = _kept(answered)
        if len(self._answers) > REMEMBERED:
            self._forget(next(iter(self._answers)))

    def check(self, request_id: str, labels: Sequence[int]) -> None:
        """Raise ValueError for a class that there is not, and for another number of labels than an answer has rows."""
        if any(not 0 <= label < self.classes for label in labels):
            raise ValueError(f"labels {list(labels)} among {self.classes} classes; they are numbered from 0")
        kept = self._answers.get(request_id)
        if kept is not None and len(labels) != len(winners := _answered(kept).winners):
            raise ValueError(f"{len(labels)} labels for {len(winners)} rows; give one label per row")

    def tell(self, request_id: str, labels: Sequence[int], now_s: float) -> tuple[Told, Answered | None]:
        """The true class of each row of an answer; gives the answer where it was matched.

        The same again changes nothing. Raises ValueError as `check` does.
        """
        self.check(request_id, labels)
        self._expire(now_s)
        kept = self._answers.get(request_id)
        if kept is None:
            return (Told.EXPIRED if request_id in self._expired else Told.UNKNOWN), None
        answered = _answered(kept)
        if answered.labelled:
            return Told.DUPLICATE, None
        self._answers[request_id] = _kept(answered._replace(labelled=True))
        predictions = np.full((len(labels), len(self.members)), ABSENT, np.int64)
        for member, said in answered.votes.items():
            predictions[:, self._columns[member]] = said
        self.counts.count(np.array(labels, np.int64), predictions)
        self.labelled += len(labels)
        self.right += sum(map(int.__eq__, labels, answered.winners))
        return Told.MATCHED, answered

    def _expire(self, now_s: float) -> None:
        while self._answers and _answered(next(iter(self._answers.values()))).at_s < now_s - WINDOW_S:
            self._forget(next(iter(self._answers)))

    def _forget(self, request_id: str) -> None:
        del self._answers[request_id]
        self._expired[request_id] = None
        if len(self._expired) > REMEMBERED:
            self._expired.popitem(last=False)


def _kept(answered: Answered) -> bytes:
    """Python's garbage collector has nothing to look at in bytes; 20,000 answers as they are hold it up for 40 ms."""
    at_s, winners, votes, constraint, labelled = answered
    terms = None if constraint is None else astuple(constraint)
    said = {member: tuple(map(int, own)) for member, own in votes.items()}
    return marshal.dumps((at_s, tuple(map(int, winners)), said, terms, labelled))


def _answered(kept: bytes) -> Answered:
    at_s, winners, votes, terms, labelled = marshal.loads(kept)
    return Answered(at_s, winners, votes, None if terms is None else Constraint(*terms), labelled)
