"""How many workers each pool shall have, where Serve's own controller can read it: in Ray's key-value store.

What is there outlives whoever wrote it, and ends with the Ray cluster. Both functions block on the network.
"""

import json
from collections.abc import Mapping

from ray.experimental import internal_kv

NAMESPACE = b"accord"


def publish(application: str, sizes: Mapping[str, int]) -> None:
    """Say how many workers the pools of a Serve application shall have; pools that are not named stay as they are."""
    for pool, workers in sizes.items():
        internal_kv._internal_kv_put(_key(application, pool), b"%d" % workers, overwrite=True, namespace=NAMESPACE)


def read(application: str, pool: str) -> int | None:
    """How many workers a pool shall have; None where nobody has said."""
    value = internal_kv._internal_kv_get(_key(application, pool), namespace=NAMESPACE)
    return None if value is None else int(value)


def _key(application: str, pool: str) -> bytes:
    return json.dumps(["pool size", application, pool]).encode()
