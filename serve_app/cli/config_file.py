"""A Serve config file as the commands read it: where it listens, and the Accord application in it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from catalog.artifacts.rules import ArtifactRules
from catalog.errors import ConfigError
from catalog.faults import nearest
from catalog.store import NO_MORE
from catalog.yaml_file import read_yaml
from serve_app.config.file_keys import unknown_keys
from serve_app.config.read import app_config
from serve_app.config.schema import AppConfig
from serve_app.proxy.tls import MOST_PORT

IMPORT_PATH = "serve_app.main:build"

GRPC_SERVICERS = (
    "serve_app.grpc.protocol.inference_pb2_grpc.add_GRPCInferenceServiceServicer_to_server",
    "serve_app.grpc.protocol.health.add_health_to_server",
)
"""What ``grpc_options.grpc_servicer_functions`` has to name: the protocol's calls, and those about health."""

LOOPBACK, SERVES_DEFAULT = "127.0.0.1", "0.0.0.0"
"""Serve listens everywhere where a config does not say ``http_options.host``."""

SERVES_HTTP = 8000
"""Serve's port where a config does not say ``http_options.port``."""

SERVES_GRPC = 9000
"""Serve's port for gRPC where a config does not say ``grpc_options.port``."""

HERE = {SERVES_DEFAULT: LOOPBACK, "::": "::1"}
"""Where this machine reaches what listens on such a host."""


@dataclass(frozen=True)
class ServeFile:
    """``url`` is where clients on this machine reach the HTTP interface; ``app`` the first Accord application.

    It listens on ``host``, with ``tls`` where it has a certificate for that, and for gRPC on ``grpc_port``, if any.
    """

    path: Path
    url: str
    app: AppConfig
    host: str = LOOPBACK
    tls: bool = False
    grpc_port: int | None = None


def read_serve_file(path: Path) -> ServeFile:
    """Read a file that ``serve run`` takes; raises `ConfigError` naming the file, the field and the value.

    Keys that Ray does not know are refused as well, which ``serve run`` ignores.
    """
    return _serve_file(path, read_yaml(path, str(path), "the path of a Serve config file"))


def _serve_file(path: Path, content: Any) -> ServeFile:
    _refuse_unknown_keys(path, content)
    ours = _ours(path, content)
    try:
        app = app_config(ours[0].get("args", {}))
    except ConfigError as error:
        raise ConfigError(f"{path}, args of application {ours[0].get('name')!r}: {error}") from error
    http = content.get("http_options") or {}
    if not isinstance(http, dict):
        raise ConfigError(f"{path}: http_options must be a mapping with host and port, not {http!r}")
    host = str(http.get("host", SERVES_DEFAULT))
    port = _checked_port(path, "http_options.port", http.get("port", SERVES_HTTP), least=1)
    tls = bool(http.get("ssl_keyfile") and http.get("ssl_certfile"))
    given = ours[0].get("route_prefix") or "/"
    if not isinstance(given, str):
        raise ConfigError(f"{path}: route_prefix must be text such as /accord, not {given!r}")
    prefix = given.rstrip("/")
    url = f"http{'s' if tls else ''}://{_in_url(HERE.get(host, host))}:{port}{prefix}"
    return ServeFile(path, url, app, host, tls, _grpc_port(path, content))


def artifact_rules(path: Path | None) -> ArtifactRules:
    """What such a file allows of model files; without one, no more than is allowed anyway. Raises `ConfigError`."""
    return NO_MORE if path is None else read_serve_file(path).app.artifacts.rules


def _in_url(host: str) -> str:
    """An IPv6 address stands in brackets, which tell it from the port."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def write_served(path: Path, folder: Path, *, emulate: bool, host: str | None, grpc_port: int | None = None) -> Path:
    """A copy of a Serve config file as it is to be served; raises `ConfigError` as `read_serve_file` does.

    The file is read once: it may be a pipe.

    With ``emulate`` its Accord applications emulate their variants; how, is theirs to say. It listens on ``host``, or
    else where it says, or else where only this machine reaches it; for gRPC on ``grpc_port``, or else where it says, or
    else not at all, as with port 0. Calls of the protocol are served there unless it names others.
    """
    content = read_yaml(path, str(path), "the path of a Serve config file")
    _serve_file(path, content)  # what is wrong with it is said of the file that its author knows
    for application in _ours(path, content):
        arguments = application.setdefault("args", {})
        if emulate and isinstance(arguments, dict) and arguments.get("emulate") is None:
            arguments["emulate"] = {}
    http = content.setdefault("http_options", {}) or {}
    if isinstance(http, dict):
        content["http_options"] = {**http, "host": host or http.get("host", LOOPBACK)}
    grpc = _grpc_options(path, content)
    if grpc_port is not None:
        grpc["port"] = grpc_port
    if grpc.get("port"):
        content["grpc_options"] = {"grpc_servicer_functions": [*GRPC_SERVICERS], **grpc}
    else:
        content.pop("grpc_options", None)
    copy = folder / path.name
    copy.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return copy


def _grpc_options(path: Path, content: dict[str, Any]) -> dict[str, Any]:
    grpc = content.get("grpc_options") or {}
    if not isinstance(grpc, dict):
        raise ConfigError(f"{path}: grpc_options must be a mapping with a port, not {grpc!r}")
    _checked_port(path, "grpc_options.port", grpc.get("port", 0), least=0)
    return dict(grpc)


def _checked_port(path: Path, field: str, port: Any, least: int) -> int:
    if type(port) is not int or not least <= port <= MOST_PORT:
        raise ConfigError(f"{path}: {field} is {port!r}; give a whole number from {least} to {MOST_PORT}")
    return port


def _grpc_port(path: Path, content: dict[str, Any]) -> int | None:
    """Where Serve will listen for gRPC, which it does with a port and something to serve there."""
    grpc = _grpc_options(path, content)
    return grpc.get("port", SERVES_GRPC) or None if grpc.get("grpc_servicer_functions") else None


def _refuse_unknown_keys(path: Path, content: Any) -> None:
    """Raise `ConfigError` with a sentence for each, unless the file has nothing like ``applications``: then it is
    another kind of file, which `_ours` says."""
    if isinstance(content, dict) and nearest("applications", map(str, content)):
        faults = "; ".join(unknown_keys(content))
        if faults:
            raise ConfigError(f"{path}: {faults}")


def _ours(path: Path, content: Any) -> list[dict[str, Any]]:
    """The Accord applications of a file."""
    applications = content.get("applications") if isinstance(content, dict) else None
    listed = applications if isinstance(applications, list) else []
    ours = [a for a in listed if isinstance(a, dict) and a.get("import_path") == IMPORT_PATH]
    if not ours:
        raise ConfigError(f"{path} has no application with import_path {IMPORT_PATH!r}; see configs/quickstart.yaml")
    return ours
