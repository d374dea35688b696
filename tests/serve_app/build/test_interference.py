"""The predictor that a config names is read before anything is measured or started."""

from pathlib import Path
from typing import Any

import pytest

from catalog.errors import ConfigError
from predictor.model_file import loads
from serve_app.build.assemble import resolve_paths
from serve_app.build.interference import interference_settings
from serve_app.config.schema import AppConfig
from serve_app.main import build
from slowdown_model_scene import saved_model

GIVEN: dict[str, Any] = {"endpoints": {"digits": {"task": "digits", "slo_ms": 100}}, "pools": {"cpu": {}}}


def config(model: str | None) -> AppConfig:
    interference = {} if model is None else {"interference": {"model": model}}
    return AppConfig.model_validate(GIVEN | {"controller": interference})


def test_the_file_goes_with_the_settings(tmp_path: Path) -> None:
    saved_model(tmp_path / "slowdowns.safetensors", ("v", "w"))
    resolved = resolve_paths(config("slowdowns.safetensors"), tmp_path)
    settings = interference_settings(resolved)
    assert settings is not None
    assert settings.name == "slowdowns.safetensors"
    assert loads(settings.model, settings.name).card.variants == ("v", "w")
    assert interference_settings(config(None)) is None


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    missing = tmp_path / "missing.safetensors"
    with pytest.raises(ConfigError, match=r"controller\.interference\.model .*missing.*accord interference train"):
        interference_settings(config(str(missing)))
    with pytest.raises(ConfigError, match="cannot be read"):
        interference_settings(config(str(tmp_path)))


def test_a_file_that_is_damaged_or_something_else_is_refused(tmp_path: Path) -> None:
    whole = saved_model(tmp_path / "whole.safetensors", ("v", "w")).read_bytes()
    foreign = {"text": b"variant,machine\n", "cut": whole[: len(whole) // 2], "turned": whole[:-9] + b"\x7f" * 9}
    for name, content in foreign.items():
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(ConfigError, match=r"controller\.interference\.model: .*" + name):
            interference_settings(config(str(path)))


def test_it_is_refused_before_variants_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("serve_app.main.profiles_for", lambda *_: pytest.fail("something was measured"))
    with pytest.raises(ConfigError, match=r"controller\.interference\.model"):
        build(GIVEN | {"controller": {"interference": {"model": str(tmp_path / "missing")}}})
