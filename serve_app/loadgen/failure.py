"""Names and words for a query that got no HTTP answer."""

import errno

import aiohttp

CATCH = (aiohttp.ClientError, OSError, TimeoutError)
"""What a call through aiohttp may raise because of the network or the server."""


def describe_failure(error: BaseException, server_url: str, timeout_s: float) -> tuple[str, str]:
    """(kind to count by, sentence to read) for one of `CATCH`."""
    cause = getattr(error, "os_error", error)
    if isinstance(error, TimeoutError):
        return "timeout", f"no answer from {server_url} in {timeout_s:g} s"
    if isinstance(cause, ConnectionRefusedError):
        return "connection_refused", f"nothing listens at {server_url} (connection refused)"
    if isinstance(cause, OSError) and cause.errno == errno.EMFILE:
        return "open_files", "this process may open no more connections; raise `ulimit -n` or send at a lower rate"
    if isinstance(error, aiohttp.ClientConnectorError):
        return "connection_failed", f"cannot connect to {server_url}: {cause}"
    return "connection_lost", f"the connection to {server_url} broke: {error or type(error).__name__}"
