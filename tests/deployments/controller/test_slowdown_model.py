"""A predictor in the processes that plan."""

import pickle
from pathlib import Path

import pytest

from deployments.controller.slowdown_model import kept
from deployments.messages.control_settings import InterferenceSettings
from predictor.configuration import Configuration
from slowdown_model_scene import MACHINE, PAIR, TRIPLE, saved_model


def test_the_model_of_the_settings_predicts_wherever_it_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACCORD_CACHE_DIR", str(tmp_path / "cache"))
    path = saved_model(tmp_path / "slowdowns.safetensors", ("v", "w"))
    settings = InterferenceSettings(path.name, path.read_bytes())
    path.unlink()
    model = kept(settings)
    assert model is not None
    sent = pickle.dumps(model)
    assert len(sent) < 1000
    alone, pair, triple = pickle.loads(sent).slowdowns(
        [Configuration(MACHINE, variants) for variants in (("v",), ("v", "w"), ("w", "v", "w"))]
    )
    assert alone == (1.0,)
    assert pair == pytest.approx((PAIR, PAIR), abs=0.02)
    assert triple == pytest.approx((TRIPLE,) * 3, abs=0.02)


def test_the_same_model_is_kept_once_and_no_model_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCORD_CACHE_DIR", str(tmp_path))
    first = kept(InterferenceSettings("a.safetensors", b"one"))
    assert kept(InterferenceSettings("b.safetensors", b"one")) == first
    assert kept(InterferenceSettings("a.safetensors", b"two")) != first
    assert len(list((tmp_path / "interference").iterdir())) == 2
    assert kept(None) is None
