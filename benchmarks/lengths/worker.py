"""A worker with the model, in a process of its own as workers of the service are, and what runs in it."""

import time
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import torch

from benchmarks.lengths.model import variant
from catalog.lengths import Lengths
from catalog.profiles.profile import LatencyProfile
from catalog.profiles.profiler import profile_lengths, profile_variant, sample_of
from deployments.runtimes.base import RuntimeOptions, Tensors
from deployments.runtimes.transformers_runtime import TransformersRuntime

DEVICE = "cpu"
SIZES = (1, 4, 16, 32)

_loaded: list[TransformersRuntime] = []
"""The model of this process."""


class ToMaximum(TransformersRuntime):
    """Pads every text to the longest that there may be, as a model with an input of one size needs it."""

    def load(self) -> None:
        """See `ModelRuntime.load`."""
        super().load()
        tokenizer = self._tokenizer

        def padded(texts: list[str], *, padding: bool, **options: Any) -> Any:
            return tokenizer(texts, padding="max_length" if padding else False, **options)

        self._tokenizer = padded


class Ran(NamedTuple):
    """What a run gave, its seconds by the clock, and its seconds of processor time."""

    outputs: dict[str, Any]
    run_s: float
    cpu_s: float


def worker(kind: type[TransformersRuntime], folder: Path, lengths: Lengths) -> Executor:
    """A process that has loaded the model, which runs one thing at a time."""
    return ProcessPoolExecutor(1, get_context("spawn"), load, (kind, folder, lengths))


def load(kind: type[TransformersRuntime], folder: Path, lengths: Lengths) -> None:
    """Load the model into this process, on one thread."""
    torch.set_num_threads(1)
    runtime = kind(variant(1, lengths), folder, RuntimeOptions())
    runtime.load()
    _loaded[:] = [runtime]


def run(inputs: Tensors) -> Ran:
    """Run a batch on the model of this process."""
    begun_s, begun_cpu_s = time.perf_counter(), time.thread_time()
    outputs = _loaded[0].run(inputs)
    return Ran(dict(outputs), time.perf_counter() - begun_s, time.thread_time() - begun_cpu_s)


def profile(lengths: Lengths, max_batch: int, budget_s: float, by_length: bool) -> LatencyProfile:
    """What batches take on the model of this process, by rows, or by rows and length."""
    own = variant(max_batch, lengths)

    def once(length: int | None, rows: int) -> None:
        inputs: Tensors = dict(sample_of(own, rows, length))
        _loaded[0].run(inputs)

    if by_length:
        return profile_lengths(once, DEVICE, budget_s, lengths, max_batch)
    return profile_variant(partial(once, None), DEVICE, budget_s, [size for size in SIZES if size <= max_batch])
