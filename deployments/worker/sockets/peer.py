"""Who is at the other end of a socket, and whether that is still there.

On one machine the system says whose process it is. Over a network both ends show that they know the worker's token,
which Ray told the router, before either takes a message of the other: each has a nonce signed by the other (HMAC of
SHA-256), and the token itself is never sent.
"""

import errno
import hmac
import os
import socket
import struct
from asyncio import StreamReader, StreamWriter

TOKEN_BYTES = 32
IDLE_S, AGAIN_S, TIMES = 4, 1, 4
"""A machine that says nothing is asked after so long, then again, so many times, until it counts as gone."""

CUT_OFF = frozenset({errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENETDOWN})
"""Errors of a connection whose other end may live on: nothing comes through any more."""

_NONCE_BYTES = 16
_PROOF_BYTES = 32
_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid: struct ucred of unix(7)


def same_user(end: socket.socket) -> bool:
    """Whether the process at the other end of a Unix socket is of this one's user (``SO_PEERCRED``)."""
    _, user, _ = _CREDENTIALS.unpack(end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return bool(user == os.geteuid())


def end_of(writer: StreamWriter) -> socket.socket:
    """The socket that is written to, for its options: a duplicate, to be closed."""
    return socket.socket(fileno=os.dup(writer.get_extra_info("socket").fileno()))


def watch(end: socket.socket) -> None:
    """Have a TCP connection end some `IDLE_S` + `TIMES` x `AGAIN_S` s after the other machine was cut off."""
    end.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux: data without an acknowledgement counts, too
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, IDLE_S)
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, AGAIN_S)
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, TIMES)
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1000 * (IDLE_S + TIMES * AGAIN_S))


async def meet_worker(reader: StreamReader, writer: StreamWriter, token: bytes) -> None:
    """The router's part; raises `PermissionError` where the other end does not know the token."""
    mine = os.urandom(_NONCE_BYTES)
    writer.write(mine)
    its = await reader.readexactly(_NONCE_BYTES)
    if not hmac.compare_digest(await reader.readexactly(_PROOF_BYTES), _proof(token, b"worker", mine, its)):
        raise PermissionError("what listens there is not that worker")
    writer.write(_proof(token, b"router", mine, its))


async def meet_router(reader: StreamReader, writer: StreamWriter, token: bytes) -> None:
    """The worker's part; raises `PermissionError` where the other end does not know the token."""
    its = await reader.readexactly(_NONCE_BYTES)
    mine = os.urandom(_NONCE_BYTES)
    writer.write(mine + _proof(token, b"worker", its, mine))
    if not hmac.compare_digest(await reader.readexactly(_PROOF_BYTES), _proof(token, b"router", its, mine)):
        raise PermissionError("a process that was not told the token")


def _proof(token: bytes, role: bytes, routers: bytes, workers: bytes) -> bytes:
    return hmac.digest(token, role + routers + workers, "sha256")
