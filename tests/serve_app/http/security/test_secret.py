"""Where secrets are read, and files that others could read."""

from pathlib import Path

import pytest
from security_scene import new_key, secret_file

from catalog.errors import ConfigError
from serve_app.config.security import SecretConfig
from serve_app.http.security.secret import read_secret


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o602])
def test_a_file_that_others_may_read_or_write_is_refused_with_what_to_run(tmp_path: Path, mode: int) -> None:
    key = new_key()
    path = Path(secret_file(tmp_path, key))
    path.chmod(mode)
    with pytest.raises(ConfigError, match=f"has mode {mode:04o}.*run `chmod 600 {path}`") as refused:
        read_secret("security.api_keys.shop", SecretConfig(file=str(path)))
    assert key not in str(refused.value)
    path.chmod(0o600)
    assert read_secret("security.api_keys.shop", SecretConfig(file=str(path))) == key.encode()


def test_what_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(ConfigError, match=r"here\.env: environment variable NO_SUCH_KEY is not set"):
        read_secret("here", SecretConfig(env="NO_SUCH_KEY"))
    with pytest.raises(ConfigError, match=r"here\.file: cannot read .*missing"):
        read_secret("here", SecretConfig(file=str(tmp_path / "missing")))
    with pytest.raises(ConfigError, match="is empty"):
        read_secret("here", SecretConfig(file=secret_file(tmp_path, " \n")))
