"""Files in YAML: what is wrong is said, a key that stands twice among it."""

from pathlib import Path

import pytest

from catalog.errors import ConfigError
from catalog.yaml_file import read_yaml


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("endpoints:\n  a: 1\nendpoints:\n  b: 1\n", r"found key 'endpoints' twice\n.*line 3"),
        ("pools: {a: {workers: 1}, a: {workers: 2}}\n", "found key 'a' twice"),
        ("- {1: a, 1: b}\n", "found key '1' twice"),
    ],
)
def test_a_key_stands_once(path: Path, content: str, words: str) -> None:
    path.write_text(content)
    with pytest.raises(ConfigError, match=f"the config is not YAML: (?s:.*){words}"):
        read_yaml(path, "the config", "a file")


def test_keys_of_different_mappings_and_what_is_merged_may_be_alike(path: Path) -> None:
    path.write_text("x: &x {q: 1, r: 1}\ny: &y {s: 3}\nz: {<<: *x, q: 2}\nw:\n  <<: *x\n  <<: *y\n")
    found = read_yaml(path, "the config", "a file")
    assert found["z"] == {"q": 2, "r": 1}
    assert found["w"] == {"q": 1, "r": 1, "s": 3}


def test_what_is_merged_may_be_merged_again_and_overridden(path: Path) -> None:
    path.write_text("t:\n  base: &base {a: 1, b: 1}\n  mid: &mid\n    <<: *base\n    a: 2\ntop:\n  <<: *mid\n")
    assert read_yaml(path, "the config", "a file")["top"] == {"a": 2, "b": 1}


def test_a_number_and_its_text_are_two_keys(path: Path) -> None:
    path.write_text("1: a\n'1': b\n")
    assert read_yaml(path, "the config", "a file") == {1: "a", "1": "b"}
