"""Connections to hosts by addresses that were looked at first, so that no name leads where nobody meant to go."""

import http.client
import ipaddress
import socket
import ssl

from catalog.errors import ArtifactError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

NAT64 = ipaddress.ip_network("64:ff9b::/96")
SHARED = ipaddress.ip_network("100.64.0.0/10")
"""Addresses behind a carrier's translation, which are nobody's in particular (RFC 6598)."""

CONNECT_S = 10.0
IDLE_S = 30.0
"""Without a byte for so long, a download is given up."""


def refused_because(address: Address, host: str, private: bool) -> str | None:
    """Why nothing is fetched from an address that ``host`` was resolved to; None where it may be.

    Loopback is for a host that is written as such, private addresses for those who allow them; link-local ones, where
    clouds keep their credentials, are for nobody.
    """
    reached = _embedded(address)
    if reached.is_loopback:
        return None if _is_loopback(host) else "it is a loopback address"
    if reached.is_link_local or reached.is_multicast or reached.is_unspecified:
        return "it is link-local, multicast or no address at all"
    if reached.is_private or reached in SHARED:
        return None if private else "it is a private address; artifacts.private: true allows these"
    return None if reached.is_global else "it is a reserved address"


def _embedded(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for, where it does."""
    if isinstance(address, ipaddress.IPv6Address):
        if address in NAT64:
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        teredo = address.teredo
        return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else address)
    return address


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _connect(host: str, port: int, private: bool) -> socket.socket:
    """A connection to one of the addresses of a host, the very one that was looked at; raises `ArtifactError`."""
    last: OSError | None = None
    for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        found = ipaddress.ip_address(str(address[0]).partition("%")[0])
        reason = refused_because(found, host, private)
        if reason is not None:
            raise ArtifactError(f"host {host!r} is at {found}, and {reason}; models are not fetched from there")
        made = socket.socket(family, kind, protocol)
        try:
            made.settimeout(CONNECT_S)
            made.connect(address)
            made.settimeout(IDLE_S)
        except OSError as error:
            made.close()
            last = error
        else:
            return made
    raise last or OSError(f"host {host!r} has no address")


class CheckedConnection(http.client.HTTPConnection):
    """HTTP to an address that was looked at."""

    def __init__(self, host: str, port: int | None, private: bool) -> None:
        super().__init__(host, port)
        self._private = private

    def connect(self) -> None:
        """Called by the base class."""
        self.sock = _connect(self.host, self.port, self._private)


class CheckedTlsConnection(http.client.HTTPSConnection):
    """The same with TLS; the certificate has to be the host's."""

    def __init__(self, host: str, port: int | None, private: bool) -> None:
        self._tls = ssl.create_default_context()
        super().__init__(host, port, context=self._tls)
        self._private = private

    def connect(self) -> None:
        """Called by the base class."""
        made = _connect(self.host, self.port, self._private)
        self.sock = self._tls.wrap_socket(made, server_hostname=self.host)
