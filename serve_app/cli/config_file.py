"""A Serve config file as the commands read it: where it listens, and the Accord application in it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from catalog.errors import ConfigError
from serve_app.config.read import app_config
from serve_app.config.schema import AppConfig

IMPORT_PATH = "serve_app.main:build"


@dataclass(frozen=True)
class ServeFile:
    """``url`` is where clients on this machine reach the HTTP interface; ``app`` the first Accord application."""

    path: Path
    url: str
    app: AppConfig


def read_serve_file(path: Path) -> ServeFile:
    """Read a file that ``serve run`` takes; raises `ConfigError` naming the file, the field and the value."""
    content = _content(path)
    ours = _ours(path, content)
    try:
        app = app_config(ours[0].get("args", {}))
    except ConfigError as error:
        raise ConfigError(f"{path}, args of application {ours[0].get('name')!r}: {error}") from error
    http = content.get("http_options") or {}
    if not isinstance(http, dict):
        raise ConfigError(f"{path}: http_options must be a mapping with host and port, not {http!r}")
    host = http.get("host", "127.0.0.1")
    prefix = (ours[0].get("route_prefix") or "/").rstrip("/")
    url = f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{http.get('port', 8000)}{prefix}"
    return ServeFile(path, url, app)


def write_emulated(path: Path, folder: Path) -> Path:
    """A copy of a Serve config file whose Accord applications emulate their variants; how, is theirs to say.

    Raises `ConfigError` as `read_serve_file` does.
    """
    content = _content(path)
    for application in _ours(path, content):
        arguments = application.setdefault("args", {})
        if isinstance(arguments, dict) and arguments.get("emulate") is None:
            arguments["emulate"] = {}
    copy = folder / path.name
    copy.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return copy


def _content(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}; give the path of a Serve config file") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not YAML: {error}") from error


def _ours(path: Path, content: Any) -> list[dict[str, Any]]:
    """The Accord applications of a file."""
    applications = content.get("applications") if isinstance(content, dict) else None
    listed = applications if isinstance(applications, list) else []
    ours = [a for a in listed if isinstance(a, dict) and a.get("import_path") == IMPORT_PATH]
    if not ours:
        raise ConfigError(f"{path} has no application with import_path {IMPORT_PATH!r}; see configs/quickstart.yaml")
    return ours
