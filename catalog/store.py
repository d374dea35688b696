"""Where model files come from: local folders, or any file system that fsspec can reach."""

import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Protocol

import fsspec

from catalog.errors import ArtifactError
from catalog.variant import Artifact


class ModelStore(Protocol):
    """Turns an artifact into a local file or folder that a runtime can open."""

    def fetch(self, artifact: Artifact) -> Path:
        """Local path of ``artifact``, its checksum verified; nobody may write there.

        Blocks on disk and network. Raises `ArtifactError` where the artifact cannot be had or is not the one named.
        """
        ...


class FsspecStore:
    """Uses local artifacts where they are and keeps verified copies of remote ones in ``cache_dir``.

    ``root`` is a local folder or an fsspec URL; relative uris start from it. Absolute paths and URLs stand alone.
    Several processes may share one ``cache_dir``.
    """

    def __init__(self, root: str, cache_dir: Path) -> None:
        self._root = root
        self._cache_dir = cache_dir

    def fetch(self, artifact: Artifact) -> Path:
        """See `ModelStore.fetch`."""
        location = self._locate(artifact.uri)
        local = _local_path(location)
        if local is not None:
            if not local.exists():
                raise ArtifactError(f"no model file at {local} (uri {artifact.uri!r}); correct the uri or put it there")
            _verify(local, artifact)
            return local
        return self._cached(location, artifact)

    def _locate(self, uri: str) -> str:
        if _is_url(uri) or Path(uri).is_absolute():
            return uri
        return f"{self._root.rstrip('/')}/{uri}" if _is_url(self._root) else str(Path(self._root) / uri)

    def _cached(self, location: str, artifact: Artifact) -> Path:
        """The copy of a remote artifact; fetched when there is none or when the one there fails its checksum."""
        name = location.rstrip("/").rsplit("/", 1)[-1]
        key = hashlib.sha256(f"{location} {artifact.sha256}".encode()).hexdigest()[:24]
        cached = self._cache_dir / key / name
        if cached.exists():
            try:
                _verify(cached, artifact)
            except ArtifactError:
                shutil.rmtree(cached.parent, ignore_errors=True)
            else:
                return cached
        self._cache_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{key}.", dir=self._cache_dir) as folder:
            fetched = Path(folder) / "copy" / name
            _download(location, fetched)
            _verify(fetched, artifact)
            try:
                os.replace(fetched.parent, cached.parent)
            except OSError:
                _verify(cached, artifact)  # another process was faster; its copy must be as good
        return cached


def checksum(path: Path) -> str:
    """SHA-256 in hexadecimal: of a file's bytes, or of a folder's sorted (relative path, file checksum) pairs."""
    if path.is_dir():
        digest = hashlib.sha256()
        files = {file.relative_to(path).as_posix(): file for file in path.rglob("*") if file.is_file()}
        for name in sorted(files):
            digest.update(f"{name}\0{checksum(files[name])}\n".encode())
        return digest.hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_url(location: str) -> bool:
    return "://" in location


def _local_path(location: str) -> Path | None:
    """Path of a location on this machine, None for a remote one."""
    if location.startswith(("file://", "local://")):
        return Path(location.split("://", 1)[1])
    return None if _is_url(location) else Path(location)


def _verify(path: Path, artifact: Artifact) -> None:
    if artifact.sha256 is None:
        return
    try:
        got = checksum(path)
    except OSError as error:
        raise ArtifactError(f"cannot read {path}: {error.strerror}; check its permissions") from error
    if got != artifact.sha256:
        raise ArtifactError(
            f"{artifact.uri!r} has SHA-256 {got}, expected {artifact.sha256}; restore the file or put the new checksum "
            "into the catalogue"
        )


def _download(location: str, target: Path) -> None:
    """Copy a remote file or folder to ``target``, which must not exist."""
    try:
        source: Any
        source, remote = fsspec.core.url_to_fs(location)
        if not source.exists(remote):
            raise ArtifactError(f"no model file at {location}; correct the uri in the catalogue or upload the file")
        target.parent.mkdir(parents=True)
        if source.isdir(remote):
            target.mkdir()
            for found in source.find(remote):
                destination = target / found[len(remote) :].lstrip("/")
                destination.parent.mkdir(parents=True, exist_ok=True)
                source.get_file(found, str(destination))
        else:
            source.get_file(remote, str(target))
    except ArtifactError:
        raise
    except ImportError as error:
        raise ArtifactError(
            f"cannot reach {location}: {error}; install the driver with `pip install 'accord[cloud]'`"
        ) from error
    except ValueError as error:
        raise ArtifactError(
            f"cannot reach {location}: {error}; use a path, s3://, gs:// or another fsspec URL"
        ) from error
    except Exception as error:  # drivers raise their own kinds: botocore, gcsfs, aiohttp
        raise ArtifactError(f"cannot fetch {location}: {error}; check the network and the credentials") from error
