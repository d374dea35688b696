"""Weights beside an ONNX file are part of the model: they count, and a checksum of the file alone is refused."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from external_weights import model_with_weights_at

from catalog.artifacts.counted import files_beside
from catalog.artifacts.external_data import external_files
from catalog.errors import ArtifactError
from catalog.evaluation.accuracy_file import fingerprint
from catalog.profiles.profile_cache import cache_path
from catalog.store import FsspecStore, checksum
from catalog.tensor import TensorSpec
from catalog.variant import Artifact, Variant
from deployments.controller.variants.variant_bytes import artifact_bytes
from deployments.runtimes.base import artifact_bytes as bytes_of

LONG = "a" * 200 + ".data"  # a length that takes two bytes
ROWS = (TensorSpec("x", "FP32", (-1, 4)),)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    np.arange(4, dtype=np.float32).tofile(tmp_path / "weights.bin")
    return tmp_path


def of(path: Path, **changes: str) -> Variant:
    return Variant("v", "t", "onnx", Artifact(path.name, **changes), 0.5, ROWS, (TensorSpec("y", "FP32", (-1, 4)),))


@pytest.mark.parametrize("location", ["weights.bin", "deeper/w.data", LONG, "gewichte-ä.data"])
def test_files_are_found_by_what_the_graph_names(tmp_path: Path, location: str) -> None:
    path = model_with_weights_at(tmp_path, location)
    assert external_files(path) == (tmp_path / location,)


def test_what_names_no_files_has_none(tmp_path: Path) -> None:
    (tmp_path / "empty.onnx").write_bytes(b"")
    (tmp_path / "other.onnx").write_bytes(b"\x0a\x08location\x12\x03\xff\xfe\xfd \x0a\x08location\x12")
    model = model_with_weights_at(tmp_path, "weights.bin")
    shutil.copy(model, tmp_path / "model.pt")
    for name in ("empty.onnx", "other.onnx", "model.pt", "none.onnx", "."):
        assert external_files(tmp_path / name) == ()


def test_other_weights_are_another_model(root: Path) -> None:
    variant = of(model_with_weights_at(root, "weights.bin"))
    assert files_beside(variant, str(root)) == (root / "weights.bin",)

    def known() -> tuple[str, Path]:
        return fingerprint(variant, str(root)), cache_path("t", "cpu", 1, [variant], str(root))

    before = known()
    assert known() == before
    np.arange(8, dtype=np.float32).tofile(root / "weights.bin")
    after = known()
    assert after[0] != before[0]
    assert after[1] != before[1]


def test_weights_count_for_the_size(root: Path) -> None:
    path = model_with_weights_at(root, "weights.bin")
    expected = path.stat().st_size + 16
    assert artifact_bytes(of(path), str(root)) == expected
    assert bytes_of(path) == expected
    (root / "weights.bin").unlink()
    with pytest.raises(ArtifactError, match="cannot read artifact"):
        bytes_of(path)


def test_a_checksum_that_leaves_the_weights_out_is_refused(root: Path) -> None:
    path = model_with_weights_at(root, "weights.bin")
    store = FsspecStore(str(root), root / "cache")
    assert store.fetch(of(path).artifact) == path
    with pytest.raises(ArtifactError, match=r"weights in weights\.bin beside it, which its sha256 says nothing about"):
        store.fetch(of(path, sha256=checksum(path)).artifact)


def test_a_remote_file_without_its_weights_is_refused(root: Path) -> None:
    path = model_with_weights_at(root, "weights.bin")
    store = FsspecStore(f"simplecache::file://{root}", root / "cache")
    with pytest.raises(ArtifactError, match=r"weights\.bin beside it, which was not fetched"):
        store.fetch(of(path).artifact)
