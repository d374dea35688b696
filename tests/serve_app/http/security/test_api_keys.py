"""API keys from files and the environment."""

from pathlib import Path

import pytest
from security_scene import new_key, secret_file

from catalog.errors import ConfigError
from serve_app.config.security import ApiKeyConfig
from serve_app.http.security.api_keys import ApiKeys
from serve_app.http.security.caller import Caller, Role


def test_a_key_names_its_client_and_roles_and_no_other_key_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, staff = new_key(), new_key()
    monkeypatch.setenv("SHOP_KEY", f"{shop}\n")
    file = secret_file(tmp_path, staff)
    keys = ApiKeys({"shop": ApiKeyConfig(env="SHOP_KEY"), "staff": ApiKeyConfig(file=file, roles=("observe", "admin"))})
    assert keys.caller(shop.encode()) == Caller("shop", frozenset({Role.INFER}))
    assert keys.caller(staff.encode()) == Caller("staff", frozenset({Role.OBSERVE, Role.ADMIN}))
    for wrong in (b"", shop[:-1].encode(), f"{shop}0".encode(), shop.upper().encode(), new_key().encode(), b"\xff\0"):
        assert keys.caller(wrong) is None


def test_several_keys_of_one_client_are_good_at_once(tmp_path: Path) -> None:
    old, new = new_key(), new_key()
    keys = ApiKeys({"shop": ApiKeyConfig(file=secret_file(tmp_path, f"{old}\n{new}\n"))})
    assert keys.caller(old.encode()) == keys.caller(new.encode()) != None  # noqa: E711


def test_nothing_that_is_kept_or_said_has_a_key_in_it(tmp_path: Path) -> None:
    key = new_key()
    config = ApiKeyConfig(file=secret_file(tmp_path, key))
    keys = ApiKeys({"shop": config})
    assert key not in repr(vars(keys)) + repr(config)
    with pytest.raises(ConfigError) as refused:
        ApiKeys({"shop": config, "other": config})
    assert "the same key as 'shop'" in str(refused.value)
    assert key not in str(refused.value)


@pytest.mark.parametrize("weak", ["short", "a" * 23, "caf\u00e9" * 10])
def test_a_key_that_can_be_guessed_or_typed_in_no_header_is_refused_unquoted(tmp_path: Path, weak: str) -> None:
    with pytest.raises(ConfigError, match="openssl rand -hex 32") as refused:
        ApiKeys({"shop": ApiKeyConfig(file=secret_file(tmp_path, weak))})
    assert weak not in str(refused.value)
