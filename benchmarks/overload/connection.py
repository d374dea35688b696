"""One HTTP/1.1 connection of a client that must cost next to nothing: prepared requests, answers not decoded."""

import socket
from errno import EINPROGRESS

LOST = 0
"""The status of a query without an answer."""

READ_BYTES = 1 << 16


class Connection:
    """Sends one request at a time to a port of this machine, over a socket that never blocks.

    ``opened`` once it has been connected; `asked` while a request has no answer. Methods return False or `LOST` where
    the connection is of no use any more: then it is to be closed.
    """

    def __init__(self, port: int) -> None:
        self.query = -1
        self.asked = False
        self.opened = False
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._request = b""
        self._data = b""
        self._error = self._socket.connect_ex(("127.0.0.1", port))

    def fileno(self) -> int:
        """Of its socket; -1 once it is closed."""
        return self._socket.fileno()

    @property
    def refused(self) -> bool:
        """Whether there is nobody, as far as is known at once."""
        return self._error not in (0, EINPROGRESS)

    def on_writable(self) -> bool:
        """The socket is connected, or failed to: sends the request that waits for it."""
        self.opened = not self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        return self.opened and (not self.asked or self._write())

    def send(self, query: int, request: bytes) -> bool:
        """Send a request, the ``query``-th of its run, as soon as there is a connection."""
        self.query, self.asked, self._request, self._data = query, True, request, b""
        return not self.opened or self._write()

    def on_readable(self) -> int | None:
        """Take what came: the status of a whole answer, None where more must come.

        `LOST` where the connection has ended, or where something comes that nobody asked for: an idle one is told that
        it ends.
        """
        try:
            came = self._socket.recv(READ_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            return LOST
        if not came or not self.asked:
            return LOST
        self._data = data = self._data + came if self._data else came
        end = data.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = data[:end].lower()
        length = head.find(b"content-length:")
        size = int(head[length + 15 :].split(b"\r\n", 1)[0]) if length >= 0 else 0
        if len(data) < end + 4 + size:
            return None
        self.asked = False
        self.opened = b"connection: close" not in head
        return int(head[9:12])

    def close(self) -> None:
        """Leave at once, whatever was asked."""
        self.asked = self.opened = False
        self._socket.close()

    def _write(self) -> bool:
        try:
            return self._socket.send(self._request) == len(self._request)
        except OSError:  # it has ended, or nobody reads a few kilobytes
            return False
