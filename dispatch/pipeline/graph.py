"""The stages of a pipeline and what leads from one to the next."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from catalog.errors import ConfigError
from catalog.faults import nearest
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

    It is skipped where one of ``needs``, a subset of the sources, was skipped, where all of the sources were, if it has
    any and is not ``independent`` of them, or where ``runs`` says no. ``parts`` gives its jobs, of a number known only
    then; with none of them the stage is done at once, and ``nothing`` is what came out of it. Both functions may raise:
    the query then ends with that error.
    """

    name: str
    sources: tuple[str, ...]
    parts: Callable[[Values], Sequence[Part]]
    needs: frozenset[str] = frozenset()
    independent: bool = False
    runs: Callable[[Values], bool] | None = None
    nothing: Arrays = field(default_factory=dict)


@dataclass(frozen=True)
class Graph:
    """The ``nodes`` in an order in which each stands behind its sources, and what makes the query's answer of it all.

    The answer is made when every stage is done or was skipped; ``answer`` may raise as well.
    """

    nodes: tuple[Node, ...]
    answer: Callable[[Query, Values], Arrays]

    def __post_init__(self) -> None:
        """Raises `ConfigError` for names that cannot be, sources that are unknown or not in front, and no nodes."""
        if not self.nodes:
            raise ConfigError("a pipeline has no stages; give it at least one")
        names = [node.name for node in self.nodes]
        before: set[str] = set()
        for node in self.nodes:
            check_name(node.name, names)
            for source in node.sources:
                if source not in names:
                    raise unknown_source(f"stage {node.name!r}", source, names)
                if source not in before:
                    raise ConfigError(
                        f"stage {node.name!r} takes from {source!r}, which does not stand before it; give the stages "
                        "in an order in which each stands behind those that it takes from"
                    )
            if len(set(node.sources)) < len(node.sources) or not node.needs <= set(node.sources):
                raise ConfigError(
                    f"stage {node.name!r} has the sources {', '.join(node.sources)} and needs "
                    f"{', '.join(sorted(node.needs))}; name each source once, and need none but these"
                )
            before.add(node.name)

    @property
    def successors(self) -> tuple[tuple[int, ...], ...]:
        """By node the numbers of the nodes that take from it, ascending."""
        return tuple(
            tuple(number for number, other in enumerate(self.nodes) if node.name in other.sources)
            for node in self.nodes
        )


def check_name(name: str, names: Sequence[str]) -> None:
    """Raises `ConfigError` for a name of a stage that is there twice, or cannot be told from something else."""
    if name == QUERY or "." in name or not name:
        raise ConfigError(
            f"a stage is called {name!r}; give it another name, without dots and not {QUERY!r}, which stands for the "
            "query's own inputs"
        )
    if names.count(name) > 1:
        raise ConfigError(f"{names.count(name)} stages are called {name!r}; give each a name of its own")


def unknown_source(where: str, source: str, names: Sequence[str]) -> ConfigError:
    """Something takes from a stage that is not there."""
    return ConfigError(
        f"{where} takes from {source!r}, which is no stage{nearest(source, names)}; there are {', '.join(names)}, and "
        f"{QUERY!r} for the query's own inputs"
    )
