"""Whether Serve is stopping this replica, which it tells nobody until all that is open has ended."""

from typing import Any

import ray._private.worker


def stopping() -> bool:
    """True from when Serve sends nobody here any more; the process goes on for seconds, up to half a minute.

    False in a process that is no replica. Serve has no call for it: this looks at the replica's own object, as of 2.60.
    """
    worker: Any = ray._private.worker.global_worker
    replica = getattr(worker.actors.get(worker.actor_id), "_replica_impl", None)
    return bool(getattr(replica, "_shutting_down", False))
