"""Model files are found, checked and, where remote, kept."""

import errno
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

from catalog import store as store_module
from catalog.errors import ArtifactError
from catalog.store import FsspecStore, checksum
from catalog.variant import Artifact

_MODEL = b"the weights"
_SHA256 = hashlib.sha256(_MODEL).hexdigest()


@pytest.fixture
def remote(request: pytest.FixtureRequest) -> Iterator[str]:
    """URL of a remote folder in memory that holds ``x.onnx`` and the folder ``nested``."""
    files = fsspec.filesystem("memory")
    root = f"/{request.node.name}"
    files.pipe({f"{root}/x.onnx": _MODEL, f"{root}/nested/a.bin": b"a", f"{root}/nested/deep/b.bin": b"b"})
    yield f"memory://{root}"
    files.rm(root, recursive=True)


@pytest.fixture
def local(tmp_path: Path) -> Path:
    """A local folder that holds ``x.onnx``."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "x.onnx").write_bytes(_MODEL)
    return tmp_path / "models"


@pytest.mark.parametrize("form", ["x.onnx", "{folder}/x.onnx", "file://{folder}/x.onnx"])
def test_a_local_file_is_used_where_it_is(local: Path, tmp_path: Path, form: str) -> None:
    cache = tmp_path / "cache"
    store = FsspecStore(str(local), cache)
    assert store.fetch(Artifact(form.format(folder=local), _SHA256)) == local / "x.onnx"
    assert not cache.exists()


def test_a_local_root_may_be_a_url(local: Path, tmp_path: Path) -> None:
    store = FsspecStore(f"file://{local}", tmp_path / "cache")
    assert store.fetch(Artifact("x.onnx", _SHA256)) == local / "x.onnx"


def test_a_missing_local_file_is_named(local: Path, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"no model file at .*y\.onnx"):
        FsspecStore(str(local), tmp_path / "cache").fetch(Artifact("y.onnx"))


def test_another_checksum_is_refused_with_both_and_a_remedy(local: Path, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=f"SHA-256 {_SHA256}, expected {'0' * 64}; restore"):
        FsspecStore(str(local), tmp_path / "cache").fetch(Artifact("x.onnx", "0" * 64))


def test_a_remote_file_is_copied_into_the_cache(remote: str, tmp_path: Path) -> None:
    fetched = FsspecStore(remote, tmp_path).fetch(Artifact("x.onnx", _SHA256))
    assert fetched.is_relative_to(tmp_path)
    assert fetched.name == "x.onnx"
    assert fetched.read_bytes() == _MODEL


def test_a_remote_url_stands_alone(remote: str, tmp_path: Path) -> None:
    fetched = FsspecStore("/nowhere", tmp_path).fetch(Artifact(f"{remote}/x.onnx", _SHA256))
    assert fetched.read_bytes() == _MODEL


def test_a_remote_folder_is_copied_with_its_tree(remote: str, tmp_path: Path) -> None:
    fetched = FsspecStore(remote, tmp_path).fetch(Artifact("nested"))
    assert (fetched / "a.bin").read_bytes() == b"a"
    assert (fetched / "deep" / "b.bin").read_bytes() == b"b"


def test_a_kept_copy_is_used_without_fetching(remote: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FsspecStore(remote, tmp_path)
    first = store.fetch(Artifact("x.onnx", _SHA256))
    monkeypatch.setattr(store_module, "_download", lambda *_: pytest.fail("fetched again"))
    assert store.fetch(Artifact("x.onnx", _SHA256)) == first


def test_a_corrupt_kept_copy_is_fetched_again(remote: str, tmp_path: Path) -> None:
    store = FsspecStore(remote, tmp_path)
    store.fetch(Artifact("x.onnx", _SHA256)).write_bytes(b"damaged")
    assert store.fetch(Artifact("x.onnx", _SHA256)).read_bytes() == _MODEL


def test_a_remote_file_with_another_checksum_leaves_nothing_in_the_cache(remote: str, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="expected 0000"):
        FsspecStore(remote, tmp_path).fetch(Artifact("x.onnx", "0" * 64))
    assert list(tmp_path.iterdir()) == []


def test_a_copy_that_another_process_finished_first_is_used(
    remote: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FsspecStore(remote, tmp_path)
    download = store_module._download

    def overtaken(location: str, target: Path, *others: Any) -> None:
        monkeypatch.setattr(store_module, "_download", download)
        store.fetch(Artifact("x.onnx", _SHA256))
        download(location, target, *others)

    monkeypatch.setattr(store_module, "_download", overtaken)
    assert store.fetch(Artifact("x.onnx", _SHA256)).read_bytes() == _MODEL
    assert len(list(tmp_path.iterdir())) == 1


def test_a_missing_remote_file_is_named(remote: str, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=rf"no model file at {remote}/y\.onnx"):
        FsspecStore(remote, tmp_path).fetch(Artifact("y.onnx"))


def test_a_cache_that_cannot_be_written_is_named(remote: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(**_: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    (tmp_path / "file").write_text("")
    for cache in ("file", "folder"):
        if cache == "folder":  # where root may not write either
            monkeypatch.setattr(store_module.tempfile, "TemporaryDirectory", refused)
        with pytest.raises(ArtifactError, match="set ACCORD_CACHE_DIR to a folder that can be written"):
            FsspecStore(remote, tmp_path / cache).fetch(Artifact("x.onnx", _SHA256))


def test_a_missing_driver_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr("fsspec.core.url_to_fs", missing)
    with pytest.raises(
        ArtifactError, match=r"s3://bucket/x: Install s3fs.*pip install -c constraints.txt -e '.\[cloud\]'"
    ):
        FsspecStore(".", tmp_path).fetch(Artifact("s3://bucket/x"))


def test_an_unknown_protocol_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"Protocol not known.*use a path, s3://"):
        FsspecStore(".", tmp_path).fetch(Artifact("nonsense://x"))


def test_any_error_of_a_driver_becomes_an_artifact_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(_: str) -> None:
        raise PermissionError("Forbidden")

    monkeypatch.setattr("fsspec.core.url_to_fs", refusing)
    with pytest.raises(ArtifactError, match="cannot fetch s3://bucket/x: Forbidden"):
        FsspecStore(".", tmp_path).fetch(Artifact("s3://bucket/x"))


def test_the_checksum_of_a_file_is_its_sha256(local: Path) -> None:
    assert checksum(local / "x.onnx") == _SHA256


def test_the_checksum_of_a_folder_depends_on_names_and_contents_only(tmp_path: Path) -> None:
    def folder(name: str, files: dict[str, str]) -> str:
        for file, text in files.items():
            path = tmp_path / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return checksum(tmp_path / name)

    first = folder("first", {"a": "1", "b/c": "2"})
    assert folder("other order", {"b/c": "2", "a": "1"}) == first
    assert folder("other content", {"a": "1", "b/c": "3"}) != first
    assert folder("other name", {"a": "1", "b/d": "2"}) != first
