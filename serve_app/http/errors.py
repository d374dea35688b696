"""Errors as clients see them."""

import math
from typing import Any

import orjson

from catalog.errors import AccordError, MethodNotAllowed

MOST_RETRY_S = 30
"""Nobody is told to stay away for longer: a queue may drain sooner than it seems."""

REASON = b"x-accord-reason"


def error_body(error: AccordError) -> bytes:
    """What a client sees of an error: the message, and for machines its kind, why, and when to try again."""
    content: dict[str, Any] = {"error": str(error), "reason": type(error).__name__, "retryable": error.retryable}
    if error.code:
        content["code"] = error.code
    if error.retry_after_s is not None:
        content["retry_after_s"] = round(error.retry_after_s, 4)
    return orjson.dumps(content)


def error_headers(error: AccordError) -> list[tuple[bytes, bytes]]:
    """The headers of an error beside those of its body: ``x-accord-reason``, ``Retry-After`` from a second on, and
    ``Allow`` where another method was asked for."""
    headers = [(b"allow", b"POST")] if isinstance(error, MethodNotAllowed) else []
    if error.code:
        headers.append((REASON, error.code.encode()))
    after_s = error.retry_after_s
    if after_s is not None and after_s >= 1.0:
        headers.append((b"retry-after", b"%d" % min(math.ceil(after_s), MOST_RETRY_S)))
    return headers
