"""Bodies that are wrong, by a generator of random numbers."""

import copy
import json
import random
from typing import Any

NUMBERS: tuple[Any, ...] = (
    *(0, -1, 1, 7, 255, 256, 2**31, 2**32, 2**53, 2**62, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**30),
    *(0.5, -0.0, 5e-324, 1e39, 1e308, float("nan"), float("inf"), float("-inf")),
)
WORDS = (
    *(
        "",
        "a",
        "image",
        "FP32",
        "INT64",
        "BYTES",
        "digits",
        "../../etc/passwd",
        "\0",
        "\x1b[31m",
        "\u202e",
        "\U0001f600",
    ),
    *("${jndi:ldap://x}", "'; DROP TABLE x;--", "<script>", "%s%n", "\ud800", "x" * 5000, "\r\nX: y"),
)
DEEPEST = 2000


def anything(rng: random.Random, depth: int = 3) -> Any:
    """A JSON value of any form."""
    kind = rng.randrange(8 if depth else 5)
    if kind < 2:
        return rng.choice(NUMBERS)
    if kind < 4:
        return rng.choice(WORDS)
    if kind == 4:
        return rng.choice((None, True, False))
    if kind < 7:
        return [anything(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {rng.choice(WORDS): anything(rng, depth - 1) for _ in range(rng.randrange(4))}


def changed(rng: random.Random, good: Any) -> Any:
    """A value with something in some place of it replaced, left out or doubled."""
    made = copy.deepcopy(good)
    for _ in range(rng.randint(1, 3)):
        holder, key = _place(rng, made)
        if holder is None:
            return anything(rng)
        change = rng.randrange(4)
        if change == 0:
            del holder[key]
        elif change == 1 and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        else:
            holder[key] = anything(rng)
    return made


def _place(rng: random.Random, value: Any) -> tuple[Any, Any]:
    """Some place inside of a value: what holds it, and its key or number; None where it holds nothing."""
    holder, key, inner = None, None, value
    while isinstance(inner, dict | list) and inner:
        keys: list[Any] = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
        if holder is not None and rng.random() < 0.3:
            break
        holder, key = inner, rng.choice(keys)
        inner = holder[key]
    return holder, key


def wrong_body(rng: random.Random, good: Any) -> bytes:
    """Bytes that no client should send; some of them happen to be right."""
    kind = rng.randrange(10)
    if kind < 6:
        return json.dumps(changed(rng, good)).encode()
    written = bytearray(json.dumps(good).encode())
    if kind == 6:
        for _ in range(rng.randint(1, 5)):
            written[rng.randrange(len(written))] = rng.randrange(256)
        return bytes(written)
    if kind == 7:
        return bytes(written[: rng.randrange(len(written))])
    if kind == 8:
        return json.dumps(anything(rng)).encode()
    return _large(rng, bytes(written))


def _large(rng: random.Random, good: bytes) -> bytes:
    depth = rng.randrange(1, DEEPEST)
    return rng.choice(
        (
            b"[" * depth,
            b"[" * depth + b"]" * depth,
            b'{"a":' * depth + b"1" + b"}" * depth,
            b'{"inputs": ' + b"[" * depth,
            b" " * rng.randrange(200_000) + good,
            b'"' + b"\\u0041" * rng.randrange(20_000) + b'"',
            b"9" * rng.randrange(1, 20_000),
            rng.randbytes(rng.randrange(1, 4000)),
            b'{"id": "' + b"x" * rng.randrange(100_000) + b'", ' + good[1:],
            b'{"inputs": [], ' + good[1:],
            b"",
        )
    )
