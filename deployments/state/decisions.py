"""Why plans were made, and what became of them."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

MOST_REMEMBERED = 200


class DecisionState(StrEnum):
    """How far a plan is, in the words that people see."""

    ASKED = "asked"
    LOADING = "loading"
    IN_FORCE = "in force"
    REPLACED = "replaced"
    GIVEN_UP = "given up"


UNDER_WAY = (DecisionState.ASKED, DecisionState.LOADING)
PAST = (DecisionState.REPLACED, DecisionState.GIVEN_UP)


@dataclass
class Decision:
    """One plan from the question to its end. ``plan`` is an `autoscaler.cluster.plan_record`. ``neighbours`` has, where
    slowdowns are predicted, each variant of each worker that shares its node: beside what, and how slow. That is not
    remembered of plans that were replaced.

    Instants are ISO 8601 in UTC. ``why_not`` says why it was given up. ``in_force_s`` is from the question until every
    router followed the plan.
    """

    version: int
    asked_at: str
    reason: str
    state: DecisionState = DecisionState.ASKED
    in_force_at: str | None = None
    in_force_s: float | None = None
    solve_s: float = 0.0
    demand_qps: dict[str, float] = field(default_factory=dict)
    workers: dict[str, dict[str, Any]] = field(default_factory=dict)
    loading: dict[str, list[str]] = field(default_factory=dict)
    failed: dict[str, dict[str, str]] = field(default_factory=dict)
    neighbours: list[dict[str, Any]] = field(default_factory=list)
    plan: dict[str, Any] | None = None
    why_not: str | None = None

    @property
    def under_way(self) -> bool:
        """Whether it is neither in force nor past."""
        return self.state in UNDER_WAY

    def to_record(self) -> dict[str, Any]:
        """In JSON values."""
        return asdict(self) | {"state": self.state.value}


class Decisions:
    """The last ones, oldest first; versions only grow."""

    def __init__(self) -> None:
        self._all: deque[Decision] = deque()
        self._version = 0
        self._past: dict[int, dict[str, Any]] = {}

    def begin(self, reason: str, now_s: float) -> Decision:
        """A plan is asked for."""
        self._version += 1
        self._add(Decision(self._version, iso(now_s), reason))
        return self._all[-1]

    def put_in_force(self, decision: Decision, asked_s: float, now_s: float) -> None:
        """Every router follows it; the one before is replaced."""
        if (before := self.in_force) is not None:
            before.state = DecisionState.REPLACED
            before.neighbours = []
        decision.state, decision.in_force_at, decision.in_force_s = DecisionState.IN_FORCE, iso(now_s), now_s - asked_s

    @property
    def in_force(self) -> Decision | None:
        """The one that routers follow."""
        return next((each for each in reversed(self._all) if each.state is DecisionState.IN_FORCE), None)

    @property
    def under_way(self) -> Decision | None:
        """The one that is being made."""
        return next((each for each in reversed(self._all) if each.under_way), None)

    def to_record(self) -> list[dict[str, Any]]:
        """All that are remembered in JSON values, newest last; not to be changed."""
        for each in self._all:
            if each.state in PAST and each.version not in self._past:  # these never change, and copies cost
                self._past[each.version] = each.to_record()
        self._past = {each.version: self._past[each.version] for each in self._all if each.version in self._past}
        return [self._past.get(each.version) or each.to_record() for each in self._all]

    def restore(self, record: Iterable[Mapping[str, Any]]) -> None:
        """Remember what another controller decided; what it left half done is given up."""
        for each in record:
            known = {own.name: each[own.name] for own in fields(Decision) if own.name in each}
            decision = Decision(**known | {"state": DecisionState(known["state"])})
            if decision.under_way:
                decision.state, decision.why_not = DecisionState.GIVEN_UP, "the controller ended before it was in force"
            self._add(decision)
            self._version = max(self._version, decision.version)

    def _add(self, decision: Decision) -> None:
        """The oldest makes way, but not the one in force, however many were given up since."""
        self._all.append(decision)
        if len(self._all) > MOST_REMEMBERED:
            del self._all[1 if self._all[0].state is DecisionState.IN_FORCE else 0]


def iso(now_s: float) -> str:
    """An instant of wall time."""
    return datetime.fromtimestamp(now_s, UTC).isoformat(timespec="milliseconds")
