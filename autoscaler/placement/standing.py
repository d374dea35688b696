"""What stands beside a worker on its node."""

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from dispatch.worker_info import WorkerInfo


class Standing(NamedTuple):
    """A variant on a worker beside what other workers of its node hold.

    ``machine`` is the type of the node. ``beside`` is in the order of the names, a variant as often as it stands there;
    None where some neighbour holds several, so that nobody can tell which of them ran at an instant.
    """

    machine: str
    variant: str
    beside: tuple[str, ...] | None


def neighbours_of(held: Mapping[str, frozenset[str]], workers: Mapping[str, WorkerInfo]) -> dict[str, tuple[str, ...]]:
    """By worker that holds something, the other workers of its node that do, where there are any.

    A worker of which the node is not known is alone, and so are those that are to come.
    """
    on_node: dict[str, list[str]] = defaultdict(list)
    for worker in sorted(held):
        if held[worker] and worker in workers and workers[worker].node:
            on_node[workers[worker].node].append(worker)
    return {
        worker: tuple(other for other in own if other != worker)
        for own in on_node.values()
        if len(own) > 1
        for worker in own
    }


def standings_of(
    held: Mapping[str, frozenset[str]], workers: Mapping[str, WorkerInfo]
) -> dict[tuple[str, str], Standing]:
    """By worker and variant that it holds, where it stands; those that are alone on their node are left out."""
    found = {}
    for worker, neighbours in neighbours_of(held, workers).items():
        exact = all(len(held[other]) == 1 for other in neighbours)
        beside = tuple(sorted(variant for other in neighbours for variant in held[other])) if exact else None
        for variant in sorted(held[worker]):
            found[worker, variant] = Standing(workers[worker].machine, variant, beside)
    return found
