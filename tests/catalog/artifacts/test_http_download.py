"""Model files over HTTP: where they may come from, and how large they may be."""

import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from model_server import content, endless, model_server, redirect

from catalog.artifacts.rules import ArtifactRules
from catalog.errors import ArtifactError
from catalog.store import FsspecStore
from catalog.variant import Artifact

MODEL = b"the weights"
SHA256 = hashlib.sha256(MODEL).hexdigest()


@pytest.fixture
def store(tmp_path: Path) -> Callable[..., FsspecStore]:
    def make(*allowed: str, max_bytes: int = 1000) -> FsspecStore:
        return FsspecStore(str(tmp_path), tmp_path / "cache", ArtifactRules(allowed, max_bytes))

    return make


def left_over(folder: Path) -> list[Path]:
    return [path for path in (folder / "cache").rglob("*") if path.is_file()]


def test_a_file_is_fetched_once_and_checked(tmp_path: Path, store: Callable[..., FsspecStore]) -> None:
    asked: list[str] = []
    with model_server({"/models/x.onnx": content(MODEL)}, asked) as url:
        made = store(f"{url}/models")
        for _ in range(2):
            assert made.fetch(Artifact(f"{url}/models/x.onnx?v=1", SHA256)).read_bytes() == MODEL
        with pytest.raises(ArtifactError, match="SHA-256"):
            made.fetch(Artifact(f"{url}/models/x.onnx", "0" * 64))
        with pytest.raises(ArtifactError, match="plain HTTP"):
            made.fetch(Artifact(f"{url}/models/x.onnx"))
    assert asked == ["/models/x.onnx?v=1", "/models/x.onnx"]


def test_a_redirect_is_followed_only_to_allowed_places(tmp_path: Path, store: Callable[..., FsspecStore]) -> None:
    elsewhere: list[str] = []
    asked: list[str] = []
    with model_server({"/x.onnx": content(MODEL)}, elsewhere) as other:
        answers = {
            "/models/near": redirect("x.onnx"),
            "/models/x.onnx": content(MODEL),
            "/models/far": redirect(f"{other}/x.onnx"),
            "/models/up": redirect("../x.onnx"),
            "/models/metadata": redirect("http://169.254.169.254/latest/meta-data/"),
            "/models/file": redirect("file:///etc/passwd"),
            "/models/round": redirect("round"),
            "/models/nowhere": redirect(""),
        }
        with model_server(answers, asked) as url:
            made = store(f"{url}/models/")
            assert made.fetch(Artifact(f"{url}/models/near", SHA256)).read_bytes() == MODEL
            for name in ("far", "up", "metadata", "file"):
                with pytest.raises(ArtifactError, match=r"leads on to .*artifacts\.allowed"):
                    made.fetch(Artifact(f"{url}/models/{name}", SHA256))
            for name in ("round", "nowhere"):
                with pytest.raises(ArtifactError, match="leads on and on"):
                    made.fetch(Artifact(f"{url}/models/{name}", SHA256))
            assert elsewhere == []
            trusting = store(f"{url}/models/", f"{other}/x.onnx")
            assert trusting.fetch(Artifact(f"{url}/models/far", SHA256)).read_bytes() == MODEL
    assert len(left_over(tmp_path)) == 2


@pytest.mark.parametrize("length", ["", "2000", "10"])
def test_a_file_that_is_larger_than_allowed_is_not_fetched_to_its_end(
    tmp_path: Path, store: Callable[..., FsspecStore], length: str
) -> None:
    large = b"x" * 2000
    with model_server({"/x": content(large, Content_Length=length)}, []) as url:
        made = store(f"{url}/", max_bytes=1000)
        with pytest.raises(ArtifactError, match=r"artifacts\.max_bytes" if length != "10" else "SHA-256"):
            made.fetch(Artifact(f"{url}/x", hashlib.sha256(large).hexdigest()))
    assert left_over(tmp_path) == []


def test_a_file_without_end_is_given_up(tmp_path: Path, store: Callable[..., FsspecStore]) -> None:
    sent: list[int] = []
    server = model_server({"/x": endless(b"x" * 65536, sent)}, [])
    with server as url, pytest.raises(ArtifactError, match="more bytes than it may"):
        store(f"{url}/", max_bytes=1 << 20).fetch(Artifact(f"{url}/x", SHA256))
    assert left_over(tmp_path) == []


def test_a_body_that_breaks_off_or_comes_compressed_is_refused(
    tmp_path: Path, store: Callable[..., FsspecStore]
) -> None:
    answers = {
        "/short": content(MODEL, Content_Length="900"),
        "/bomb": content(gzip.compress(b"0" * 10_000), Content_Encoding="gzip"),
        "/gone": lambda handler: handler.send_error(404),
    }
    with model_server(answers, []) as url:  # type: ignore[arg-type]
        for name, words in (("short", "broke off|IncompleteRead"), ("bomb", "comes compressed"), ("gone", "HTTP 404")):
            with pytest.raises(ArtifactError, match=words):
                store(f"{url}/").fetch(Artifact(f"{url}/{name}", SHA256))
    assert left_over(tmp_path) == []
