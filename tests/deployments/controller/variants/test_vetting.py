"""What clients may register, and what not, whatever they say it is."""

import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest

from catalog.artifacts.rules import ArtifactRules
from catalog.errors import AccordError, BadRequest, Forbidden
from deployments.controller.variants.vetting import vet

Vet = Callable[..., None]
MODEL = b"\x08\x09 an ONNX file begins like this"
SHA256 = hashlib.sha256(MODEL).hexdigest()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "catalogue"
    folder.mkdir()
    (folder / "x.onnx").write_bytes(MODEL)
    (folder / "cpu.csv").write_text("")
    with zipfile.ZipFile(folder / "scripted.onnx", "w") as archive:
        archive.writestr("model/constants.pkl", b"")
        archive.writestr("model/code/a.py", b"")
    (tmp_path / "secret").write_text("secret")
    (folder / "link.onnx").symlink_to(tmp_path / "secret")
    return folder


@pytest.fixture
def vetted(root: Path) -> Vet:
    def run(uri: str = "x.onnx", *, rules: ArtifactRules | None = None, sha256: str | None = None, **more: Any) -> None:
        tensor = {"name": "x", "datatype": "FP32", "shape": [-1, 4]}
        described = {
            "name": "new",
            "task": "digits",
            "runtime": "onnx",
            "artifact": {"uri": uri, "sha256": sha256},
            "accuracy": 0.5,
            "inputs": [tensor],
            "outputs": [tensor],
        }
        vet(described | more, str(root), rules or ArtifactRules())

    return run


def test_what_lies_beside_the_catalogue_or_where_it_is_allowed_is_taken(
    vetted: Vet, root: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "y.onnx").write_bytes(MODEL)
    for uri in ("x.onnx", f"{root}/x.onnx", f"file://{root}/x.onnx", f"{other}/../catalogue/x.onnx"):
        vetted(uri)
    with pytest.raises(Forbidden, match=r"artifacts\.allowed"):
        vetted(f"{other}/y.onnx")
    vetted(f"{other}/y.onnx", rules=ArtifactRules((str(other),)))


@pytest.mark.parametrize(
    "uri",
    [
        "/etc/passwd",
        "../secret",
        "link.onnx",
        "file:///etc/passwd",
        "local:///etc/passwd",
        "{root}/../secret",
        "http://127.0.0.1:1/x.onnx",
        "http://169.254.169.254/latest/meta-data/",
        "http://localhost/x",
        "https://models.example/x.onnx",
        "s3://bucket/x.onnx",
        "memory://bucket/x.onnx",
        "zip://x.onnx::file://{root}/bomb.zip",
        "simplecache::file://{root}/x.onnx",
        "reference://::file:///etc/passwd",
        "github://org:repo@main/x.onnx",
        "ftp://host/x.onnx",
        "data:text/plain,hello",
        "\0",
        "long" * 1000,
    ],
)
def test_what_lies_elsewhere_is_refused_without_being_looked_at(vetted: Vet, root: Path, uri: str) -> None:
    with pytest.raises(AccordError) as refused:
        vetted(uri.format(root=root), sha256=SHA256)
    assert refused.value.status in (400, 403)
    assert "secret" not in str(refused.value).replace("../secret", "")


def test_a_remote_file_needs_its_checksum_and_is_held_to_it(vetted: Vet) -> None:
    store = fsspec.filesystem("memory")
    store.pipe("/vetting/x.onnx", MODEL)
    rules = ArtifactRules(("memory://vetting",))
    try:
        with pytest.raises(BadRequest, match="has no sha256"):
            vetted("memory://vetting/x.onnx", rules=rules)
        with pytest.raises(BadRequest, match="has SHA-256"):
            vetted("memory://vetting/x.onnx", rules=rules, sha256="0" * 64)
        vetted("memory://vetting/x.onnx", rules=rules, sha256=SHA256)
    finally:
        store.rm("/vetting", recursive=True)


def test_code_is_taken_from_no_client_unless_it_is_allowed(vetted: Vet) -> None:
    for runtime in ("onnx", "torch"):
        with pytest.raises(Forbidden, match="holds torchscript"):
            vetted("scripted.onnx", runtime=runtime)
    vetted("scripted.onnx", runtime="torch", rules=ArtifactRules(allow_code=frozenset({"torchscript"})))


def test_members_and_files_beside_an_artifact_are_looked_at_too(vetted: Vet, root: Path) -> None:
    member = {
        "name": "member",
        "task": "digits",
        "runtime": "onnx",
        "artifact": {"uri": "/etc/passwd"},
        "accuracy": 0.5,
        "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}],
        "outputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}],
    }
    with pytest.raises(Forbidden):
        vetted("", runtime="stacked", options={"members": [member]})
    nested = member | {"runtime": "stacked", "options": {"members": [member]}}
    with pytest.raises(BadRequest, match="none stacked"):
        vetted("", runtime="stacked", options={"members": [nested]})
    vetted("cpu.csv", runtime="emulated", options={"factor_file": "factors.json"})
    for field in ("outputs", "factor_file"):
        with pytest.raises(Forbidden):
            vetted("cpu.csv", runtime="emulated", options={field: "../secret"})


@pytest.mark.parametrize(
    "changes",
    [
        *({"name": name} for name in ("", "a\nb", "../x", "a/b", "..", "x" * 201, "\x1b[31m", "\u202e")),
        {"task": "a\0b"},
        {"inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 2**40]}]},
        {"outputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 2**31, 2**31, 2**31]}]},
        {"max_batch": 2**40},
        {"runtime": "stacked"},
        {"runtime": "stacked", "options": {"members": [{}]}},
        *({"runtime": "stacked", "options": {"members": members}} for members in (5, None, True, "x", {"x": 1}, [5])),
        {"runtime": "emulated", "options": {"command": "x"}},
        {"inputs": []},
        {"artifact": 7},
        {"unknown": 1},
    ],
)
def test_a_description_that_cannot_be_is_a_bad_request(vetted: Vet, changes: dict[str, Any]) -> None:
    with pytest.raises(BadRequest):
        vetted(**changes) if "artifact" not in changes else vet({"artifact": 7}, "/", ArtifactRules())


def test_classes_are_for_the_operator_unless_they_are_allowed_and_then_beside_the_catalogue(
    vetted: Vet, root: Path, tmp_path: Path
) -> None:
    text = "raise SystemExit\nclass A:\n    def setup(self, device): ...\n    def predict(self, inputs): ...\n"
    (root / "own.py").write_text(text)
    (root / "other.py").write_text(text.replace("predict", "guess"))
    allowed = ArtifactRules(allow_code=frozenset({"python"}))

    def of(path: str, rules: ArtifactRules) -> None:
        vetted(runtime="python", artifact={"import": path}, rules=rules)

    with pytest.raises(Forbidden, match=r"allow it with artifacts\.allow_code: \[python\]"):
        of("own:A", ArtifactRules(allow_code=frozenset({"torchscript", "exported_program"})))
    of("own:A", allowed)
    with pytest.raises(Forbidden, match="in none of the places that models may come from"):
        of("subprocess:Popen", allowed)
    with pytest.raises(BadRequest, match="no module 'nowhere'"):
        of("nowhere:A", allowed)
    with pytest.raises(BadRequest, match="class A has no predict"):
        of("other:A", allowed)
