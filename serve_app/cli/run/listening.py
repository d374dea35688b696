"""Where a service that is to be started will listen, and whether it may."""

import os
import socket
import urllib.parse
from contextlib import ExitStack, suppress
from pathlib import Path

from catalog.errors import ConfigError
from serve_app.cli.config_file import HERE, ServeFile
from serve_app.cli.run.held_ports import hold
from serve_app.config.security import ApiKeyConfig, SecurityConfig, exposed_without_keys
from serve_app.http.security.credentials import Credentials
from serve_app.http.security.secret import read_secret
from serve_app.proxy.tls import ADDRESS, Tls


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


def refuse_ports(file: ServeFile) -> None:
    """Raise `ConfigError` where HTTP, gRPC and TLS share a port, or others have one: Serve would wait for ever."""
    ports, host = outer_ports(file), urllib.parse.urlsplit(file.url).hostname or ""
    if len(set(ports)) < len(ports):
        raise ConfigError(
            f"{file.path}: http_options.port and grpc_options.port (or --grpc-port) are both {ports[0]}; "
            "give gRPC another port, or 0 for none"
        )
    _refuse_tls_port(file, ports)
    for port, option in zip(ports, ("http_options.port", "grpc_options.port"), strict=False):
        try:
            taken = _listening(host, port)
        except socket.gaierror as error:
            raise ConfigError(
                f"host {host!r} of {file.path} cannot be resolved ({error}); give one of this machine"
            ) from error
        if taken:
            raise ConfigError(
                f"{host}:{port} is taken already; stop what listens there or change {option} in {file.path}"
            )


def hold_ports(file: ServeFile, held: ExitStack) -> None:
    """Raise `ConfigError` where another `accord run` has begun to start there; until the stack is closed none may."""
    for port in outer_ports(file):
        if not hold(f"{file.host}:{port}", held):
            raise ConfigError(
                f"{file.host}:{port} is where another `accord run` is going to listen; stop that one or change the "
                f"port in {file.path}"
            )


def _refuse_tls_port(file: ServeFile, ports: tuple[int, ...]) -> None:
    tls = Tls.of(os.environ)
    if tls is None:
        return
    host = tls.host.strip("[]")
    if tls.port in ports and (host == file.host or HERE.keys() & {host, file.host}):
        raise ConfigError(
            f"{ADDRESS}={tls.address!r} is where {file.path} has the service listen without TLS; give {ADDRESS} "
            "another port"
        )
    with suppress(socket.gaierror):  # HAProxy knows more ways to write an address, and says what is wrong with others
        if _listening(HERE.get(host, host), tls.port):
            raise ConfigError(
                f"{ADDRESS}={tls.address!r} is taken already; stop what listens there or give {ADDRESS} another port"
            )


def outer_ports(file: ServeFile) -> tuple[int, ...]:
    """Where clients reach the service, for HTTP and, if it is served, for gRPC."""
    http = urllib.parse.urlsplit(file.url).port or 0
    return (http,) if file.grpc_port is None else (http, file.grpc_port)


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


def _listening(host: str, port: int) -> bool:
    """Whether somebody does there; raises `socket.gaierror` for a host that nobody knows."""
    try:
        socket.create_connection((host, port), timeout=2).close()
    except socket.gaierror:
        raise
    except OSError:
        return False
    return True
