"""Who may call over gRPC: the same keys, tokens and roles as over HTTP, in the metadata of a call."""

import ipaddress
import urllib.parse
from typing import Any

import psutil
from ray.serve.grpc_util import RayServegRPCContext

from catalog.errors import Forbidden
from serve_app.http.security.caller import Role, remember
from serve_app.http.security.gate import Gate


class Access:
    """Lets calls in; without a ``gate`` from this machine alone, or from ``everywhere``.

    Serve's gRPC servers listen on every interface, whatever the host of its HTTP options.
    """

    def __init__(self, gate: Gate | None, everywhere: bool) -> None:
        self._gate = gate
        self._everywhere = everywhere
        self._own = frozenset() if everywhere else _addresses()

    def admit(self, context: RayServegRPCContext, needed: frozenset[Role]) -> dict[str, Any]:
        """The call as the scope of an HTTP request with the same headers, for whom that is enough.

        Raises `Unauthenticated` or `Forbidden`.
        """
        headers = [
            (key.lower().encode(), value if isinstance(value, bytes) else value.encode("latin-1", "replace"))
            for key, value in context.invocation_metadata()
        ]
        scope: dict[str, Any] = {"type": "http", "headers": headers}
        if self._gate is None:
            if not self._everywhere and not self._is_here(context.peer()):
                raise Forbidden(
                    "nobody has to say who they are here, so calls over gRPC are taken from this machine alone; add "
                    "security.api_keys or security.jwt to the args, or `security: {anonymous: true}`"
                )
        elif needed:
            remember(scope, self._gate.caller(headers, needed))
        return scope

    def _is_here(self, peer: str) -> bool:
        """Whether a peer, ``ipv4:127.0.0.1:1234`` or ``ipv6:[::1]:1234``, is this machine."""
        family, _, rest = urllib.parse.unquote(peer).partition(":")
        if family == "unix":
            return True
        try:
            address = ipaddress.ip_address(rest.rpartition(":")[0].strip("[]").partition("%")[0])
        except ValueError:
            return False
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return address.is_loopback or str(address) in self._own


def _addresses() -> frozenset[str]:
    """Those of this machine's interfaces: HAProxy calls routers by the node's."""
    return frozenset(each.address.partition("%")[0] for found in psutil.net_if_addrs().values() for each in found)
