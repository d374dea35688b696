"""Where a service that is to be started will listen, and whether it may."""

import os
from pathlib import Path

from catalog.errors import ConfigError
from serve_app.cli.config_file import ServeFile
from serve_app.config.security import ApiKeyConfig, SecurityConfig, exposed_without_keys
from serve_app.http.security.credentials import Credentials
from serve_app.http.security.secret import read_secret
from serve_app.proxy.tls import Tls


def refuse_unsafe(file: ServeFile) -> None:
    """Raise `ConfigError` where others would reach a service that asks for no keys, or where its keys are not there."""
    try:
        tls = Tls.of(os.environ)
    except ValueError as error:
        raise ConfigError(str(error)) from error
    for host in (file.host, *(() if tls is None else (tls.host,))):
        wrong = exposed_without_keys(file.app.security, host)
        if wrong is not None:
            raise ConfigError(f"{file.path}: {wrong}")
    if file.tls:
        raise ConfigError(
            f"{file.path}: http_options has ssl_keyfile and ssl_certfile, which HAProxy of the high-throughput mode "
            "does not serve; set ACCORD_TLS_CERT and ACCORD_TLS_BIND (docs/overload.md), or use `serve run` in default "
            "mode (docs/security.md)"
        )
    if file.app.security.required:
        try:
            Credentials(file.app.security.beside(Path.cwd()))
        except ConfigError as error:
            raise ConfigError(f"{file.path}: {error}") from error


def watching_headers(security: SecurityConfig) -> dict[str, str] | None:
    """Headers for what a start asks of the service, those of the first client that may; None where none may."""
    if not security.required:
        return {}
    for name, config in security.api_keys.items():
        if {"observe", "infer"} <= set(config.roles):
            key = read_secret(f"security.api_keys.{name}", config.beside(Path.cwd())).split()[0]
            return {"Authorization": f"Bearer {key.decode()}"}
    return None


def curl_option(security: SecurityConfig) -> str:
    """What a `curl` line needs beside the rest to be let in; it names the place of a key, and has none."""
    able = [config for config in security.api_keys.values() if "infer" in config.roles]
    if not security.required:
        return ""
    return f' -H "Authorization: Bearer {_place(able[0]) if able else "$TOKEN"}"'


def _place(config: ApiKeyConfig) -> str:
    return f"$(head -1 {config.file})" if config.env is None else f"${config.env}"
