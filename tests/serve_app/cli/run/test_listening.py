"""``accord run`` and who would reach what it starts."""

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from security_scene import new_key, secret_file
from typer.testing import CliRunner

from catalog.errors import ConfigError
from serve_app.cli.config_file import read_serve_file, write_served
from serve_app.cli.main import app
from serve_app.cli.run.listening import curl_option, refuse_ports, refuse_unsafe, watching_headers
from serve_app.config.security import SecurityConfig

ARGS = {"endpoints": {"digits": {"task": "digits", "slo_ms": 100}}, "pools": {"cpu": {}}}


def config(folder: Path, security: dict[str, Any] | None = None, **http: Any) -> Path:
    args = ARGS if security is None else ARGS | {"security": security}
    content: dict[str, Any] = {"applications": [{"name": "a", "import_path": "serve_app.main:build", "args": args}]}
    path = folder / "serve.yaml"
    path.write_text(yaml.safe_dump(content | ({"http_options": http} if http else {})))
    return path


def served(path: Path, host: str | None = None) -> Path:
    folder = path.parent / "copy"
    folder.mkdir(exist_ok=True)
    return write_served(path, folder, emulate=False, host=host)


def test_a_service_listens_where_only_this_machine_reaches_it_unless_told_otherwise(tmp_path: Path) -> None:
    for http in ({}, {"port": 8123}):
        path = config(tmp_path, **http)
        assert read_serve_file(path).host == "0.0.0.0", "Serve's own default"
        file = read_serve_file(served(path))
        assert file.host == "127.0.0.1"
        refuse_unsafe(file)
    assert read_serve_file(served(config(tmp_path, host="10.1.2.3"))).host == "10.1.2.3"
    everywhere = read_serve_file(served(config(tmp_path, host="127.0.0.1"), "0.0.0.0"))
    assert (everywhere.host, everywhere.url) == ("0.0.0.0", "http://127.0.0.1:8000")


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("::", "http://[::1]:8000"),
        ("::1", "http://[::1]:8000"),
        ("fd00::5", "http://[fd00::5]:8000"),
        ("[fd00::5]", "http://[fd00::5]:8000"),
        ("example.org", "http://example.org:8000"),
    ],
)
def test_an_ipv6_address_stands_in_brackets_in_the_url(tmp_path: Path, host: str, url: str) -> None:
    assert read_serve_file(served(config(tmp_path, host=host))).url == url
    assert read_serve_file(served(config(tmp_path, host="127.0.0.1"), host)).url == url


def test_a_route_prefix_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = config(tmp_path)
    content = yaml.safe_load(path.read_text())
    content["applications"][0]["route_prefix"] = 5
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(ConfigError, match="route_prefix must be text such as /accord, not 5"):
        read_serve_file(path)


def test_grpc_is_served_where_it_is_asked_for(tmp_path: Path) -> None:
    def port(option: int | None = None, **options: Any) -> int | None:
        content = yaml.safe_load(config(tmp_path).read_text()) | ({"grpc_options": options} if options else {})
        (tmp_path / "serve.yaml").write_text(yaml.safe_dump(content))
        (tmp_path / "copy").mkdir(exist_ok=True)
        copy = write_served(tmp_path / "serve.yaml", tmp_path / "copy", emulate=False, host=None, grpc_port=option)
        return read_serve_file(copy).grpc_port

    assert port() is None
    assert port(9001) == 9001
    assert port(port=9002) == 9002
    assert port(0, port=9002) is None
    assert port(9003, port=9002, grpc_servicer_functions=["a.b"]) == 9003
    assert port(port=0) is None
    with pytest.raises(ConfigError, match=r"grpc_options.port is 'many'; give a whole number from 0 to 65535"):
        port(port="many")
    with pytest.raises(ConfigError, match=r"grpc_options.port is 90000; give"):
        port(port=90000)


@pytest.mark.parametrize("port", [0, 80000, "abc", True])
def test_a_port_that_is_none_is_refused(tmp_path: Path, port: object) -> None:
    with pytest.raises(ConfigError, match=rf"http_options.port is {port!r}; give a whole number from 1 to 65535"):
        read_serve_file(config(tmp_path, port=port))


def test_what_is_wrong_is_said_of_the_file_that_was_given(tmp_path: Path) -> None:
    path = config(tmp_path)
    path.write_text(path.read_text().replace("slo_ms: 100", "slo_ms: -1"))
    done = CliRunner().invoke(app, ["run", str(path)])
    assert done.exit_code == 2
    assert f"{path}, args of application 'a': endpoints.digits.slo_ms" in done.stderr


def test_a_host_that_cannot_be_resolved_is_said(tmp_path: Path) -> None:
    path = config(tmp_path, {"anonymous": True}, host="no-such-host.invalid")
    done = CliRunner().invoke(app, ["run", str(path)])
    assert done.exit_code == 2
    assert "host 'no-such-host.invalid'" in done.stderr
    assert "cannot be resolved" in done.stderr


def test_what_others_reach_is_not_started_without_keys_and_the_error_says_what_to_do(tmp_path: Path) -> None:
    path = config(tmp_path)
    command = [sys.executable, "-m", "serve_app.cli.main", "run", str(path), "--host", "0.0.0.0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 2
    for words in ("http_options.host is '0.0.0.0'", "security.api_keys", "security: {anonymous: true}"):
        assert words in done.stderr
    refuse_unsafe(read_serve_file(served(config(tmp_path, {"anonymous": True}), "0.0.0.0")))


def test_keys_that_are_not_there_stop_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOP_KEY", raising=False)
    file = read_serve_file(config(tmp_path, {"api_keys": {"shop": {"env": "SHOP_KEY"}}}, host="0.0.0.0"))
    with pytest.raises(ConfigError, match="environment variable SHOP_KEY is not set"):
        refuse_unsafe(file)
    monkeypatch.setenv("SHOP_KEY", new_key())
    refuse_unsafe(file)


def test_a_certificate_is_refused_where_it_would_not_be_served(tmp_path: Path) -> None:
    file = read_serve_file(config(tmp_path, host="127.0.0.1", ssl_keyfile="key.pem", ssl_certfile="cert.pem"))
    assert file.url.startswith("https://")
    with pytest.raises(ConfigError, match="set ACCORD_TLS_CERT and ACCORD_TLS_BIND"):
        refuse_unsafe(file)


def test_the_line_to_try_names_where_the_key_is_and_not_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = new_key()
    monkeypatch.setenv("SHOP_KEY", key)
    of_env = SecurityConfig.model_validate({"api_keys": {"shop": {"env": "SHOP_KEY", "roles": ["infer", "observe"]}}})
    assert curl_option(of_env) == ' -H "Authorization: Bearer $SHOP_KEY"'
    assert watching_headers(of_env) == {"Authorization": f"Bearer {key}"}
    file = secret_file(tmp_path, f"{key}\n")
    of_file = SecurityConfig.model_validate({"api_keys": {"shop": {"file": file}}})
    assert curl_option(of_file) == f' -H "Authorization: Bearer $(head -1 {file})"'
    assert watching_headers(of_file) is None
    assert (curl_option(SecurityConfig()), watching_headers(SecurityConfig())) == ("", {})


def test_an_address_for_tls_that_others_reach_is_asked_for_keys_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACCORD_TLS_CERT", "both.pem")
    file = read_serve_file(config(tmp_path, host="127.0.0.1"))
    monkeypatch.setenv("ACCORD_TLS_BIND", "127.0.0.1:8443")
    refuse_unsafe(file)
    monkeypatch.setenv("ACCORD_TLS_BIND", "*:8443")
    with pytest.raises(ConfigError, match=r"'0\.0\.0\.0', which other machines reach"):
        refuse_unsafe(file)


@pytest.mark.parametrize(
    ("host", "address"),
    [("127.0.0.1", "127.0.0.1:{}"), ("127.0.0.1", "*:{}"), ("0.0.0.0", "127.0.0.1:{}"), ("::1", "[::1]:{}")],
)
def test_tls_on_the_port_of_http_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_port: int, host: str, address: str
) -> None:
    monkeypatch.setenv("ACCORD_TLS_CERT", "both.pem")
    monkeypatch.setenv("ACCORD_TLS_BIND", address.format(free_port))
    file = read_serve_file(config(tmp_path, {"anonymous": True}, host=host, port=free_port))
    with pytest.raises(ConfigError, match=r"serve\.yaml has the service listen without TLS; give ACCORD_TLS_BIND"):
        refuse_ports(file)


def test_tls_on_the_same_port_of_another_address_or_where_nobody_listens_is_not_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_port: int
) -> None:
    monkeypatch.setenv("ACCORD_TLS_CERT", "both.pem")
    file = read_serve_file(config(tmp_path, host="127.0.0.1", port=free_port))
    for host in ("127.0.0.2", "ipv4@127.0.0.2"):  # as HAProxy takes it too
        monkeypatch.setenv("ACCORD_TLS_BIND", f"{host}:{free_port}")
        refuse_ports(file)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setenv("ACCORD_TLS_BIND", address)
        with pytest.raises(ConfigError, match=f"ACCORD_TLS_BIND='{address}' is taken already"):
            refuse_ports(file)
    refuse_ports(file)
