"""What became of the inputs, and whether it should have."""

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from benchmarks.fuzz.case import Case
from benchmarks.fuzz.connection import Reply

PAGE = Path(__file__).resolve().parents[2] / "docs" / "http-api.md"
ROW = re.compile(r"^\| (?P<status>5\d\d) \| `(?P<reason>\w+)` \|", re.MULTILINE)
KEPT = 20
LONGEST = 300


@dataclass
class Verdict:
    """Counts, and the first inputs that were answered as they should not be."""

    by_status: Counter[str] = field(default_factory=Counter)
    by_kind: Counter[str] = field(default_factory=Counter)
    undocumented: int = 0
    unanswered: int = 0
    examples: list[dict[str, Any]] = field(default_factory=list)

    def take(self, case: Case, reply: Reply) -> None:
        """Count one input and its answer."""
        self.by_kind[case.kind] += 1
        if reply.status is None:
            self.by_status["closed" if reply.closed else "silent"] += 1
            if not case.broken and not reply.closed:
                self.unanswered += 1
                self._keep(case, reply)
            return
        self.by_status[str(reply.status)] += 1
        if reply.status >= 500 and not documented(reply):
            self.undocumented += 1
            self._keep(case, reply)

    def _keep(self, case: Case, reply: Reply) -> None:
        if len(self.examples) < KEPT:
            sent = repr(case.content[:LONGEST])
            body = repr(reply.body[:LONGEST])
            self.examples.append({"kind": case.kind, "sent": sent, "status": reply.status, "body": body})


def documented(reply: Reply) -> bool:
    """Whether an error of the server is one that docs/http-api.md lists, by status and the reason in its body."""
    try:
        body = orjson.loads(reply.body)
    except orjson.JSONDecodeError:
        return False
    return isinstance(body, dict) and (str(reply.status), body.get("reason")) in documented_errors()


@cache
def documented_errors() -> frozenset[tuple[str, str]]:
    """Status and reason of every error of the server on the page."""
    rows = ROW.finditer(PAGE.read_text(encoding="utf-8"))
    return frozenset((row["status"], row["reason"]) for row in rows)
