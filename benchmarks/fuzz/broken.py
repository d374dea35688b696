"""What is no HTTP, or a request that never comes to its end."""

import random

from benchmarks.fuzz.case import Case

TLS_HELLO = bytes.fromhex("16030100a5010000a10303") + bytes(range(150))
HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"


def broken(rng: random.Random, path: str, body: bytes) -> Case:
    """Bytes that a parser of HTTP may not fall over."""
    start = f"POST {path} HTTP/1.1\r\nHost: accord\r\n".encode()
    length = b"Content-Length: %d\r\n" % len(body)
    chunks = b"Transfer-Encoding: chunked\r\n"
    content = rng.choice(
        (
            rng.randbytes(rng.randrange(1, 600)),
            TLS_HELLO,
            HTTP2,
            b"GET /\r\n\r\n",
            b"\r\n" * rng.randrange(1, 50),
            b"GET " + b"/x" * 40_000 + b" HTTP/1.1\r\nHost: accord\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: accord\r\n" + b"X: " + b"y" * 200_000 + b"\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: accord\r\n" + b"".join(b"X%d: y\r\n" % n for n in range(2000)) + b"\r\n",
            b"GET / HTTP/" + rng.choice((b"0.9", b"9.9", b"1", b"1.1.1", b"x")) + b"\r\nHost: accord\r\n\r\n",
            b"G\0T / HTTP/1.1\r\nHost: accord\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            start + b"Content-Length: -1\r\n\r\n" + body,
            start + b"Content-Length: 99999999999999999999\r\n\r\n" + body,
            start + b"Content-Length: 1e3\r\n\r\n" + body,
            start + length + b"Content-Length: 3\r\n\r\n" + body,
            start + length + chunks + b"\r\n" + body,
            start + b"Content-Length : 5\r\n\r\n" + body,
            start + chunks + b"\r\nzz\r\n" + body,
            start + chunks + b"\r\nffffffffffffffffff\r\n" + body,
            start + chunks + b"\r\n5\r\nhello-and-more\r\n0\r\n\r\n",
            start + chunks + b"\r\n-5\r\n" + body,
            start + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
            start + b"Transfer-Encoding: gzip\r\n\r\n" + body,
            start + b"X-Folded: a\r\n b\r\n" + length + b"\r\n" + body,
            start + b"X: a\nY: b\r\n" + length + b"\r\n" + body,
            start + b"X: \x00\x01\x7f\r\n" + length + b"\r\n" + body,
            start + b": empty\r\n" + length + b"\r\n" + body,
            start + b"Expect: something-else\r\n" + length + b"\r\n" + body,
            start + b"Upgrade: websocket\r\nConnection: upgrade\r\n" + length + b"\r\n" + body,
            start.replace(b"POST", b"CONNECT") + length + b"\r\n" + body,
            start[: rng.randrange(1, len(start))],
            start + length + b"\r\n" + body[: rng.randrange(len(body))],
            start + chunks + b"\r\n%x\r\n" % len(body) + body[: rng.randrange(len(body))],
        )
    )
    return Case("broken HTTP", content, broken=True)
