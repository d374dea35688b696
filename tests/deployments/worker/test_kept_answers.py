"""Folders of answers are below the one that was named, whatever variants are called."""

from pathlib import Path

import numpy as np
import pytest

from deployments.worker.kept_answers import chunk_path, folder_name, forget, load_chunk, save_chunk


@pytest.mark.parametrize("name", ["good", "digits-cnn-xs", "resnet 50 (int8)", "größe.v2", "x" * 150])
def test_ordinary_names_are_those_of_folders(name: str) -> None:
    assert folder_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../..", "a/b", "/tmp/x", "a\\b", "a\nb", "a\0b", "x" * 300, "ü" * 200, "\ud800"],
    ids=repr,
)
def test_others_are_one_folder_below_too(tmp_path: Path, name: str) -> None:
    folder = tmp_path / folder_name(name)
    folder.mkdir()
    assert folder.resolve().parent == tmp_path.resolve()
    assert list(tmp_path.iterdir()) == [folder]


def test_names_that_look_alike_are_different_folders() -> None:
    names = ["a/b", "a\\b", "a_b", "x" * 299, "x" * 300]
    assert len({folder_name(name) for name in names}) == len(names)
    assert folder_name("a/b").startswith("a_b-")


def test_a_chunk_is_what_was_saved_or_nothing(tmp_path: Path) -> None:
    path = chunk_path(tmp_path, 512)
    assert load_chunk(path) is None
    save_chunk(path, {"y": np.arange(3), "text": np.array(["a", "bc", ""], object)})
    found = load_chunk(path)
    assert found is not None
    assert (found["y"].tolist(), found["text"].tolist(), found["text"].dtype) == ([0, 1, 2], ["a", "bc", ""], object)
    assert list(tmp_path.iterdir()) == [path]
    content = path.read_bytes()
    for at in range(0, len(content), 7):
        path.write_bytes(content[:at])
        assert load_chunk(path) is None, at
    forget(tmp_path)
    assert list(tmp_path.iterdir()) == []
