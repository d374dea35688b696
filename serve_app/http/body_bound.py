"""Bodies of everything but inference, held to the same size."""

from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope

from catalog.errors import TooLarge


def bounded(scope: Scope, receive: Receive, max_bytes: int) -> Receive:
    """``receive`` that gives no more than ``max_bytes`` of a body; then it raises what is answered with 413."""
    if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
        return receive
    size_bytes = 0

    async def receive_bounded() -> Message:
        nonlocal size_bytes
        message = await receive()
        size_bytes += len(message.get("body", b""))
        if size_bytes > max_bytes:
            raise HTTPException(TooLarge.status, f"the body has more than {max_bytes} bytes; raise max_body_bytes")
        return message

    return receive_bounded
