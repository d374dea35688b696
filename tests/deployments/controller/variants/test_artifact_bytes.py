"""How large the files of a variant are, by which workers are chosen that have room for it."""

from pathlib import Path
from typing import Any

from controller_parts import artifact, variant

from catalog.variant import Artifact, Variant
from deployments.controller.variants.registration import artifact_bytes


def new(folder: Path, **changes: Any) -> Variant:
    given = variant("new")
    return Variant(**(given.__dict__ | {"artifact": artifact(folder, "new.onnx", 7)} | changes))


def test_an_artifact_is_as_large_as_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    (folder / "deeper").mkdir(parents=True)
    for number, path in enumerate((folder / "a", folder / "b", folder / "deeper" / "c")):
        path.write_bytes(b"x" * 10**number)
    assert artifact_bytes(new(tmp_path, artifact=Artifact("model")), str(tmp_path)) == 111
    assert artifact_bytes(new(tmp_path, artifact=Artifact(str(folder / "b"))), str(tmp_path)) == 10


def test_an_emulated_variant_may_claim_the_size_of_the_model_that_it_stands_for(tmp_path: Path) -> None:
    claims = new(tmp_path, runtime="emulated", options={"memory_bytes": 5_000_000})
    assert artifact_bytes(claims, str(tmp_path)) == 5_000_000
    assert artifact_bytes(new(tmp_path, runtime="emulated"), str(tmp_path)) == 7
