"""A variant that runs no model: it takes the time that a latency profile says, and holds no core while it does."""

import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from catalog.errors import ConfigError
from catalog.faults import describe
from catalog.profiles.profile import LatencyProfile
from catalog.profiles.profile_csv import read_profiles
from catalog.variant import Variant
from deployments.runtimes import base
from deployments.runtimes.base import RuntimeOptions, Tensors
from deployments.runtimes.emulated_outputs import EmulatedOutputs, read_recorded
from deployments.runtimes.factor_file import FactorFile
from deployments.runtimes.run_times import Distribution, RunTimes

WAKE_EARLY_S = 1e-4
"""A thread that sleeps wakes up to about so much late; the rest of a run is waited for awake."""


class EmulatedOptions(BaseModel):
    """``options`` of an emulated variant; paths are relative to the folder of its artifact.

    ``distribution`` and ``seed`` are of the run times (`RunTimes`). ``outputs`` names a .npz file of recorded outputs,
    None for zeros; ``factor_file`` a `FactorFile`, None for none. ``memory_bytes`` is what the variant claims to take,
    None for the size of its artifact.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    distribution: Distribution = "quantiles"
    seed: int = Field(default=0, ge=0)
    outputs: str | None = None
    factor_file: str | None = None
    memory_bytes: int | None = Field(default=None, ge=0)


def emulated_options(variant: Variant) -> EmulatedOptions:
    """The options of a variant; raises `ConfigError` naming the option and the value that are wrong."""
    try:
        return EmulatedOptions.model_validate(variant.options)
    except ValidationError as error:
        raise ConfigError(f"variant {variant.name!r}, options: {describe(error, EmulatedOptions)}") from error


def emulated_profile(variant: Variant, artifact: Path, device: str) -> LatencyProfile:
    """The profile that a variant follows on a device: its rows in the artifact (`catalog.profiles.profile_csv`).

    Of an artifact that is a folder it is the file of the device's name, such as ``cpu.csv`` or ``cuda-a100.csv``.
    Raises `ConfigError` where there is no such file or no row of the variant.
    """
    kind = device.partition(":")[0]
    path = artifact / f"{kind}.csv" if artifact.is_dir() else artifact
    profiled = read_profiles(path, kind).get(variant.name)
    if profiled is None:
        raise ConfigError(
            f"variant {variant.name!r} has no rows in profile file {path}; add them, measured with `accord profile "
            f"--catalogue CATALOGUE.yaml --device {kind.partition('-')[0]} --output FILE.csv` where the model runs, or "
            "name another artifact"
        )
    return profiled.profile


class EmulatedRuntime:
    """A `ModelRuntime` that needs no device. The seed, the variant and the worker decide on its run times.

    ``clock`` gives seconds, ``sleep`` waits for so many of them.
    """

    def __init__(
        self,
        variant: Variant,
        artifact: Path,
        options: RuntimeOptions,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._variant = variant
        self._artifact = artifact
        self._options = options
        self._own = emulated_options(variant)
        self._rule = variant.length_rule
        self._clock = clock
        self._sleep = sleep
        self._loaded: _Loaded | None = None
        self._file_bytes: int | None = None

    def load(self) -> None:
        """See `ModelRuntime.load`; the trial takes no time."""
        profile = emulated_profile(self._variant, self._artifact, self._options.device)
        folder = self._artifact if self._artifact.is_dir() else self._artifact.parent
        own, worker = self._own, self._options.worker
        self._file_bytes = base.artifact_bytes(self._artifact)
        recorded = None if own.outputs is None else read_recorded(self._variant, folder / own.outputs)
        factor = None if own.factor_file is None else FactorFile(folder / own.factor_file, worker)
        if factor is not None:
            factor.read()  # what is wrong with it is to be seen now
        seeds = (own.seed, zlib.crc32(self._variant.name.encode()), zlib.crc32(worker.encode()))
        rng = np.random.default_rng(seeds)
        of_lengths = profile.by_length or {0: profile}
        run_times = {length: RunTimes(each, own.distribution, rng) for length, each in sorted(of_lengths.items())}
        self._loaded = _Loaded(run_times, EmulatedOutputs(self._variant, recorded), factor)

    def run(self, inputs: Tensors) -> Tensors:
        """See `ModelRuntime.run`; returns when the time is over."""
        begun_s = self._clock()
        loaded = base.require_loaded(self._variant, self._loaded)
        rows = len(next(iter(inputs.values())))
        run_s = self._run_times(loaded, inputs).draw_s(rows) * (
            1.0 if loaded.factor is None else loaded.factor.factor()
        )
        outputs = loaded.outputs.rows(inputs)
        self._wait_until(begun_s + run_s)
        return outputs

    def unload(self) -> None:
        """See `ModelRuntime.unload`."""
        self._loaded = self._file_bytes = None

    def memory_bytes(self) -> int:
        """See `ModelRuntime.memory_bytes`: what the options claim, else the size of the artifact."""
        if self._own.memory_bytes is not None:
            return self._own.memory_bytes
        return base.artifact_bytes(self._artifact) if self._file_bytes is None else self._file_bytes

    def _run_times(self, loaded: "_Loaded", inputs: Tensors) -> RunTimes:
        """Those of the shortest profiled length that the batch is not longer than, else of the longest."""
        length = 0 if self._rule is None else self._rule.length_of(inputs)
        longest = max(loaded.run_times)
        return loaded.run_times[min((each for each in loaded.run_times if each >= length), default=longest)]

    def _wait_until(self, end_s: float) -> None:
        while (left_s := end_s - self._clock()) > 0:
            if left_s > WAKE_EARLY_S:
                self._sleep(left_s - WAKE_EARLY_S)


class _Loaded(NamedTuple):
    run_times: dict[int, RunTimes]  # by length, ascending
    outputs: EmulatedOutputs
    factor: FactorFile | None
