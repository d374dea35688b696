"""One exchange over HTTP with a service that may die in the middle of it."""

import urllib.request
from http.client import HTTPException


def fetch(request: str | urllib.request.Request, timeout_s: float) -> bytes:
    """The body of the answer. Raises OSError where there is none, one that breaks off, or one that is no HTTP;
    `urllib.error.HTTPError`, which is one too, where its status is an error."""
    try:
        with urllib.request.urlopen(request, timeout=timeout_s) as response:
            content: bytes = response.read()
    except HTTPException as error:
        raise ConnectionError(f"{_url(request)} gave no whole answer: {error!r}") from error
    return content


def _url(request: str | urllib.request.Request) -> str:
    return request if isinstance(request, str) else request.full_url
