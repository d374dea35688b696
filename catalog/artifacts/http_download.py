"""Model files over HTTP: only from addresses that are fit for it, no further than allowed, no larger than allowed."""

import http.client
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from catalog.artifacts.addresses import CheckedConnection, CheckedTlsConnection
from catalog.artifacts.places import within
from catalog.artifacts.rules import ArtifactRules
from catalog.artifacts.sized_copy import copied
from catalog.errors import ArtifactError

REDIRECTS = (301, 302, 303, 307, 308)
MOST_REDIRECTS = 3
CHUNK_BYTES = 1 << 20
LONGEST_S = 3600.0
"""A download that takes longer is given up, however steadily it drips."""


def download_http(url: str, target: Path, root: str, rules: ArtifactRules) -> None:
    """Fetch one file to ``target``, which must not exist; raises `ArtifactError` or OSError.

    Redirects are followed to where models may come from: under ``root``, where that is a URL, and the allowed URLs.
    """
    deadline_s = time.monotonic() + LONGEST_S
    for _ in range(MOST_REDIRECTS + 1):
        with closing(_connection(url, rules)) as connection:
            parts = urlsplit(url)
            query = f"?{parts.query}" if parts.query else ""
            connection.request("GET", f"{parts.path or '/'}{query}", headers={"Accept-Encoding": "identity"})
            response = connection.getresponse()
            if response.status not in REDIRECTS:
                copied(_content(url, response, rules, deadline_s), target, url, rules.max_bytes)
                return
            leads_to = urljoin(url, response.headers.get("Location", ""))
        if not any(within(leads_to, allowed) for allowed in (root, *rules.allowed)):
            raise ArtifactError(
                f"{url} leads on to {leads_to!r}, which is no place that models may come from; name the file where it "
                "is, or put its URL under artifacts.allowed"
            )
        url = leads_to
    raise ArtifactError(f"{url} leads on and on; name the file where it is")


def _connection(url: str, rules: ArtifactRules) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    if parts.hostname is None:
        raise ArtifactError(f"{url!r} names no host; write it as https://host/folder/file")
    kind = CheckedTlsConnection if parts.scheme == "https" else CheckedConnection
    return kind(parts.hostname, parts.port, rules.private)


def _content(url: str, response: http.client.HTTPResponse, rules: ArtifactRules, deadline_s: float) -> Iterator[bytes]:
    if response.status != 200:
        raise ArtifactError(f"no model file at {url} (HTTP {response.status}); correct the uri or upload the file")
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise ArtifactError(f"{url} comes compressed though it was not asked for so; serve the file as it is")
    if response.length is not None and response.length > rules.max_bytes:
        raise ArtifactError(
            f"{url} has {response.length} bytes and may have {rules.max_bytes}; raise artifacts.max_bytes"
        )
    while chunk := response.read1(CHUNK_BYTES):
        if time.monotonic() > deadline_s:
            raise ArtifactError(f"{url} was not there after {LONGEST_S:g} s; fetch it from a faster place")
        yield chunk
    if response.length:
        raise ArtifactError(f"{url} broke off with {response.length} bytes to come; fetch it again")
