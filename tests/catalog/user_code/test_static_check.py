"""Classes that cannot serve are refused by reading them; nothing of them runs."""

from pathlib import Path
from typing import Any

import pytest
from user_code_scene import variant, write_module

from catalog.errors import AccordError, ArtifactError, ConfigError
from catalog.user_code.static_check import check_classes

NEVER_RUN = "raise AssertionError('this module was imported')\n"


def check(folder: Path, text: str, import_path: str = "mine:Doubles", **changes: Any) -> None:
    write_module(folder, text)
    check_classes([variant(import_path, **changes)], str(folder))


@pytest.mark.parametrize(
    "text",
    [
        "class Doubles:\n    def setup(self, device): ...\n    def predict(self, inputs): ...\n",
        "class Doubles:\n    async def setup(self, device, threads): ...\n    async def predict(self, x, *, k=1): 1\n",
        "class Doubles:\n    def setup(self, device, *, threads): ...\n    def predict(self, *batches): ...\n",
        "class Doubles(Base):\n    def predict(self, inputs): ...\n",
        "class Doubles: ...\nclass Doubles:\n    def setup(self, device): ...\n    def predict(self, inputs): ...\n",
        "from elsewhere import Doubles\n",
        "from elsewhere import *\n",
        "if True:\n    class Doubles: ...\n",
        "Doubles = make()\n",
        "@dataclass\nclass Doubles:\n    setup = predict = None\n",
        "class Doubles:\n    setup = predict = other\n",
    ],
)
def test_what_can_serve_passes_and_so_does_what_only_running_tells(tmp_path: Path, text: str) -> None:
    check(tmp_path, NEVER_RUN + text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ndef (", r"mine\.py, line 2: .*; correct it"),
        ("class Double: ...\n", r"mine\.py has no class 'Doubles' \(did you mean 'Double'\?\)"),
        ("def Doubles(): ...\n", r"mine\.py, line 1: 'Doubles' is a function; name a class"),
        (
            "\n\nclass Doubles:\n    def predict(self, inputs): ...\n",
            r"line 3: class Doubles has no setup; write `def setup\(self, device\):`",
        ),
        ("class Doubles:\n    def setup(self, device): ...\n    def predict_batch(self, inputs): ...\n", "no predict "),
        (
            "class Doubles:\n    def setup(self): ...\n    def predict(self, inputs): ...\n",
            r"line 2: setup\(\) cannot be called: too many positional arguments; write `def setup\(self, device\):`",
        ),
        (
            "class Doubles:\n    def setup(self, device): ...\n    def predict(self, x, y): ...\n",
            r"line 3: predict\(x, y\) cannot be called: missing a required argument: 'y'",
        ),
        (
            "class Doubles:\n    def setup(self, device, *, model): ...\n    def predict(self, inputs): ...\n",
            r"missing a required (keyword-only )?argument: 'model'",
        ),
        (
            "class Doubles:\n    def __init__(self, file): ...\n    def setup(self, device): ...\n"
            "    def predict(self, inputs): ...\n",
            r"line 2: Doubles\(file\) cannot be made with the variant's options \(none\): missing a required .*'file'",
        ),
    ],
)
def test_what_cannot_serve_is_refused_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check(tmp_path, text)


def test_options_go_to_the_constructor_by_name(tmp_path: Path) -> None:
    bare = "class Doubles:\n    def setup(self, d): ...\n    def predict(self, i): ...\n"
    text = bare + "    def __init__(self, file): ...\n"
    check(tmp_path, text, options={"file": "a.onnx"})
    with pytest.raises(ConfigError, match=r"options \(fil\): .*file"):
        check(tmp_path, text, options={"fil": "a.onnx"})
    with pytest.raises(ConfigError, match=r"line 1: Doubles\(\) cannot be made .* \(file\)"):
        check(tmp_path, bare, options={"file": "a.onnx"})


@pytest.mark.parametrize(("path", "missing"), [("none:A", "'none'"), ("mine.deeper:A", "'mine.deeper'")])
def test_a_module_that_is_not_there_is_named_with_where_it_was_looked_for(
    tmp_path: Path, path: str, missing: str
) -> None:
    with pytest.raises(ArtifactError, match=f"there is no module {missing}, neither in {tmp_path} nor on PYTHONPATH"):
        check(tmp_path, "class A: ...\n", path)


def test_modules_of_packages_are_found_and_a_folder_is_no_module(tmp_path: Path) -> None:
    write_module(tmp_path / "pack", "class A:\n    def setup(self, d): ...\n    def predict(self, i): ...\n", "inner")
    with pytest.raises(ArtifactError, match="is a folder without __init__"):
        check_classes([variant("pack:A")], str(tmp_path))
    check_classes([variant("pack.inner:A")], str(tmp_path))


@pytest.mark.parametrize("path", ["os", "os:", ":A", "a b:C", "a:B.c", "../x:A", "a..b:C"])
def test_what_names_no_class_is_refused(path: str) -> None:
    with pytest.raises((AccordError, ValueError), match=r"names no class; write module:Class"):
        variant(path)


def test_variants_of_other_runtimes_are_not_looked_at(tmp_path: Path) -> None:
    from catalog.variant import Artifact

    check_classes([variant(runtime="onnx", artifact=Artifact("none.onnx"))], str(tmp_path))
