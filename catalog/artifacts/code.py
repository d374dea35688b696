"""Model files that bring code with them, told by their content."""

import zipfile
from collections.abc import Iterator
from pathlib import Path

from catalog.artifacts.rules import EXPORTED_PROGRAM, TORCHSCRIPT, ArtifactRules
from catalog.errors import ArtifactError

PICKLE, LIBRARY = "pickle", "code"
CODE_SUFFIXES = (".py", ".pyc", ".pyd", ".so", ".dll", ".dylib")
PICKLE_SUFFIXES = (".pkl", ".pickle", ".joblib")
SAFETENSORS_HEADER = 8

SIGNS = {EXPORTED_PROGRAM: "archive_format", TORCHSCRIPT: "constants.pkl"}
"""Files that such archives have below their top folder."""


def code_in(file: Path) -> frozenset[str]:
    """Kinds of code in a file; empty for ONNX, safetensors and texts. Raises OSError where it cannot be read."""
    if file.suffix.lower() in CODE_SUFFIXES:
        return frozenset({LIBRARY})
    if file.suffix.lower() in PICKLE_SUFFIXES or _is_pickle(file):
        return frozenset({PICKLE})
    members = archive_members(file)
    if members is None:
        return frozenset()
    found = {kind for kind, sign in SIGNS.items() if sign in members}
    if not found and any(name.endswith(".pkl") for name in members):
        found = {PICKLE}  # what torch.save writes
    return frozenset(found)


def archive_members(file: Path) -> frozenset[str] | None:
    """Names of a zip archive's files below its top folder; None where it is none that can be read."""
    try:
        with zipfile.ZipFile(file) as archive:
            return frozenset(name.partition("/")[2] for name in archive.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OverflowError):
        return None


def refuse_code(path: Path, rules: ArtifactRules, what: str) -> None:
    """Refuse a file or folder with code that is not allowed, or an archive that becomes larger than files may be.

    Raises `ArtifactError`.
    """
    for file in _files(path):
        try:
            kinds = code_in(file) - rules.allow_code
            unpacked_bytes = _unpacked_bytes(file)
        except OSError as error:
            raise ArtifactError(f"{what}: cannot read {file.name}: {error.strerror}; check its permissions") from error
        if kinds:
            raise ArtifactError(
                f"{what}: {file.name} holds {' and '.join(sorted(kinds))}, which runs whatever its maker put into it; "
                f"save the model as ONNX or safetensors{_remedy(kinds)}"
            )
        if unpacked_bytes > rules.max_bytes:
            raise ArtifactError(
                f"{what}: {file.name} unpacks to {unpacked_bytes} bytes and may have {rules.max_bytes}; raise "
                "artifacts.max_bytes"
            )


def _remedy(kinds: frozenset[str]) -> str:
    allowable = sorted(kinds & {TORCHSCRIPT, EXPORTED_PROGRAM})
    return f", or allow it with artifacts.allow_code: [{', '.join(allowable)}]" if allowable else ""


def _files(path: Path) -> Iterator[Path]:
    return iter([path]) if path.is_file() else (file for file in sorted(path.rglob("*")) if file.is_file())


def _unpacked_bytes(file: Path) -> int:
    try:
        with zipfile.ZipFile(file) as archive:
            return sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OverflowError):
        return 0


def _is_pickle(file: Path) -> bool:
    """Whether it begins like a pickle of protocol 2 or later, and not like safetensors, whose header has a length."""
    with file.open("rb") as opened:
        start = opened.read(SAFETENSORS_HEADER + 1)
    return start[:1] == b"\x80" and start[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05") and start[8:9] != b"{"
