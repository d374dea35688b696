"""Bodies that are compressed: ``Content-Encoding`` of requests, ``Accept-Encoding`` of answers."""

import asyncio
import zlib

from catalog.errors import BadRequest, TooLarge

GZIP, DEFLATE, IDENTITY = b"gzip", b"deflate", b"identity"

_EITHER, _BARE = 32 + zlib.MAX_WBITS, -zlib.MAX_WBITS
"""Of `zlib`: a header of gzip or zlib, and none, which some clients call deflate as well."""

_WRITTEN = {GZIP: 16 + zlib.MAX_WBITS, DEFLATE: zlib.MAX_WBITS}

GZIP_MAGIC = b"\x1f\x8b"
"""What every member of a gzip file begins with."""

LEVEL = 1
"""The quickest: the router has other things to do."""

LEAST_BYTES = 4096
"""A shorter answer goes as it is: most clients say that they take gzip, and it would cost more than it saves."""

INLINE_BYTES = 64 * 1024
"""More is compressed or expanded on a thread, which `zlib` lets run beside the event loop."""


async def expanded(body: bytes, coding: bytes, max_bytes: int) -> bytes:
    """A request body as it was before the client compressed it.

    Raises `BadRequest`, or `TooLarge` as soon as ``max_bytes`` are there and more would come.
    """
    coding = coding.strip().lower()
    if coding in (b"", IDENTITY):
        return body
    if coding not in (GZIP, DEFLATE, b"x-gzip"):
        raise BadRequest(f"content-encoding {coding.decode('latin-1')!r} is not taken; use gzip, deflate or none")
    # Few bytes may be a great many.
    return await asyncio.to_thread(_expand, body, max_bytes) if len(body) > 1024 else _expand(body, max_bytes)


async def compressed(body: bytes, accepted: bytes) -> tuple[bytes, bytes | None]:
    """An answer's body as a client takes it, and the coding; None where it stays as it is."""
    coding = chosen(accepted) if len(body) >= LEAST_BYTES else None
    if coding is None:
        return body, None
    if len(body) > INLINE_BYTES:
        return await asyncio.to_thread(_compress, body, coding), coding
    return _compress(body, coding), coding


def chosen(accepted: bytes) -> bytes | None:
    """The coding that an ``Accept-Encoding`` likes best of those written here; None for none."""
    weights: dict[bytes, float] = {}
    for part in accepted.lower().split(b","):
        name, *given = (word.strip() for word in part.split(b";"))
        weights[name] = _weight(given)
    rest = weights.get(b"*", 0.0)
    best = max((GZIP, DEFLATE), key=lambda coding: weights.get(coding, rest))
    weight = weights.get(best, rest)
    return best if weight > 0 and weight >= weights.get(IDENTITY, 0.0) else None


def _weight(given: list[bytes]) -> float:
    for word in given:
        if word.startswith(b"q="):
            try:
                return float(word[2:])
            except ValueError:
                return 0.0
    return 1.0


def _compress(body: bytes, coding: bytes) -> bytes:
    writer = zlib.compressobj(LEVEL, wbits=_WRITTEN[coding])
    return writer.compress(body) + writer.flush()


def _expand(body: bytes, max_bytes: int) -> bytes:
    try:
        return _read(body, _EITHER, max_bytes)
    except zlib.error:
        pass
    try:
        return _read(body, _BARE, max_bytes)
    except zlib.error as error:
        raise BadRequest(f"the body is not what its content-encoding says: {error}") from None


def _read(body: bytes, header: int, max_bytes: int) -> bytes:
    """What all members hold: gzip may have several, one behind the other (RFC 1952, section 2.2)."""
    members: list[bytes] = []
    rest, left_bytes = body, max_bytes
    while not members or rest.startswith(GZIP_MAGIC):
        reader = zlib.decompressobj(header)
        content = reader.decompress(rest, left_bytes + 1)
        if len(content) > left_bytes:
            raise TooLarge(
                f"the body has {len(body)} bytes that hold more than {max_bytes}, which it may have; split the batch "
                "or raise max_body_bytes"
            )
        if not reader.eof:
            raise BadRequest(f"the body has {len(body)} bytes and ends before what it holds does; send all of it")
        members.append(content)
        rest, left_bytes = reader.unused_data, left_bytes - len(content)
    if rest:
        raise BadRequest(f"the body has {len(rest)} bytes behind what it holds; leave them out")
    return b"".join(members)
