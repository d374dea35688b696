"""Where model files come from: local folders, or any file system that fsspec can reach."""

import hashlib
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from catalog.artifacts.code import refuse_code
from catalog.artifacts.external_data import external_files
from catalog.artifacts.fsspec_download import download_fsspec
from catalog.artifacts.full_disk import CACHE_ELSEWHERE, FULL
from catalog.artifacts.http_download import download_http
from catalog.artifacts.places import local_path
from catalog.artifacts.rules import ArtifactRules, located
from catalog.errors import ArtifactError
from catalog.extras import TO_INSTALL
from catalog.user_code.source import source_of
from catalog.variant import Artifact

logger = logging.getLogger(__name__)

NO_MORE = ArtifactRules()
"""Only what is allowed of itself."""


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
    Several processes may share one ``cache_dir``. The ``rules`` are about remote ones: their size, the hosts that they
    come from, and whether they may bring code. What comes over plain HTTP needs a checksum.
    """

    def __init__(self, root: str, cache_dir: Path, rules: ArtifactRules = NO_MORE) -> None:
        self._root = root
        self._cache_dir = cache_dir
        self._rules = rules

    def fetch(self, artifact: Artifact) -> Path:
        """See `ModelStore.fetch`; of a class, the file of its module, which is not imported."""
        if artifact.import_path is not None:
            return source_of(artifact.import_path, self._root)
        location = located(artifact.uri, self._root)
        local = local_path(location)
        if local is not None:
            if not _exists(local):
                raise ArtifactError(f"no model file at {local} (uri {artifact.uri!r}); correct the uri or put it there")
            _verify(local, artifact)
            return local
        return self._cached(location, artifact)

    def _cached(self, location: str, artifact: Artifact) -> Path:
        """The copy of a remote artifact; fetched when there is none or when the one there fails its checksum."""
        if location.startswith("http://") and artifact.sha256 is None:
            raise ArtifactError(
                f"{location} comes over plain HTTP, where anybody on the way may change it; give its sha256, or use "
                "https"
            )
        name = _file_name(location)
        key = hashlib.sha256(f"{location} {artifact.sha256}".encode()).hexdigest()[:24]
        cached = self._cache_dir / key / name
        if cached.exists():
            try:
                _verify(cached, artifact)
            except ArtifactError:
                shutil.rmtree(cached.parent, ignore_errors=True)
            else:
                refuse_code(cached, self._rules, repr(artifact.uri))
                return cached
        if artifact.sha256 is None:
            logger.warning(
                "%s is fetched once: without a sha256 in the catalogue nobody notices that it changes.", location
            )
        with self._scratch(location, key) as folder:
            fetched = folder / "copy" / name
            _download(location, fetched, self._root, self._rules)
            _verify(fetched, artifact)
            _refuse_parts(fetched, artifact, "which was not fetched")
            refuse_code(fetched, self._rules, repr(artifact.uri))
            try:
                os.replace(fetched.parent, cached.parent)
            except OSError:
                _verify(cached, artifact)  # another process was faster; its copy must be as good
        return cached

    @contextmanager
    def _scratch(self, location: str, key: str) -> Iterator[Path]:
        """A folder beside the copies; raises `ArtifactError` where the cache cannot be written."""
        try:
            self._cache_dir.mkdir(parents=True, exist_ok=True)
            made = tempfile.TemporaryDirectory(prefix=f"{key}.", dir=self._cache_dir)
        except OSError as error:
            raise ArtifactError(
                f"cannot keep {location} in {self._cache_dir}: {error.strerror}; set ACCORD_CACHE_DIR to a folder that "
                "can be written"
            ) from error
        with made as folder:
            yield Path(folder)


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


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that is too long, a zero byte
        return False


def _file_name(location: str) -> str:
    """What the copy of a remote file or folder is called."""
    name = location.partition("?")[0].rstrip("/").rsplit("/", 1)[-1]
    return "model" if name in ("", ".", "..") or "\0" in name else name


def _refuse_parts(path: Path, artifact: Artifact, why: str) -> None:
    """A file that keeps its weights in others is not all of the model."""
    if parts := external_files(path):
        raise ArtifactError(
            f"{artifact.uri!r} keeps weights in {parts[0].name} beside it, {why}; export it as one file "
            "(external_data=False in torch.onnx.export)"
        )


def _verify(path: Path, artifact: Artifact) -> None:
    if artifact.sha256 is None:
        return
    _refuse_parts(path, artifact, "which its sha256 says nothing about")
    try:
        got = checksum(path)
    except OSError as error:
        raise ArtifactError(f"cannot read {path}: {error.strerror}; check its permissions") from error
    if got != artifact.sha256:
        raise ArtifactError(
            f"{artifact.uri!r} has SHA-256 {got}, expected {artifact.sha256}; restore the file or put the new checksum "
            "into the catalogue"
        )


def _download(location: str, target: Path, root: str, rules: ArtifactRules) -> None:
    """Copy a remote file or folder to ``target``, which must not exist."""
    target.parent.mkdir(parents=True)
    try:
        if location.startswith(("http://", "https://")):
            download_http(location, target, root, rules)
        else:
            download_fsspec(location, target, rules.max_bytes)
    except ArtifactError:
        raise
    except ImportError as error:
        raise ArtifactError(
            f"cannot reach {location}: {error}; install the driver with `{TO_INSTALL.format('cloud')}`"
        ) from error
    except ValueError as error:
        raise ArtifactError(
            f"cannot reach {location}: {error}; use a path, s3://, gs:// or another fsspec URL"
        ) from error
    except Exception as error:  # drivers raise their own kinds: botocore, gcsfs, http.client
        if isinstance(error, OSError) and error.errno in FULL:
            raise ArtifactError(
                f"cannot keep {location} in {target.parent}: {error.strerror}; make room there, or {CACHE_ELSEWHERE}"
            ) from error
        raise ArtifactError(f"cannot fetch {location}: {error}; check the network and the credentials") from error
