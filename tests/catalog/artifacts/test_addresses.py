"""Addresses that models are fetched from, and those that they are not."""

import ipaddress
import socket
from pathlib import Path
from typing import Any

import pytest
from model_server import content, model_server

from catalog.artifacts.addresses import refused_because
from catalog.artifacts.rules import ArtifactRules
from catalog.errors import ArtifactError
from catalog.store import FsspecStore
from catalog.variant import Artifact

SHA256 = "9b74c9897bac770ffc029102a200c5de2d5d1a1e7a3b3b1d9d6ee6d9c1a0b6d7"


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("8.8.8.8", None),
        ("2606:4700::1111", None),
        ("127.0.0.1", "loopback"),
        ("127.8.9.1", "loopback"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("64:ff9b::7f00:1", "loopback"),
        ("2002:7f00:1::", "loopback"),
        ("169.254.169.254", "link-local"),
        ("::ffff:169.254.169.254", "link-local"),
        ("64:ff9b::a9fe:a9fe", "link-local"),
        ("fe80::1", "link-local"),
        ("0.0.0.0", "no address"),
        ("::", "no address"),
        ("224.0.0.1", "multicast"),
        ("10.0.0.1", "private"),
        ("172.16.9.9", "private"),
        ("192.168.1.1", "private"),
        ("100.64.0.1", "private"),
        ("100.100.100.200", "private"),
        ("fd00:ec2::254", "private"),
        ("255.255.255.255", "private"),
        ("240.0.0.1", "private"),
    ],
)
def test_only_public_addresses_are_fit_unless_an_operator_says_more(address: str, reason: str | None) -> None:
    refused = refused_because(ipaddress.ip_address(address), "models.example", False)
    assert (refused is None) is (reason is None)
    assert reason is None or reason in str(refused)


def test_private_addresses_may_be_allowed_and_those_where_clouds_keep_credentials_never() -> None:
    assert refused_because(ipaddress.ip_address("10.0.0.1"), "models.example", True) is None
    for address in ("169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "127.0.0.1", "::1"):
        assert refused_because(ipaddress.ip_address(address), "models.example", True) is not None


def test_a_name_that_leads_to_loopback_is_not_asked_and_the_address_that_was_looked_at_is_the_one_connected_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A resolver that says a public address first and loopback the next time, as rebinding does."""
    answers: list[str] = []

    def rebinding(host: str, port: int, **_: Any) -> list[Any]:
        answers.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    asked: list[str] = []
    with model_server({"/x.onnx": content(b"x")}, asked) as url:
        port = url.rpartition(":")[2]
        monkeypatch.setattr(socket, "getaddrinfo", rebinding)
        rules = ArtifactRules(allowed=(f"http://models.example:{port}/",), private=True)
        store = FsspecStore(str(tmp_path), tmp_path / "cache", rules)
        with pytest.raises(ArtifactError, match=r"'models\.example' is at 127\.0\.0\.1, and it is a loopback address"):
            store.fetch(Artifact(f"http://models.example:{port}/x.onnx", SHA256))
    assert answers == ["models.example"], "resolved once: what was looked at is what is connected to"
    assert asked == []
