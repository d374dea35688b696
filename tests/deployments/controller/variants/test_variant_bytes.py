"""How large the files of a variant are, by which workers are chosen that have room for it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from controller_parts import artifact, variant

from catalog.catalogue import load_catalogue
from catalog.variant import Artifact, Variant
from deployments.controller.variants.variant_bytes import artifact_bytes


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


def test_on_gpus_sessions_take_more_than_the_files(tmp_path: Path) -> None:
    """Seven of a graph with convolutions, one for each size of batch; one of others; of other runtimes the files."""
    zoo = load_catalogue("builtin")
    cnn, mlp = zoo.variant("digits-cnn-xl"), zoo.variant("digits-mlp")
    files = {each.name: (Path(zoo.root) / each.artifact.uri).stat().st_size for each in (cnn, mlp)}
    assert artifact_bytes(cnn, zoo.root, on_gpu=True) == 7 * (files[cnn.name] + 20_000_000)
    assert artifact_bytes(replace(cnn, max_batch=4), zoo.root, on_gpu=True) == 3 * (files[cnn.name] + 20_000_000)
    assert artifact_bytes(mlp, zoo.root, on_gpu=True) == files[mlp.name] + 150_000_000
    assert artifact_bytes(cnn, zoo.root) == files[cnn.name]
    assert artifact_bytes(new(tmp_path, runtime="torch"), str(tmp_path), on_gpu=True) == 7
    claims = new(tmp_path, runtime="emulated", options={"memory_bytes": 5_000_000})
    assert artifact_bytes(claims, str(tmp_path), on_gpu=True) == 5_000_000
