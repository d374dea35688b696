"""The decisions of a running controller."""

from typing import Any

import orjson

from serve_app.testing.fetch import fetch

ANSWER_S = 10.0


def decisions(url: str) -> list[dict[str, Any]]:
    """``GET /accord/plans``, newest last; raises OSError where the service does not answer."""
    found: list[dict[str, Any]] = orjson.loads(fetch(f"{url}/accord/plans", ANSWER_S))["plans"]
    return found
