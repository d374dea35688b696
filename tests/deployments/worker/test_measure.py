"""Profiles measured through the real runtime, and kept until something changes."""

from pathlib import Path

import pytest

from catalog.catalogue import load_catalogue
from catalog.errors import ArtifactError
from deployments.worker import measure
from deployments.worker.measure import measured_profiles
from toy_models import write_toy_catalogue


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACCORD_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_profiles_are_measured_once_and_kept(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalogue = load_catalogue(write_toy_catalogue(tmp_path))
    good = [catalogue.variant("good")]
    seen: list[tuple[str, float]] = []
    first = measured_profiles(good, catalogue.root, "cpu", 1, budget_s=0.1, on_progress=lambda *at: seen.append(at))
    assert first["good"].batch_sizes == (1, 2, 4, 8, 16, 32, 64)
    assert all(latency.mean_ms > 0 for latency in first["good"].by_batch.values())
    assert seen[0] == ("good", 0.0)
    assert seen[-1] == ("good", 1.0)

    def unwanted(*_: object) -> None:
        raise AssertionError("measured again")

    monkeypatch.setattr(measure, "_measure", unwanted)
    again = measured_profiles(good, catalogue.root, "cpu", 1, budget_s=0.1)
    assert again["good"].batch_sizes == first["good"].batch_sizes
    with pytest.raises(AssertionError, match="measured again"):
        measured_profiles(good, catalogue.root, "cpu", 2, budget_s=0.1)
    with pytest.raises(AssertionError, match="measured again"):
        measured_profiles(good, catalogue.root, "cpu", 1, budget_s=0.1, again=True)


def test_a_variant_that_cannot_be_loaded_is_named(cache: Path, tmp_path: Path) -> None:
    catalogue = load_catalogue(write_toy_catalogue(tmp_path))
    with pytest.raises(ArtifactError, match=r"corrupt\.onnx"):
        measured_profiles([catalogue.variant("corrupt")], catalogue.root, "cpu", 1, budget_s=0.1)
