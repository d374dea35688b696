"""Votes and latencies recorded through the real runtimes."""

import numpy as np
import pytest

from catalog.catalogue import load_catalogue
from catalog.errors import ConfigError
from catalog.zoo.digits import held_out
from deployments.worker.voting import packing_factors, recorded
from toy_models import write_toy_catalogue


def test_votes_of_digits_have_the_accuracy_of_the_catalogue() -> None:
    catalogue = load_catalogue("builtin")
    variants = [catalogue.variant(name) for name in ("digits-mlp", "digits-cnn-xs")]
    images, labels = held_out()
    heard: list[tuple[str, float]] = []
    records = recorded(variants, catalogue.root, {"image": images}, 1, lambda *at: heard.append(at))
    assert heard == [("digits-mlp", 0.0), ("digits-cnn-xs", 0.5)]
    for variant in variants:
        found = records[variant.name]
        assert float((found.votes == labels).mean()) == pytest.approx(variant.accuracy, abs=2e-3)
        assert 0 < found.latency_ms < 1e3


def test_a_task_without_classes_has_no_votes(tmp_path) -> None:
    catalogue = load_catalogue(write_toy_catalogue(tmp_path))
    with pytest.raises(ConfigError, match=r"gives y FP32 \[-1\]; votes need an output label INT64 \[-1\]"):
        recorded([catalogue.variant("good")], catalogue.root, {"x": np.ones(3, np.float32)}, 1, lambda *_: None)


def test_packing_is_how_often_a_member_fits_into_the_slowest_ones_time() -> None:
    assert packing_factors({"slow": 20.0, "half": 9.9, "tiny": 0.1, "nearly": 19.0}) == {
        "slow": 1,
        "half": 2,
        "tiny": 10,
        "nearly": 1,
    }
