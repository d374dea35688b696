"""Keys that come and go while the service runs."""

from pathlib import Path

import pytest
from security_scene import new_key, secret_file

from catalog.errors import Unauthenticated
from serve_app.config.security import SecurityConfig
from serve_app.http.security.credentials import Credentials
from serve_app.http.security.gate import Gate
from serve_app.http.security.watch import SecretWatch


def bearer(key: str) -> list[tuple[bytes, bytes]]:
    return [(b"authorization", f"Bearer {key}".encode())]


def test_a_key_is_good_as_long_as_its_file_has_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    old, new = new_key(), new_key()
    file = secret_file(tmp_path, old)
    config = SecurityConfig.model_validate({"api_keys": {"shop": {"file": file}}})
    gate = Gate(Credentials(config))
    watch = SecretWatch(gate, config)
    before = gate.credentials
    watch.look()
    assert gate.credentials is before
    secret_file(tmp_path, f"{old}\n{new}")
    watch.look()
    assert {gate.credentials.caller(bearer(key)).name for key in (old, new)} == {"shop"}
    secret_file(tmp_path, new)
    watch.look()
    assert gate.credentials.caller(bearer(new)).name == "shop"
    with pytest.raises(Unauthenticated):
        gate.credentials.caller(bearer(old))
    Path(file).unlink()
    watch.look()
    assert gate.credentials.caller(bearer(new)).name == "shop"
    assert "those before hold" in caplog.text
    assert new not in caplog.text
