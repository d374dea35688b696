"""Keeps measured profiles between starts, under a key of everything that they depend on."""

import hashlib
import logging
import os
import tempfile
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from catalog.artifacts.counted import files_beside
from catalog.errors import ConfigError
from catalog.machine_type import cpus_there
from catalog.profiles.profile_csv import ProfiledVariant, read_profiles, write_profiles
from catalog.profiles.profiler import BATCH_SIZES
from catalog.user_code.source import source_of
from catalog.variant import STACKED, Variant

logger = logging.getLogger(__name__)

_PACKAGES = ("onnxruntime", "onnxruntime-gpu", "torch", "transformers", "tokenizers")


def cache_dir() -> Path:
    """Folder of everything that Accord keeps between starts: ``ACCORD_CACHE_DIR``, else ``~/.cache/accord``.

    A ``~`` is the home there too: no shell sees what a unit file or a container's settings say. Raises `ConfigError`
    where the user has none that is needed.
    """
    chosen = os.environ.get("ACCORD_CACHE_DIR")
    try:
        return Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "accord"
    except RuntimeError as error:
        raise ConfigError(f"{error}; set ACCORD_CACHE_DIR to a folder for what is kept between starts") from error


def cache_folder(name: str) -> Path:
    """A folder of `cache_dir`, which is made where it is missing. Raises `ConfigError` where it cannot be."""
    folder = cache_dir() / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"cannot make the folder {folder}: {error.strerror}; set ACCORD_CACHE_DIR to one that can be written"
        ) from error
    return folder


def cpu_description() -> str:
    """CPU model and core count, such as ``AMD EPYC x 2``; the device string of profiles measured on the CPU."""
    return f"{_cpu_model()} x {cpus_there()}"


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # not Linux
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, os.uname().machine if hasattr(os, "uname") else "CPU")


def cache_path(
    task: str, device: str, threads: int, variants: Iterable[Variant], root: str, environment: str = ""
) -> Path:
    """File for the profiles of ``variants``, which do ``task``, on ``device`` with ``threads`` threads per run.

    The name changes with the device, the thread count, the versions of the runtimes and the artifacts, so that a
    profile is never read for something it was not measured on. An artifact counts by its SHA-256 where the catalogue
    gives one, else by its uri and, for a file below ``root``, its time of change. A class counts by its file, and what
    `files_beside` names counts with either. ``environment`` says what else it was measured in.
    """
    facts = [device, str(threads), *(f"{name}=={_installed(name)}" for name in _PACKAGES)]
    facts += [environment] if environment else []
    facts += sorted(_fingerprint(variant, root) for variant in variants)
    key = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]
    return cache_dir() / "profiles" / f"{file_name(task)}-{key}.csv"


def load(path: Path, device: str, variants: Iterable[Variant]) -> dict[str, ProfiledVariant] | None:
    """Profiles kept at ``path``; None where there are none, or where they are unusable, which is logged."""
    if not path.exists():
        return None
    try:
        kept = read_profiles(path, device)
    except ConfigError as error:
        logger.warning("ignoring the kept profiles, measuring again: %s", error)
        return None
    missing = sorted(variant.name for variant in variants if not _covers(kept.get(variant.name), variant))
    if missing:
        logger.warning("ignoring the kept profiles in %s, measuring again: not all of %s", path, ", ".join(missing))
        return None
    return kept


def _covers(kept: ProfiledVariant | None, variant: Variant) -> bool:
    """Whether batches were measured as far as the variant takes them; where memory bounds them, that is in the key."""
    largest = max((size for size in BATCH_SIZES if size <= variant.max_batch), default=1)
    return kept is not None and (variant.row_bytes is not None or kept.profile.batch_sizes[-1] >= largest)


def save(path: Path, profiles: Mapping[str, ProfiledVariant]) -> None:
    """Keep ``profiles`` at ``path``; a reader sees either the old file or the new one, whole.

    Where they cannot be kept that is logged: they serve all the same, and are measured again next time.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".saving-", dir=path.parent) as folder:
            written = Path(folder) / path.name
            write_profiles(written, profiles)
            os.replace(written, path)
    except OSError as error:
        logger.warning("cannot keep profiles in %s, so that the next start measures again: %s", path, error)


def runtime_versions() -> str:
    """Such as ``onnxruntime-gpu 1.23.2, tokenizers 0.22.1``: what runs variants here, as far as it is installed."""
    found = {name: _installed(name) for name in _PACKAGES}
    return ", ".join(f"{name} {number}" for name, number in found.items() if number != "none")


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def _fingerprint(variant: Variant, root: str) -> str:
    """Everything about a variant that its latency depends on."""
    artifact = variant.artifact
    described = artifact.sha256
    if variant.runtime == STACKED:
        described = ""  # its options have the members, whose files are those of variants of the task
    elif artifact.import_path is not None:
        described = f"{artifact.import_path} {_changed([source_of(artifact.import_path, root)])}"
    elif described is None:
        local = Path(root) / artifact.uri.removeprefix("file://")
        described = f"{artifact.uri} {_changed([local, *local.rglob('*')] if local.exists() else [])}"
    if beside := files_beside(variant, root):
        described = f"{described} {_changed(beside)}"
    tensors = [spec.oip() for spec in (*variant.inputs, *variant.outputs)]
    lengths = "" if variant.lengths is None else f" {variant.lengths}"
    rows = "" if variant.row_bytes is None else f" {variant.max_batch} rows"  # no more may have been measured
    return f"{variant.name} {variant.runtime} {sorted(variant.options.items())} {tensors} {described}{lengths}{rows}"


def _changed(files: Iterable[Path]) -> list[tuple[int, int]]:
    there = [file.stat() for file in sorted(files) if file.exists()]  # a link may lead nowhere
    return [(stat.st_mtime_ns, stat.st_size) for stat in there]


def file_name(task: str) -> str:
    """``task`` with everything but letters, digits, ``-`` and ``_`` replaced, safe as part of a file name."""
    return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in task)
