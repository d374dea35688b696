"""Which files count beside a variant's artifact."""

from pathlib import Path

import pytest
from user_code_scene import variant, write_module

from catalog.artifacts.counted import files_beside, own_file
from catalog.errors import ArtifactError
from catalog.variant import Artifact, Variant


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "package").mkdir()
    for name in ("package/__init__.py", "package/layers.py", "package/near.npz", "far.npz", "read.me"):
        (tmp_path / name).write_bytes(b"")
    write_module(tmp_path / "package", "class Doubles: ...")
    return tmp_path


def of_file(uri: str, options: dict[str, object]) -> Variant:
    return variant(runtime="emulated", artifact=Artifact(uri), options=options)


def test_of_a_class_all_python_files_beside_its_module_count(root: Path) -> None:
    given = variant("package.mine:Doubles")
    assert own_file(given, str(root)) == root / "package" / "mine.py"
    assert files_beside(given, str(root)) == (root / "package" / "__init__.py", root / "package" / "layers.py")
    with pytest.raises(ArtifactError, match="no module 'nowhere'"):
        files_beside(variant("nowhere:A"), str(root))


def test_a_file_is_named_from_the_catalogue_from_the_module_or_by_its_whole_path_at_any_depth(root: Path) -> None:
    options = {"a": "far.npz", "b": [{"c": "near.npz"}], "d": str(root / "read.me"), "e": 3, "f": None}
    found = files_beside(variant("package.mine:Doubles", options=options), str(root))
    assert {file.name for file in found} == {"__init__.py", "layers.py", "far.npz", "near.npz", "read.me"}


def test_what_is_no_file_or_part_of_the_artifact_does_not_count(root: Path) -> None:
    names = ["package", "", ".", "none.npz", "s3://bucket/far.npz", "x" * 5000, "\0", "fp16"]
    assert files_beside(of_file("far.npz", {"names": names, "own": "far.npz"}), str(root)) == ()
    assert files_beside(of_file("package", {"outputs": "near.npz"}), str(root)) == ()
    assert files_beside(of_file("package/near.npz", {"outputs": "layers.py"}), str(root)) == (
        root / "package" / "layers.py",
    )


def test_a_link_that_leads_nowhere_does_not_count(root: Path) -> None:
    (root / "package" / ".#layers.py").symlink_to("somebody@host")  # as editors leave them
    assert len(files_beside(variant("package.mine:Doubles"), str(root))) == 2


def test_a_remote_artifact_has_no_file_of_its_own_and_options_are_read_all_the_same(root: Path) -> None:
    remote = of_file("s3://bucket/model.onnx", {"vocabulary": "far.npz"})
    assert own_file(remote, str(root)) is None
    assert files_beside(remote, str(root)) == (root / "far.npz",)
    assert files_beside(of_file("model.onnx", {"vocabulary": "far.npz"}), "s3://bucket") == ()
