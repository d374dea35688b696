"""Graphs refuse what no query could run through."""

from collections.abc import Sequence

import pytest

from catalog.errors import ConfigError
from dispatch.pipeline.graph import Graph, Node, Part


def node(name: str, *sources: str, needs: Sequence[str] = ()) -> Node:
    return Node(name, sources, lambda values: [Part({}, 1)], frozenset(needs))


def graph(*nodes: Node) -> Graph:
    return Graph(nodes, lambda query, values: {})


def test_successors_are_those_that_take_from_a_stage() -> None:
    made = graph(node("a"), node("b", "a"), node("c", "a"), node("d", "c", "b"))
    assert made.successors == ((1, 2), (3,), (3,), ())


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ([], "a pipeline has no stages"),
        ([node("query")], "a stage is called 'query'; give it another name"),
        ([node("a.b")], r"a stage is called 'a\.b'; give it another name, without dots"),
        ([node("a"), node("a")], "2 stages are called 'a'"),
        ([node("find"), node("read", "fnd")], r"'read' takes from 'fnd', which is no stage \(did you mean 'find'\?\)"),
        ([node("a", "b"), node("b", "a")], "stage 'a' takes from 'b', which does not stand before it"),
        ([node("a", "a")], "stage 'a' takes from 'a', which does not stand before it"),
        ([node("a"), node("b", "a", "a")], "stage 'b' has the sources a, a"),
        ([node("a"), node("b"), node("c", "a", needs=["b"])], "stage 'c' has the sources a and needs b"),
    ],
)
def test_what_cannot_run_is_refused(nodes: list[Node], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        graph(*nodes)
