"""Which workers are alive, as Serve tells the process that calls them.

Serve pickles `deployments.worker.address` by value, so what its router object shares with the rest of the
process must live here, in a module that is imported by reference.
"""

from collections.abc import Callable

Listener = Callable[[frozenset[str]], object]

_live: dict[str, frozenset[str]] = {}
_listeners: dict[str, Listener] = {}


def update(deployment: str, workers: frozenset[str]) -> None:
    """Serve reports the live replicas of a worker deployment; called on whichever thread Serve routes from."""
    _live[deployment] = workers
    listener = _listeners.get(deployment)
    if listener is not None:
        listener(workers)


def listen(deployment: str, listener: Listener) -> None:
    """Call ``listener`` with the live workers now, where known, and at every change. One listener a deployment."""
    _listeners[deployment] = listener
    if deployment in _live:
        listener(_live[deployment])
