"""Keys that come and go while the service runs."""

from pathlib import Path

import pytest
from security_scene import new_key, secret_file

from catalog.errors import ConfigError, Unauthenticated
from serve_app.config.security import SecurityConfig
from serve_app.http.security import watch as module
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


def test_a_file_whose_rights_are_put_right_is_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    old, new = new_key(), new_key()
    file = Path(secret_file(tmp_path, old))
    config = SecurityConfig.model_validate({"api_keys": {"shop": {"file": str(file)}}})
    gate = Gate(Credentials(config))
    watch = SecretWatch(gate, config)
    other = tmp_path / "other"
    other.write_text(f"{new}\n")
    other.chmod(0o644)
    other.replace(file)
    for _ in range(3):
        watch.look()
    assert caplog.text.count("those before hold") == 1, "said once"
    file.chmod(0o600)
    watch.look()
    assert gate.credentials.caller(bearer(new)).name == "shop"
    with pytest.raises(Unauthenticated):
        gate.credentials.caller(bearer(old))


def test_what_could_not_be_read_for_a_moment_is_read_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = new_key(), new_key()
    file = secret_file(tmp_path, old)
    config = SecurityConfig.model_validate({"api_keys": {"shop": {"file": file}}})
    gate = Gate(Credentials(config))
    watch = SecretWatch(gate, config)
    secret_file(tmp_path, new)

    def too_many_files(config: SecurityConfig) -> Credentials:
        raise ConfigError("cannot read it: too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(module, "Credentials", too_many_files)
        watch.look()
    watch.look()
    assert gate.credentials.caller(bearer(new)).name == "shop"
