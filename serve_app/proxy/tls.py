"""Where HAProxy speaks TLS, by environment variables."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from shlex import quote  # HAProxy reads quotes as a shell does

CERTIFICATE, ADDRESS = "ACCORD_TLS_CERT", "ACCORD_TLS_BIND"
MOST_PORT = 65_535
BRACKETED = re.compile(r"\[[^]]*\]$")


@dataclass(frozen=True)
class Tls:
    """``certificate`` is a PEM file with chain and key, ``address`` a host and a port."""

    certificate: str
    address: str

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Tls | None":
        """None where nothing is set; raises ValueError where one is missing, or the address is no host and port."""
        certificate, address = (environment.get(name, "") for name in (CERTIFICATE, ADDRESS))
        if not certificate and not address:
            return None
        port = address.rpartition(":")[2]
        if not certificate or not port.isdecimal() or not 1 <= int(port) <= MOST_PORT:
            raise ValueError(
                f"{CERTIFICATE}={certificate!r} and {ADDRESS}={address!r}: set both, a PEM file with certificate and "
                "key and an address such as 0.0.0.0:8443, or neither"
            )
        if ":" in BRACKETED.sub("", address.rpartition(":")[0]):
            raise ValueError(
                f"{ADDRESS}={address!r}: where the host ends is not clear; give one address, with an IPv6 host in "
                "brackets, such as [::1]:8443"
            )
        return cls(os.path.expanduser(certificate), address)  # where no shell has done it

    @property
    def host(self) -> str:
        """That of the address; HAProxy's ``*`` is every one."""
        host = self.address.rpartition(":")[0]
        return "0.0.0.0" if host in ("", "*") else host

    @property
    def port(self) -> int:
        """That of the address."""
        return int(self.address.rpartition(":")[2])

    @property
    def line(self) -> str:
        """The ``bind`` of HAProxy's frontend."""
        return f"bind {self.address} ssl crt {quote(self.certificate)} ssl-min-ver TLSv1.2 alpn http/1.1"

    @property
    def told(self) -> str:
        """What tells routers that a request came so: the addresses in their answers begin with ``https``."""
        return "http-request set-header x-forwarded-proto https if { ssl_fc }"
