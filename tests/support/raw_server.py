"""A server on loopback that sends the bytes that a test gives, whole or not, and closes the connection."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

CUT_OFF = b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"workers"'
NO_HTTP = b"SSH-2.0-OpenSSH_9.6\r\n"


def whole(body: bytes, status: str = "200 OK") -> bytes:
    """An answer with all of its body."""
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status.encode(), len(body), body)


@contextmanager
def raw_server(*answers: bytes) -> Iterator[str]:
    """Its URL until the block ends; connections get the answers in turn, and the last one from then on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_serve, args=(listening, answers))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def _serve(listening: socket.socket, answers: tuple[bytes, ...]) -> None:
    number = 0
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:  # the block has ended
            return
        with connection, connection.makefile("rb") as lines:
            length = 0
            while (line := lines.readline()).strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            lines.read(length)
            connection.sendall(answers[min(number, len(answers) - 1)])
        number += 1
