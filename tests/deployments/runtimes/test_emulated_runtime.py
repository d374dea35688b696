"""An emulated variant on a clock that stands still unless it sleeps or is looked at."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from catalog.errors import ArtifactError, ConfigError
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.profiles.profile_csv import ProfiledVariant, write_profiles
from catalog.tensor import TensorSpec
from catalog.variant import Artifact, Variant
from deployments.runtimes.base import RuntimeOptions
from deployments.runtimes.emulated_runtime import WAKE_EARLY_S, EmulatedRuntime, emulated_profile
from deployments.runtimes.registry import create

VARIANT = Variant(
    name="slow",
    task="t",
    runtime="emulated",
    artifact=Artifact("profiles.csv"),
    accuracy=0.9,
    inputs=(TensorSpec("x", "FP32", (-1, 4)),),
    outputs=(TensorSpec("y", "FP32", (-1, 2)), TensorSpec("label", "BYTES", (-1,))),
)
LABELS = ["a", "b", "c", "d", "e"]


class PlayedTime:
    """A clock whose ``sleep`` wakes ``late_s`` late, and which goes on by ``look_s`` whenever it is read."""

    def __init__(self, late_s: float = 80e-6, look_s: float = 1e-6) -> None:
        self.now_s = 100.0
        self.slept_s: list[float] = []
        self._late_s = late_s
        self._look_s = look_s

    def clock(self) -> float:
        self.now_s += self._look_s
        return self.now_s

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.slept_s.append(seconds)
        self.now_s += seconds + self._late_s


def profile(mean_ms: float) -> LatencyProfile:
    return LatencyProfile("cpu", {1: BatchLatency(9, mean_ms, 1, mean_ms, *[mean_ms + 2] * 3)})


def write(path: Path, mean_ms: float = 20.0, name: str = "slow") -> Path:
    write_profiles(path, {name: ProfiledVariant(90.0, profile(mean_ms))})
    return path


@pytest.fixture
def artifact(tmp_path: Path) -> Path:
    return write(tmp_path / "profiles.csv")


def loaded(artifact: Path, options: dict[str, Any], time: PlayedTime, worker: str = "") -> EmulatedRuntime:
    variant = replace(VARIANT, options=options)
    runtime = EmulatedRuntime(variant, artifact, RuntimeOptions(worker=worker), time.clock, time.sleep)
    runtime.load()
    return runtime


def rows(count: int) -> dict[str, Any]:
    return {"x": np.zeros((count, 4), np.float32)}


def durations_s(runtime: EmulatedRuntime, time: PlayedTime, runs: int) -> list[float]:
    taken_s = []
    for _ in range(runs):
        begun_s = time.now_s
        runtime.run(rows(1))
        taken_s.append(time.now_s - begun_s)
    return taken_s


@pytest.mark.parametrize("late_s", [0.0, 30e-6, 80e-6, 120e-6])
def test_a_run_takes_the_time_of_the_profile_whatever_a_sleep_takes(artifact: Path, late_s: float) -> None:
    time = PlayedTime(late_s)
    runtime = loaded(artifact, {"distribution": "fixed"}, time)
    (taken_s,) = durations_s(runtime, time, 1)
    assert 0.020 <= taken_s <= 0.020 + max(0.0, late_s - WAKE_EARLY_S) + 5e-6
    assert sum(time.slept_s) >= 0.020 - 2 * WAKE_EARLY_S  # and holds no core meanwhile


def test_loading_takes_no_time_and_a_run_only_between_load_and_unload(artifact: Path) -> None:
    time = PlayedTime()
    runtime = loaded(artifact, {}, time)
    assert time.slept_s == []
    runtime.unload()
    runtime.unload()
    with pytest.raises(RuntimeError, match="'slow' is not loaded"):
        runtime.run(rows(1))
    runtime.load()
    assert len(runtime.run(rows(3))["y"]) == 3


def test_times_follow_the_seed_and_differ_by_variant_and_worker(tmp_path: Path) -> None:
    path = tmp_path / "profiles.csv"
    write_profiles(path, {name: ProfiledVariant(90.0, profile(20.0)) for name in ("slow", "other")})

    def first(worker: str = "", seed: int = 0, name: str = "slow") -> list[float]:
        time = PlayedTime()
        variant = replace(VARIANT, name=name, options={"seed": seed})
        runtime = EmulatedRuntime(variant, path, RuntimeOptions(worker=worker), time.clock, time.sleep)
        runtime.load()
        return durations_s(runtime, time, 5)

    assert first() == first()
    assert len({tuple(first(**how)) for how in ({}, {"worker": "w1"}, {"seed": 1}, {"name": "other"})}) == 4  # type: ignore[arg-type]


def test_a_factor_file_slows_the_worker_that_it_names_from_its_next_run_on(artifact: Path) -> None:
    factors = artifact.parent / "factors.json"
    time = PlayedTime()
    options = {"distribution": "fixed", "factor_file": factors.name}
    slowed, other = (loaded(artifact, options, time, worker) for worker in ("w1", "w2"))
    assert durations_s(slowed, time, 2) == pytest.approx([0.02, 0.02], abs=2e-4)
    factors.write_text('{"w1": 2.0}')
    assert durations_s(slowed, time, 2) == pytest.approx([0.04, 0.04], abs=2e-4)
    assert durations_s(other, time, 2) == pytest.approx([0.02, 0.02], abs=2e-4)
    factors.write_text("nonsense")
    with pytest.raises(ConfigError, match="holds 'nonsense'"):
        loaded(artifact, options, time)


def test_without_a_recording_outputs_are_zeros_of_the_catalogue(artifact: Path) -> None:
    outputs = loaded(artifact, {}, PlayedTime()).run(rows(3))
    assert outputs["y"].dtype == np.float32
    assert outputs["y"].tolist() == [[0, 0]] * 3
    assert outputs["label"].tolist() == [""] * 3


def test_recorded_rows_are_given_round_and_round(artifact: Path) -> None:
    y = np.arange(10, dtype=np.float32).reshape(5, 2)
    np.savez(artifact.parent / "recorded.npz", y=y, label=np.array(LABELS))
    runtime = loaded(artifact, {"outputs": "recorded.npz"}, PlayedTime())
    batches = [runtime.run(rows(count)) for count in (2, 4, 1, 12)]
    given = [label for batch in batches for label in batch["label"].tolist()]
    assert given == [LABELS[i % 5] for i in range(19)]
    np.testing.assert_array_equal(np.concatenate([batch["y"] for batch in batches]), y[np.arange(19) % 5])
    batches[0]["y"][:] = -1  # the caller's own
    assert runtime.run(rows(5))["y"].min() == 0


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"y": np.zeros((5, 2), np.float32)}, r"outputs .*recorded\.npz are not those of the catalogue: .*label BYTES"),
        ({"y": np.zeros((5, 3), np.float32), "label": np.array(LABELS)}, r"gives y float32\[5, 3\]"),
        ({"y": np.zeros((5, 2)), "label": np.array(LABELS)}, r"gives y float64\[5, 2\]"),
        ({"y": np.zeros((4, 2), np.float32), "label": np.array(LABELS)}, r"\{'y': 4, 'label': 5\} rows; give every"),
        ({"y": np.zeros((0, 2), np.float32), "label": np.array([], "U1")}, r"\{'y': 0, 'label': 0\} rows; give every"),
        ({"y": np.zeros((5, 2), np.float32), "label": np.array(LABELS, object)}, "without object arrays"),
        ({}, "no arrays rows"),
    ],
)
def test_a_recording_that_does_not_fit_is_refused(artifact: Path, arrays: dict[str, Any], message: str) -> None:
    np.savez(artifact.parent / "recorded.npz", **arrays)
    with pytest.raises(ConfigError, match=message):
        loaded(artifact, {"outputs": "recorded.npz"}, PlayedTime())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"distribution": "uniform"}, "'slow', options: distribution is 'uniform'; use one of 'quantiles', 'fixed'"),
        ({"seed": -1}, "seed is -1; give a number of at least 0"),
        ({"seed": "0"}, "seed is '0'; give a whole number"),
        ({"speed": 2}, r"speed is unknown \(did you mean 'seed'\?\); known here: distribution, seed"),
        ({"memory_bytes": -1}, "memory_bytes is -1; give a number of at least 0"),
        ({"outputs": "none.npz"}, r"cannot read outputs .*none\.npz: No such file.*relative to the folder"),
        ({"outputs": "profiles.csv"}, r"outputs .*profiles\.csv: .*; write them with numpy\.savez"),
    ],
)
def test_wrong_options_are_named_with_their_values(artifact: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        loaded(artifact, options, PlayedTime())


def test_a_folder_has_a_profile_per_device_and_needs_no_such_device(tmp_path: Path) -> None:
    write(tmp_path / "cpu.csv", 20.0)
    write(tmp_path / "cuda.csv", 5.0)
    write(tmp_path / "cuda-a100.csv", 2.0)
    for device, mean_ms in (("cpu", 20.0), ("cuda", 5.0), ("cuda:1", 5.0), ("cuda-a100", 2.0), ("cuda-a100:1", 2.0)):
        assert emulated_profile(VARIANT, tmp_path, device).latency_ms(1, "mean_ms") == mean_ms
        create(VARIANT, tmp_path, RuntimeOptions(device)).load()


def test_a_profile_that_is_missing_is_named(tmp_path: Path) -> None:
    other = write(tmp_path / "cpu.csv", name="fast")
    with pytest.raises(ConfigError, match=r"'slow' has no rows in profile file .*cpu\.csv; add them"):
        create(VARIANT, other, RuntimeOptions()).load()
    with pytest.raises(ConfigError, match=r"cannot read profile file .*cuda\.csv"):
        create(VARIANT, tmp_path, RuntimeOptions("cuda")).load()


def test_it_claims_the_memory_that_it_is_told_to(artifact: Path) -> None:
    assert create(VARIANT, artifact, RuntimeOptions()).memory_bytes() == artifact.stat().st_size
    claims = replace(VARIANT, options={"memory_bytes": 7_000_000_000})
    assert create(claims, artifact, RuntimeOptions()).memory_bytes() == 7_000_000_000
    with pytest.raises(ArtifactError, match="cannot read artifact"):
        create(VARIANT, artifact.with_name("none.csv"), RuntimeOptions()).memory_bytes()


def test_a_variant_without_rows_is_told_of_a_command_that_there_is(tmp_path: Path) -> None:
    write(tmp_path / "cuda-a100.csv", name="other")
    with pytest.raises(
        ConfigError, match=r"`accord profile --catalogue CATALOGUE.yaml --device cuda --output FILE.csv`"
    ):
        emulated_profile(VARIANT, tmp_path, "cuda-a100")
