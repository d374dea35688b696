"""What variants say of labelled examples, through the runtimes that serve them, and how long one row takes them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from catalog.errors import ConfigError
from catalog.profiles.profile_cache import cache_dir
from catalog.store import FsspecStore
from catalog.tensor import Arrays
from catalog.variant import Variant
from deployments.runtimes.base import ModelRuntime, RuntimeOptions, Tensors
from deployments.runtimes.making import make_runtime
from deployments.worker.evaluation import BATCH_SIZE, row_latency_ms, rows_of

MOST_PACKED = 10
"""Largest packing factor."""

OnProgress = Callable[[str, float], object]
"""Called with the variant in hand and the share, 0 to 1, of all the work that is done."""


@dataclass(frozen=True)
class MemberRecord:
    """What one variant did."""

    votes: NDArray[np.int64]
    """Class index per example."""
    latency_ms: float
    """Median time of one row alone, in milliseconds."""


def recorded(
    variants: Iterable[Variant], root: str, inputs: Arrays, threads: int, on_progress: OnProgress
) -> dict[str, MemberRecord]:
    """Run every example through every variant on the CPU; variant name to what it did.

    ``inputs`` are stacked examples by input name; ``root`` is where relative artifacts start from. Raises
    `ConfigError` for a variant that gives no class, and `ArtifactError` for one that cannot be loaded or run.
    """
    given = tuple(variants)
    store = FsspecStore(root, cache_dir())
    records = {}
    for done, variant in enumerate(given):
        on_progress(variant.name, done / len(given))
        runtime = make_runtime(variant, store, RuntimeOptions(threads=threads))
        runtime.load()
        try:
            records[variant.name] = MemberRecord(
                _votes(variant, runtime, inputs), row_latency_ms(variant.name, runtime, inputs)
            )
        finally:
            runtime.unload()
    return records


def packing_factors(latency_ms: dict[str, float]) -> dict[str, int]:
    """How many inferences of each member fit at once into one worker, by the time that the slowest one takes.

    A stand-in for a measurement of inferences that run side by side: the slowest member's latency over the member's
    own, rounded down, from 1 to `MOST_PACKED`.
    """
    slowest_ms = max(latency_ms.values())
    return {name: max(1, min(MOST_PACKED, int(slowest_ms / own_ms))) for name, own_ms in latency_ms.items()}


def _votes(variant: Variant, runtime: ModelRuntime, inputs: Arrays) -> NDArray[np.int64]:
    count = len(next(iter(inputs.values())))
    size = min(BATCH_SIZE, variant.max_batch)
    parts = [_classes(variant, runtime.run(rows_of(inputs, start, size))) for start in range(0, count, size)]
    return np.concatenate(parts)


def _classes(variant: Variant, outputs: Tensors) -> NDArray[np.int64]:
    """The class index of each row: output ``label``, else where ``probabilities`` are highest."""
    shapes = {spec.name: (spec.datatype, len(spec.shape)) for spec in variant.outputs}
    if shapes.get("label") == ("INT64", 1):
        return np.asarray(outputs["label"], dtype=np.int64)
    if shapes.get("probabilities", ("", 0))[1] == 2:
        return np.asarray(outputs["probabilities"].argmax(1), dtype=np.int64)
    given = ", ".join(f"{spec.name} {spec.datatype} {list(spec.shape)}" for spec in variant.outputs)
    raise ConfigError(
        f"variant {variant.name!r} gives {given}; votes need an output label INT64 [-1] or probabilities [-1, classes]"
    )
