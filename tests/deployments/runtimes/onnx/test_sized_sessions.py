"""Batches filled up to fixed sizes, on the CPU: the answers are those of one session for all sizes."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from catalog.catalogue import load_catalogue
from catalog.errors import ArtifactError
from catalog.variant import Variant
from deployments.runtimes.base import RuntimeOptions
from deployments.runtimes.onnx import gpu_memory, onnx_runtime, onnx_session, sized_sessions
from deployments.runtimes.onnx.onnx_runtime import OnnxRuntime
from deployments.runtimes.onnx.sized_sessions import SizedSessions, has_convolutions, sizes_up_to

ZOO = load_catalogue("builtin")
BY_NAME = {variant.name: variant for variant in ZOO.variants}
CNN, MLP = BY_NAME["digits-cnn-m"], BY_NAME["digits-mlp"]


def file_of(variant: Variant) -> Path:
    return Path(ZOO.root) / variant.artifact.uri


def images(rows: int) -> np.ndarray:
    return np.random.default_rng(rows).uniform(0, 16, (rows, 12, 12)).astype(np.float32)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Sessions for a GPU are opened on the CPU, since there is none here; the list has them."""
    sessions: list[Any] = []

    def on_cpu(variant: Variant, file: Path, options: RuntimeOptions) -> Any:
        sessions.append(onnx_session.open_session(variant, file, RuntimeOptions("cpu")))
        return sessions[-1]

    monkeypatch.setattr(onnx_runtime, "open_session", on_cpu)
    return sessions


def loaded(variant: Variant, device: str) -> OnnxRuntime:
    runtime = OnnxRuntime(variant, file_of(variant), RuntimeOptions(device))
    runtime.load()
    return runtime


@pytest.mark.parametrize(
    ("max_batch", "sizes"), [(1, (1,)), (2, (1, 2)), (5, (1, 2, 4, 5)), (64, (1, 2, 4, 8, 16, 32, 64)), (3, (1, 2, 3))]
)
def test_sizes_are_powers_of_two_and_the_largest_batch(max_batch: int, sizes: tuple[int, ...]) -> None:
    assert sizes_up_to(max_batch) == sizes


def test_graphs_with_convolutions_are_known_by_their_file() -> None:
    assert has_convolutions(file_of(CNN))
    assert has_convolutions(file_of(BY_NAME["digits-ensemble"]))
    assert not has_convolutions(file_of(MLP))
    assert not has_convolutions(file_of(BY_NAME["strip-check-exact"]))


@pytest.mark.parametrize("block", [1, 7, 4096])
def test_files_are_read_block_by_block(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, block: int) -> None:
    monkeypatch.setattr(sized_sessions, "_BLOCK_BYTES", block)
    for mark, found in ((b'"\x04Conv', True), (b'"\x0dConvTranspose', True), (b'"\x05Convo', False), (b"Conv", False)):
        path = tmp_path / "model"
        path.write_bytes(bytes(100) + mark + bytes(9000 if block == 4096 else 10))
        assert has_convolutions(path) is found


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 31, 33, 63, 64])
def test_answers_are_those_of_one_session_for_all_sizes(opened: list[Any], rows: int) -> None:
    one, sized = loaded(CNN, "cpu").run({"image": images(rows)}), loaded(CNN, "cuda").run({"image": images(rows)})
    assert len(opened) == 1 + 7
    for name, wanted in one.items():
        assert len(sized[name]) == rows
        np.testing.assert_allclose(sized[name], wanted, rtol=1e-5, atol=1e-6)


def test_a_session_runs_batches_of_one_size_only(opened: list[Any]) -> None:
    seen: list[set[int]] = []

    class Watched:
        def __init__(self, session: Any) -> None:
            self._session = session
            self._own: set[int] = set()
            seen.append(self._own)

        def run(self, names: Any, inputs: Any) -> Any:
            self._own.add(len(inputs["image"]))
            return self._session.run(names, inputs)

    variant = replace(CNN, max_batch=6)
    sessions = SizedSessions(
        lambda: Watched(onnx_session.open_session(variant, file_of(CNN), RuntimeOptions())), sizes_up_to(6)
    )
    for rows in (6, 1, 3, 2, 5, 4, 1):
        assert len(sessions.run(["label"], {"image": images(rows)})[0]) == rows
    assert seen == [{1}, {2}, {4}, {6}]
    with pytest.raises(ValueError, match="7 rows; at most 6"):
        sessions.run(["label"], {"image": images(7)})


def test_every_size_has_run_once_when_a_variant_is_loaded(opened: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[int] = []
    run = SizedSessions.run

    def watched(self: SizedSessions, names: Any, inputs: Any) -> Any:
        ran.append(len(inputs["image"]))
        return run(self, names, inputs)

    monkeypatch.setattr(SizedSessions, "run", watched)
    loaded(replace(CNN, max_batch=12), "cuda")
    assert set(ran) == {1, 2, 4, 8, 12}


def test_without_convolutions_one_session_runs_all_sizes(opened: list[Any]) -> None:
    runtime = loaded(MLP, "cuda:0")
    assert len(opened) == 1
    assert runtime.memory_bytes() == 2 * file_of(MLP).stat().st_size + gpu_memory.SESSION_BYTES
    assert loaded(MLP, "cpu").memory_bytes() == 2 * file_of(MLP).stat().st_size


def test_weights_of_all_sessions_count_and_what_each_takes_beside_them(opened: list[Any]) -> None:
    size = file_of(CNN).stat().st_size
    runtime = loaded(CNN, "cuda")
    assert runtime.memory_bytes() == 8 * size + 7 * gpu_memory.SIZED_SESSION_BYTES


@pytest.mark.parametrize(("given", "then"), [(None, ":16:8"), (":4096:2", ":4096:2")])
def test_sessions_for_each_size_share_little_room_for_cublas(
    opened: list[Any], monkeypatch: pytest.MonkeyPatch, given: str | None, then: str
) -> None:
    name = "CUBLAS_WORKSPACE_CONFIG"
    monkeypatch.setenv(name, given or "")
    if given is None:
        monkeypatch.delenv(name)
    loaded(MLP, "cuda")
    assert os.environ.get(name) == given
    loaded(CNN, "cuda")
    assert os.environ[name] == then


def test_a_missing_file_is_reported_as_on_the_cpu(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"cannot load none\.onnx"):
        OnnxRuntime(CNN, tmp_path / "none.onnx", RuntimeOptions("cpu")).load()


def test_a_missing_file_is_reported_on_a_gpu_too(opened: list[Any], tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"cannot load none\.onnx"):
        OnnxRuntime(CNN, tmp_path / "none.onnx", RuntimeOptions("cuda")).load()
