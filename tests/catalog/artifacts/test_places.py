"""What lies where, however it is written."""

from pathlib import Path

import pytest

from catalog.artifacts.places import within


@pytest.mark.parametrize(
    ("place", "allowed", "lies"),
    [
        ("https://a.example/models/x.onnx", "https://a.example/models", True),
        ("https://a.example/models/x.onnx", "https://a.example/models/", True),
        ("https://A.example:443/models/x.onnx", "https://a.example/models", True),
        ("https://a.example/models/x.onnx?signature=1", "https://a.example/models", True),
        ("https://a.example/models", "https://a.example/models/", True),
        ("https://a.example/models-of-others/x.onnx", "https://a.example/models", False),
        ("http://a.example/models/x.onnx", "https://a.example/models", False),
        ("https://a.example:8443/models/x.onnx", "https://a.example/models", False),
        ("https://a.example.evil.example/models/x.onnx", "https://a.example/models", False),
        ("https://a.example@evil.example/models/x.onnx", "https://a.example/models", False),
        ("https://evil.example/models/x.onnx#https://a.example/models", "https://a.example/models", False),
        ("https://a.example/models/../x.onnx", "https://a.example/models", False),
        ("https://a.example/models/%2e%2e/x.onnx", "https://a.example/models", False),
        ("https://a.example/models/%252e%252e/x.onnx", "https://a.example/models", False),
        ("https://a.example/models/..%2fx.onnx", "https://a.example/models", False),
        ("https://a.example/models\\..\\x.onnx", "https://a.example/models", False),
        ("https://a.example/models/x\n.onnx", "https://a.example/models", False),
        ("https://a.example:port/models/x.onnx", "https://a.example/models", False),
        ("https://[::1/models/x.onnx", "https://a.example/models", False),
        ("http://[::1]:80/models/x.onnx", "http://[::1]/models", True),
        ("zip://x::https://a.example/models/bomb.zip", "https://a.example/models", False),
        ("https://a.example/models/x::file:///etc/passwd", "https://a.example/models", False),
        ("s3://bucket/models/x.onnx", "s3://bucket/models", True),
        ("s3://bucket2/models/x.onnx", "s3://bucket", False),
        ("/etc/passwd", "https://a.example/", False),
        ("https://a.example/etc/passwd", "/", False),
        ("gopher://a.example/", "https://a.example/", False),
    ],
)
def test_a_url_lies_below_another_only_if_nobody_can_read_it_otherwise(place: str, allowed: str, lies: bool) -> None:
    assert within(place, allowed) is lies


def test_a_path_lies_in_a_folder_if_it_leads_there(tmp_path: Path) -> None:
    allowed, secret = tmp_path / "models", tmp_path / "secret.onnx"
    allowed.mkdir()
    secret.write_text("secret")
    (allowed / "x.onnx").write_text("x")
    (allowed / "link.onnx").symlink_to(secret)
    (allowed / "loop.onnx").symlink_to("loop.onnx")
    (tmp_path / "alias").symlink_to(allowed)
    for form in ("{}/x.onnx", "file://{}/x.onnx", "{}/../models/x.onnx", "{}/new.onnx"):
        assert within(form.format(allowed), str(allowed))
        assert within(form.format(allowed), f"file://{tmp_path}/alias")
    for path in (
        str(secret),
        f"{allowed}/../secret.onnx",
        f"{allowed}/link.onnx",
        f"{allowed}/../models-2/x",
        f"file://{allowed}/../secret.onnx",
        f"local://{allowed}/link.onnx",
        "models/x.onnx",
        "",
        f"{allowed}/\0",
        f"{tmp_path}",
    ):
        assert not within(path, str(allowed)), path
