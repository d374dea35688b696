"""The stages of a pipeline and what leads from one to the next."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from catalog.tensor import Arrays
from dispatch.query import Query

QUERY = "query"
"""Where a stage takes the query's own inputs from; no stage may be called so."""

Values = Mapping[str, Arrays]
"""By stage what came out of it, its parts one after the other along the first axis; under `QUERY` the query's inputs.

Stages that were skipped are missing.
"""


class Part(NamedTuple):
    """One job of a stage: its inputs, of so many rows."""

    inputs: Arrays
    rows: int


@dataclass(frozen=True)
class Node:
    """One stage. It begins when each of ``sources``, other stages, is done or was skipped.

    It is skipped where one of ``needs``, a subset of the sources, was skipped, where all of several sources were, or
    where ``runs`` says no. ``parts`` gives its jobs, of a number known only then; with none of them the stage is done
    at once, and ``nothing`` is what came out of it. Both functions may raise: the query then ends with that error.
    """

    name: str
    sources: tuple[str, ...]
    parts: Callable[[Values], Sequence[Part]]
    needs: frozenset[str] = frozenset()
    runs: Callable[[Values], bool] | None = None
    nothing: Arrays = field(default_factory=dict)


@dataclass(frozen=True)
class Graph:
    """The ``nodes`` in an order in which each stands behind its sources, and what makes the query's answer of it all.

    The answer is made when every stage is done or was skipped. ``rows`` is what it must have for a query: as many as
    that asked about.
    """

    nodes: tuple[Node, ...]
    answer: Callable[[Query, Values], Arrays]
