"""Arrays that are kept between starts."""

import os
from pathlib import Path

import numpy as np
import pytest

from catalog.array_store import ArrayStore


def arrays() -> dict[str, np.ndarray]:
    return {
        "numbers": np.linspace(0, 1, 7),
        "bytes": np.arange(6, dtype=np.uint8).reshape(2, 3),
        "names": np.array(["a"]),
    }


def test_what_was_put_comes_back_bit_by_bit(tmp_path: Path) -> None:
    ArrayStore(tmp_path / "new").put("k1", arrays())
    found = ArrayStore(tmp_path / "new").get("k1")
    assert found is not None
    assert found.keys() == arrays().keys()
    for name, values in arrays().items():
        assert found[name].dtype == values.dtype
        assert found[name].tobytes() == values.tobytes()


def test_an_unknown_key_holds_nothing(tmp_path: Path) -> None:
    assert ArrayStore(tmp_path).get("k1") is None


@pytest.mark.parametrize("kept", [0, 1, 20, -10])
def test_a_file_that_was_cut_short_counts_as_absent_and_can_be_put_again(tmp_path: Path, kept: int) -> None:
    store = ArrayStore(tmp_path)
    store.put("k1", arrays())
    file = tmp_path / "k1.npz"
    file.write_bytes(file.read_bytes()[:kept])
    assert store.get("k1") is None
    store.put("k1", arrays())
    assert store.get("k1") is not None


def test_a_flipped_byte_in_the_data_is_noticed(tmp_path: Path) -> None:
    store = ArrayStore(tmp_path)
    store.put("k1", {"noise": np.random.default_rng(0).random(500)})
    file = tmp_path / "k1.npz"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)
    assert store.get("k1") is None


@pytest.mark.parametrize("mask", [0x01, 0x40, 0xFF])
def test_a_file_with_any_byte_changed_is_read_or_absent(tmp_path: Path, mask: int) -> None:
    store = ArrayStore(tmp_path)
    store.put("k1", {"numbers": np.arange(3.0)})
    file = tmp_path / "k1.npz"
    content = file.read_bytes()
    for position in range(len(content)):
        changed = bytearray(content)
        changed[position] ^= mask
        file.write_bytes(changed)
        store.get("k1")  # raises nothing


@pytest.mark.parametrize(
    ("field", "value"), [(8, 1), (10, 99)], ids=["said to be encrypted", "an unknown compression method"]
)
def test_a_file_whose_directory_says_what_cannot_be_read_counts_as_absent(
    tmp_path: Path, field: int, value: int
) -> None:
    store = ArrayStore(tmp_path)
    store.put("k1", arrays())
    file = tmp_path / "k1.npz"
    content = bytearray(file.read_bytes())
    content[content.index(b"PK\x01\x02") + field] = value
    file.write_bytes(content)
    assert store.get("k1") is None


def test_a_bare_array_under_the_name_counts_as_absent(tmp_path: Path) -> None:
    with (tmp_path / "k1.npz").open("wb") as file:
        np.save(file, np.arange(3))
    assert ArrayStore(tmp_path).get("k1") is None


def test_a_pickle_in_a_file_is_never_run(tmp_path: Path) -> None:
    np.savez(tmp_path / "k1.npz", bad=np.array([{"run": "me"}], dtype=object))
    assert ArrayStore(tmp_path).get("k1") is None


def test_nothing_but_whole_files_is_left_in_the_folder(tmp_path: Path) -> None:
    store = ArrayStore(tmp_path)
    for key in ("k1", "k2", "k1"):
        store.put(key, arrays())
    assert sorted(os.listdir(tmp_path)) == ["k1.npz", "k2.npz"]


def test_a_folder_that_cannot_be_made_costs_the_cache_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = ArrayStore(tmp_path / "file" / "below")
    store.put("k1", arrays())
    assert store.get("k1") is None


def test_a_key_that_is_a_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="use letters and digits"):
        ArrayStore(tmp_path).get("../secrets")
