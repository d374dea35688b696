"""What a plan says of neighbours."""

from collections.abc import Mapping, Sequence

from autoscaler.placement.nodes import Node

MOST_NAMED = 3
LEAST_NAMED = 1.01
"""Slowdowns below this are not worth a word."""


def words_on_neighbours(
    nodes: Sequence[Node],
    slowdowns: Mapping[str, Mapping[str, float]],
    running: Mapping[str, frozenset[str]],
    idle: Sequence[str],
    kept: bool,
) -> tuple[str, ...]:
    """Which variants are reckoned to be slower, where, beside what and by how much; and who is left idle for that.

    ``running`` has by worker what it runs; nothing is said of variants that are held and do not run. A plan is ``kept``
    where it bears all that it was made for.
    """
    found = []
    for node in nodes:
        for worker in node.workers:
            others = sorted({v for other in node.workers if other != worker for v in running.get(other, ())})
            for variant in sorted(running.get(worker, ())):
                factor = slowdowns.get(worker, {}).get(variant, 1.0)
                if factor >= LEAST_NAMED:
                    found.append((-factor, node.name, variant, ", ".join(others)))
    found = sorted(set(found))
    words = []
    if found:
        named = "; ".join(
            f"on node {node} {variant} takes {-factor:.2f} times as long beside {others}"
            for factor, node, variant, others in found[:MOST_NAMED]
        )
        rest = len(found) - MOST_NAMED
        more = f"; {rest} more at most {-found[MOST_NAMED][0]:.2f} times" if rest > 0 else ""
        words.append(f"Predicted slowdown beside neighbours: {named}{more}.")
    if idle:
        words.append(f"{', '.join(idle)} run nothing: the others of their nodes bear more without them.")
    if not kept:
        words.append(
            "Beside their neighbours workers bear less than was planned for: plan and slowdowns did not settle."
        )
    return tuple(words)
