"""Planner ``cocktail`` in a config."""

from typing import Any

import pytest
from pydantic import ValidationError

from serve_app.config.schema import AppConfig


def config(**endpoint: Any) -> dict[str, Any]:
    return {
        "catalogue": "builtin",
        "endpoints": {"digits": {"task": "digits", "slo_ms": 100, **endpoint}},
        "pools": {"spot": {"price_per_h": 0.05, "min_workers": 0, "max_workers": 4}},
        "controller": {"planner": "cocktail"},
    }


def test_the_planner_sizes_pools_for_ensembles() -> None:
    made = AppConfig.model_validate(config(ensemble={}, balancing="bin_packing"))
    assert made.controller.kind.shrink_after_s == 600.0


def test_an_endpoint_without_an_ensemble_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"endpoints\.digits has no ensemble"):
        AppConfig.model_validate(config(selection={"policy": "adaptive_batching"}))
