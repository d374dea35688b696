"""What stands before a router's edge, by the config and by where Serve listens."""

import logging
import os

import ray
from ray.serve.context import _get_global_client

from catalog.errors import ConfigError
from serve_app.config.security import SecurityConfig, exposed_without_keys, is_loopback
from serve_app.http.security.credentials import Credentials
from serve_app.http.security.gate import Gate
from serve_app.proxy.tls import Tls

logger = logging.getLogger("ray.serve")


def gate_for(security: SecurityConfig) -> Gate | None:
    """The gate of a router in a Serve replica; None where everybody may call.

    Raises `ConfigError` where keys cannot be read, or where others would reach a service that asks for none.
    """
    client = _get_global_client()
    tls = Tls.of(os.environ)
    hosts = [None if client is None else client.http_config.host, None if tls is None else tls.host]
    for host in hosts:
        if host is not None and (wrong := exposed_without_keys(security, host)) is not None:
            raise ConfigError(wrong)
    if hosts[0] is not None and is_loopback(hosts[0]) and sum(node["Alive"] for node in ray.nodes()) > 1:
        logger.warning(
            "http_options.host is %s: proxies on other nodes do not reach this router. Set it to 0.0.0.0, with "
            "`security`, and run `serve shutdown` before `serve deploy`: a Serve that runs keeps its http_options.",
            hosts[0],
        )
    return Gate(Credentials(security)) if security.required else None
