"""Who sent a request."""

from dataclasses import dataclass
from enum import StrEnum

from starlette.types import Scope

_KEY = "accord.caller"


class Role(StrEnum):
    """What a caller may do; none has another in it."""

    INFER = "infer"
    OBSERVE = "observe"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Caller:
    """``name`` is that of the API key, or ``jwt:`` and the token's subject; empty where nobody is asked."""

    name: str
    roles: frozenset[Role]


ANYONE = Caller("", frozenset(Role))
"""Who calls where nobody is asked."""


def caller_of(scope: Scope) -> Caller:
    """Who sent a request that was let in."""
    caller: Caller = scope.get(_KEY, ANYONE)
    return caller


def remember(scope: Scope, caller: Caller) -> None:
    """Note who sent a request."""
    scope[_KEY] = caller
