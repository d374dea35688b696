"""Kept profiles are found again only for exactly what they were measured on."""

import logging
import os
from dataclasses import replace
from pathlib import Path

import pytest
from user_code_scene import variant, write_module

from catalog.errors import ConfigError
from catalog.machine_type import cpus_there
from catalog.profiles import profile_cache
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.profiles.profile_cache import cache_folder, cache_path, cpu_description, load, save
from catalog.profiles.profile_csv import ProfiledVariant
from catalog.tensor import TensorSpec
from catalog.variant import Artifact, Variant

_TENSOR = TensorSpec("x", "FP32", (-1, 2))
_VARIANT = Variant("small", "digits", "onnx", Artifact("small.onnx", "0" * 64), 0.7, (_TENSOR,), (_TENSOR,))
_LATENCY = BatchLatency(9, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0)
_KEPT = {"small": ProfiledVariant(70.0, LatencyProfile("cpu", dict.fromkeys((1, 8, 64), _LATENCY)))}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder that this test alone uses."""
    monkeypatch.setenv("ACCORD_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def path_of(*variants: Variant, task: str = "digits", device: str = "cpu", threads: int = 1, root: str = ".") -> Path:
    """Cache path of ``variants``."""
    return cache_path(task, device, threads, variants, root)


def test_the_folder_comes_from_the_environment(cache: Path) -> None:
    path = path_of(_VARIANT)
    assert path.parent == cache / "profiles"
    assert path.name.startswith("digits-")
    assert path.suffix == ".csv"


def test_without_the_environment_the_folder_is_in_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ACCORD_CACHE_DIR")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert path_of(_VARIANT).parent == tmp_path / ".cache" / "accord" / "profiles"


def test_a_home_in_the_environment_is_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ACCORD_CACHE_DIR", "~/kept")
    assert cache_folder("logs") == tmp_path / "kept" / "logs"
    monkeypatch.setenv("ACCORD_CACHE_DIR", "~nobody-of-this-name/kept")
    with pytest.raises(ConfigError, match="set ACCORD_CACHE_DIR"):
        cache_folder("logs")


def test_a_task_name_cannot_leave_the_folder(cache: Path) -> None:
    assert path_of(_VARIANT, task="../../etc").parent == cache / "profiles"


def test_the_order_of_variants_does_not_matter() -> None:
    other = replace(_VARIANT, name="large")
    assert path_of(_VARIANT, other) == path_of(other, _VARIANT)


def test_another_device_thread_count_or_artifact_has_another_file() -> None:
    paths = [
        path_of(_VARIANT),
        path_of(_VARIANT, device="gpu"),
        path_of(_VARIANT, threads=2),
        path_of(replace(_VARIANT, artifact=Artifact("small.onnx", "1" * 64))),
        path_of(replace(_VARIANT, options={"precision": "fp16"})),
        path_of(_VARIANT, replace(_VARIANT, name="large")),
    ]
    assert len(set(paths)) == len(paths)


def test_another_version_of_a_runtime_has_another_file(monkeypatch: pytest.MonkeyPatch) -> None:
    before = path_of(_VARIANT)
    monkeypatch.setattr(profile_cache, "version", lambda _: "999")
    assert path_of(_VARIANT) != before


def test_a_file_without_a_checksum_counts_by_its_time_of_change(tmp_path: Path) -> None:
    file = tmp_path / "small.onnx"
    file.write_bytes(b"")
    unchecked = replace(_VARIANT, artifact=Artifact("small.onnx"))
    before = path_of(unchecked, root=str(tmp_path))
    os.utime(file, ns=(1, 1))
    assert path_of(unchecked, root=str(tmp_path)) != before


def test_a_class_counts_by_the_python_files_beside_it_and_the_files_that_its_options_name(tmp_path: Path) -> None:
    files = [write_module(tmp_path, "class Doubles: ..."), write_module(tmp_path, "", "helper"), tmp_path / "weights"]
    files[-1].write_bytes(b"")
    own = variant(options={"layers": [{"weights": "weights"}]})
    paths = [path_of(own, root=str(tmp_path))]
    for file in files:
        os.utime(file, ns=(1, 1))
        paths.append(path_of(own, root=str(tmp_path)))
    assert len(set(paths)) == len(paths)


def test_what_was_saved_is_loaded() -> None:
    path = path_of(_VARIANT)
    save(path, _KEPT)
    assert load(path, "cpu", [_VARIANT]) == _KEPT
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_nothing_is_loaded_where_nothing_was_saved() -> None:
    assert load(path_of(_VARIANT), "cpu", [_VARIANT]) is None


def test_a_corrupt_file_is_ignored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    path = path_of(_VARIANT)
    save(path, _KEPT)
    path.write_text("half a li", encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        assert load(path, "cpu", [_VARIANT]) is None
    assert "measuring again" in caplog.text
    assert path.name in caplog.text


def test_a_file_that_lacks_a_variant_is_ignored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    path = path_of(_VARIANT)
    save(path, _KEPT)
    with caplog.at_level(logging.WARNING):
        assert load(path, "cpu", [_VARIANT, replace(_VARIANT, name="large")]) is None
    assert "not all of large" in caplog.text


def test_the_cpu_description_ends_with_the_core_count() -> None:
    assert cpu_description().endswith(f" x {cpus_there()}")


def test_profiles_of_smaller_batches_than_the_variant_takes_now_are_ignored_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    path, small = path_of(_VARIANT), replace(_VARIANT, max_batch=8)
    up_to_8 = LatencyProfile("cpu", dict.fromkeys((1, 8), _LATENCY))
    save(path, {"small": ProfiledVariant(70.0, up_to_8)})
    assert load(path, "cpu", [small]) is not None
    assert load(path, "cpu", [replace(small, max_batch=15)]) is not None, "16 is the next that is measured"
    assert load(path, "cpu", [replace(small, max_batch=64, row_bytes=9)]) is not None, "memory bounds what is measured"
    with caplog.at_level(logging.WARNING):
        assert load(path, "cpu", [replace(small, max_batch=16)]) is None
    assert "not all of small" in caplog.text


def test_profiles_that_cannot_be_kept_are_no_error(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache.write_text("a file where the folder should be")
    with caplog.at_level(logging.WARNING):
        save(path_of(_VARIANT), _KEPT)
    assert "measures again" in caplog.text
    with pytest.raises(ConfigError, match=r"cannot make the folder .*logs: .*set ACCORD_CACHE_DIR"):
        cache_folder("logs")


def test_without_a_home_the_environment_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("ACCORD_CACHE_DIR")
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(ConfigError, match=r"home directory\.; set ACCORD_CACHE_DIR"):
        path_of(_VARIANT)


def test_a_stacked_ensemble_depends_on_its_members_and_no_other_file_beside_them(tmp_path: Path) -> None:
    stacked = replace(_VARIANT, name="small+small", runtime="stacked", artifact=Artifact(""), options={"members": [1]})
    before = path_of(stacked, root=str(tmp_path))
    (tmp_path / "service.log").write_text("unrelated")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    assert path_of(stacked, root=str(tmp_path)) == before
    assert path_of(replace(stacked, options={"members": [2]}), root=str(tmp_path)) != before


def test_a_link_to_nowhere_in_a_model_s_folder_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    (tmp_path / "model" / ".#config.json").symlink_to("user@host.1:2")
    assert path_of(replace(_VARIANT, artifact=Artifact("model")), root=str(tmp_path)).name
