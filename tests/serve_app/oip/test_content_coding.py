"""Compressed bodies: what is read, what is written, and what would be too much."""

import gzip
import tracemalloc
import zlib

import pytest

from catalog.errors import BadRequest, TooLarge
from serve_app.oip.content_coding import LEAST_BYTES, chosen, compressed, expanded

BODY = b'{"inputs": [1, 2, 3]}' * 40


def bare(body: bytes) -> bytes:
    writer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return writer.compress(body) + writer.flush()


@pytest.mark.parametrize(
    ("coding", "sent"),
    [
        (b"gzip", gzip.compress(BODY, mtime=0)),
        (b" GZip ", gzip.compress(BODY, mtime=0)),
        (b"x-gzip", gzip.compress(BODY, mtime=0)),
        (b"deflate", zlib.compress(BODY)),
        (b"deflate", bare(BODY)),
        (b"identity", BODY),
        (b"", BODY),
    ],
)
async def test_a_body_is_read_as_it_was_before(coding: bytes, sent: bytes) -> None:
    assert await expanded(sent, coding, len(BODY)) == BODY


async def test_a_bomb_is_refused_before_it_takes_memory() -> None:
    bomb = gzip.compress(bytes(200_000_000))
    tracemalloc.start()
    with pytest.raises(TooLarge, match=f"the body has {len(bomb)} bytes that hold more than 1000"):
        await expanded(bomb, b"gzip", 1000)
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


async def test_a_byte_too_many_is_too_many() -> None:
    for coding, sent in ((b"gzip", gzip.compress(BODY, mtime=0)), (b"deflate", bare(BODY))):
        with pytest.raises(TooLarge):
            await expanded(sent, coding, len(BODY) - 1)


@pytest.mark.parametrize(
    ("coding", "sent", "message"),
    [
        (b"br", BODY, "content-encoding 'br' is not taken; use gzip, deflate or none"),
        (b"gzip, gzip", gzip.compress(BODY, mtime=0), "is not taken"),
        (b"gzip", BODY, "the body is not what its content-encoding says"),
        (b"gzip", gzip.compress(BODY, mtime=0)[:-9], "ends before what it holds does"),
        (b"gzip", gzip.compress(BODY, mtime=0) + b"more", "4 bytes behind what it holds"),
        (b"gzip", b"", "ends before"),
    ],
)
async def test_what_is_not_so_compressed_is_refused(coding: bytes, sent: bytes, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        await expanded(sent, coding, 10_000)


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        (b"", None),
        (b"identity", None),
        (b"gzip", b"gzip"),
        (b"deflate", b"deflate"),
        (b"gzip, deflate, br", b"gzip"),
        (b"gzip;q=0.2, deflate;q=0.9", b"deflate"),
        (b"gzip;q=0, deflate;q=0", None),
        (b"GZIP; Q=1", b"gzip"),
        (b"*", b"gzip"),
        (b"*;q=0.5, gzip;q=0", b"deflate"),
        (b"identity;q=1, gzip;q=0.5", None),
        (b"br, zstd", None),
        (b"gzip;q=much", None),
        (b",;,q", None),
    ],
)
def test_the_coding_is_one_that_the_client_likes(accepted: bytes, coding: bytes | None) -> None:
    assert chosen(accepted) == coding


@pytest.mark.parametrize("times", [1, 40])
async def test_an_answer_goes_so_compressed_that_others_read_it(times: int) -> None:
    body = b"0123456789abcdef" * (LEAST_BYTES // 16) * times
    packed, coding = await compressed(body, b"gzip")
    assert (coding, gzip.decompress(packed)) == (b"gzip", body)
    assert len(packed) < len(body) / 4
    packed, coding = await compressed(body, b"deflate")
    assert (coding, zlib.decompress(packed)) == (b"deflate", body)


async def test_a_short_answer_goes_as_it_is() -> None:
    assert await compressed(b"1" * (LEAST_BYTES - 1), b"gzip") == (b"1" * (LEAST_BYTES - 1), None)


async def test_gzip_of_several_members_is_all_of_them_within_the_same_bound() -> None:
    sent = b"".join(gzip.compress(part, mtime=0) for part in (BODY[:100], b"", BODY[100:]))
    assert await expanded(sent, b"gzip", len(BODY)) == BODY
    with pytest.raises(TooLarge, match=f"hold more than {len(BODY) - 1}"):
        await expanded(sent, b"gzip", len(BODY) - 1)
