"""The decisions of a running controller."""

import urllib.request
from typing import Any

import orjson

ANSWER_S = 10.0


def decisions(url: str) -> list[dict[str, Any]]:
    """``GET /accord/plans``, newest last; raises OSError where the service does not answer."""
    with urllib.request.urlopen(f"{url}/accord/plans", timeout=ANSWER_S) as response:
        found: list[dict[str, Any]] = orjson.loads(response.read())["plans"]
    return found
