"""Bad inputs over several connections, with good queries among them."""

import asyncio
import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from benchmarks.fuzz.case import Case, request
from benchmarks.fuzz.cases import INFER, Cases
from benchmarks.fuzz.connection import ANSWER_S, BROKEN_S, Connection
from benchmarks.fuzz.verdict import Verdict

CONNECTIONS = 16
MOST_TOGETHER = 4
"""Requests that are pipelined at most."""
GOOD_EVERY = 250
"""Inputs of one connection."""


@dataclass
class Outcome:
    """``good`` queries were sent, of which so many were ``answered`` with 200; the slowest took ``slowest_s``."""

    verdict: Verdict = field(default_factory=Verdict)
    good: int = 0
    answered: int = 0
    slowest_s: float = 0.0


@dataclass(frozen=True)
class Target:
    """Where a service is, a good query for it, and good requests by path of what changes it."""

    host: str
    port: int
    good: Any
    operator: dict[str, Any]


async def fuzz(target: Target, requests: int, seed: int) -> Outcome:
    """Send so many bad inputs; the same for the same seed, though not in the same order among connections."""
    outcome = Outcome()
    each, more = divmod(requests, CONNECTIONS)
    work = (
        _send_all(target, each + (number < more), seed * CONNECTIONS + number, outcome) for number in range(CONNECTIONS)
    )
    await asyncio.gather(*work)
    await ask(target, outcome)
    return outcome


async def ask(target: Target, outcome: Outcome) -> None:
    """Send a good query over a connection of its own."""
    connection = Connection(target.host, target.port)
    case = request("good", "POST", INFER, json.dumps(target.good).encode())
    began_s = time.monotonic()
    (reply,) = await connection.send([case.content], [False], ANSWER_S)
    outcome.slowest_s = max(outcome.slowest_s, time.monotonic() - began_s)
    outcome.good += 1
    outcome.answered += reply.status == 200
    await connection.close()


async def _send_all(target: Target, requests: int, seed: int, outcome: Outcome) -> None:
    rng = random.Random(seed)
    connection = Connection(target.host, target.port)
    cases = islice(Cases(seed, target.good, target.operator), requests)
    until_good = GOOD_EVERY
    for together in _grouped(cases, rng):
        broken = together[0].broken
        within_s = BROKEN_S if broken else ANSWER_S
        replies = await connection.send([case.content for case in together], [case.head for case in together], within_s)
        if broken:
            await connection.close()
        for case, reply in zip(together, replies, strict=True):
            outcome.verdict.take(case, reply)
        until_good -= len(together)
        if until_good <= 0:
            until_good = GOOD_EVERY
            await ask(target, outcome)
    await connection.close()


def _grouped(cases: Iterator[Case], rng: random.Random) -> Iterator[list[Case]]:
    """Cases that go out together; what is broken goes alone."""
    group: list[Case] = []
    wanted = rng.randint(1, MOST_TOGETHER)
    for case in cases:
        if case.broken:
            if group:
                yield group
            group, wanted = [], rng.randint(1, MOST_TOGETHER)
            yield [case]
            continue
        group.append(case)
        if len(group) >= wanted:
            yield group
            group, wanted = [], rng.randint(1, MOST_TOGETHER)
    if group:
        yield group
