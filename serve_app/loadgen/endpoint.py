"""The addresses of one endpoint of a running server."""

from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from catalog.errors import ConfigError


@dataclass(frozen=True)
class Endpoint:
    """``name`` as served under ``server_url``, such as http://127.0.0.1:8000."""

    server_url: str
    name: str

    @property
    def metadata_url(self) -> str:
        """Where GET tells inputs, outputs and the objective."""
        return f"{base_url(self.server_url)}/v2/models/{quote(self.name, safe='')}"

    @property
    def infer_url(self) -> str:
        """Where POST answers a query."""
        return f"{self.metadata_url}/infer"


def base_url(server_url: str) -> str:
    """``server_url`` without a trailing slash; raises `ConfigError` unless it names http or https and a host."""
    try:
        parts = urlsplit(server_url)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that do not close, a port that is no number
        right = False
    if not right:
        raise ConfigError(f"server URL {server_url!r}; write it as http://127.0.0.1:8000")
    return server_url.rstrip("/")
