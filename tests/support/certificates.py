"""A certificate for loopback that signs itself, made anew for every test."""

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from security_scene import ec_key, private_pem, secret_file


def self_signed(folder: Path) -> tuple[str, str]:
    """Files of a key and of its certificate, good for an hour."""
    key, name = ec_key(), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "accord test")])
    now = datetime.datetime.now(datetime.UTC)
    hosts = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(hosts, critical=False)
        .sign(key, hashes.SHA256())
    )
    file = secret_file(folder, private_pem(key), "tls.key")
    return file, secret_file(folder, certificate.public_bytes(Encoding.PEM).decode(), "tls.crt")
