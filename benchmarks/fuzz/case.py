"""One bad input."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """``content`` goes over a connection as it is. Of one that is ``broken`` nobody has to answer: it is no HTTP, or
    never complete, and the connection ends with it. A ``HEAD`` request gets no body.
    """

    kind: str
    content: bytes
    broken: bool = False
    head: bool = False


def request(
    kind: str,
    method: str,
    path: str,
    body: bytes = b"",
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),),
) -> Case:
    """A request that HTTP allows, whatever is in it."""
    lines = [f"{method} {path} HTTP/1.1", "Host: accord", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers]
    head = "\r\n".join(lines).encode("utf-8", "surrogatepass")
    return Case(kind, head + b"\r\n\r\n" + body, head=method == "HEAD")


def chunked(kind: str, path: str, body: bytes, size: int) -> Case:
    """The same in chunks of so many bytes."""
    head = f"POST {path} HTTP/1.1\r\nHost: accord\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return Case(kind, head + b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n")
