"""Measures how long a variant takes per batch size."""

import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from catalog.errors import ConfigError
from catalog.lengths import Lengths
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.tensor import DTYPES, TensorSpec
from catalog.texts.token_estimate import SPECIAL_TOKENS
from catalog.variant import Variant

BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64)
"""Batch sizes measured unless others are asked for."""

SAMPLE_WORDS = 20
"""Words of a sample text, each about 1.1 tokens of usual vocabularies."""

_VOCABULARY = """the a of and to is in it that as but with film its this for an movie be on you by not one more
has are at from than all his so if or story some good work time even what when their best characters never little way"""

FEW_BATCH_SIZES = (1, 4, 16, 64)
"""Batch sizes that lengths other than the typical one are measured with."""

LENGTHS_MEASURED = 5

LARGEST_BATCHES = 2

_WARMUP_RUNS = 3
_MIN_SAMPLES = 20
_STABLE_FRAC = 0.05


def profile_variant(
    run: Callable[[int], float | None],
    device: str,
    budget_s: float,
    batch_sizes: Sequence[int] = BATCH_SIZES,
    clock: Callable[[], float] = time.perf_counter,
    on_progress: Callable[[int, BatchLatency], None] | None = None,
) -> LatencyProfile:
    """Time ``run(batch_size)``, which must run one stacked batch to its end, until the latencies are known.

    Each batch size ends when its 95th percentile changed by less than 5 % while the samples doubled, or when its
    share of ``budget_s`` (equal parts of what is left) is spent; it has at least one sample in any case. ``clock``
    gives seconds. A ``run`` that had to wait for its turn returns the seconds that count, without the wait.
    ``on_progress`` hears of every finished batch size. Errors of ``run`` pass through.
    """
    if not batch_sizes:
        raise ConfigError("no batch sizes to profile; give at least one")
    ends_at_s = clock() + budget_s
    by_batch: dict[int, BatchLatency] = {}
    for position, batch_size in enumerate(batch_sizes):
        now_s = clock()
        share_s = (ends_at_s - now_s) / (len(batch_sizes) - position)
        by_batch[batch_size] = BatchLatency.of(_measure(run, batch_size, now_s + share_s, clock))
        if on_progress is not None:
            on_progress(batch_size, by_batch[batch_size])
    return LatencyProfile(device, by_batch)


def _measure(
    run: Callable[[int], float | None], batch_size: int, ends_at_s: float, clock: Callable[[], float]
) -> NDArray[np.float64]:
    """Durations in seconds of runs after warm-up."""
    for _ in range(_WARMUP_RUNS):
        run(batch_size)
        if clock() >= ends_at_s:
            break
    samples_s: list[float] = []
    check_at, last_p95_s = _MIN_SAMPLES, np.inf
    while True:
        started_s = clock()
        counted_s = run(batch_size)
        finished_s = clock()
        samples_s.append(finished_s - started_s if counted_s is None else counted_s)
        if len(samples_s) == check_at:
            p95_s = float(np.percentile(samples_s, 95))
            if abs(p95_s - last_p95_s) <= _STABLE_FRAC * last_p95_s < np.inf:
                break
            check_at, last_p95_s = 2 * check_at, p95_s
        if finished_s >= ends_at_s:
            break
    return np.array(samples_s)


def profile_lengths(
    run: Callable[[int, int], float | None],
    device: str,
    budget_s: float,
    lengths: Lengths,
    max_batch: int,
    clock: Callable[[], float] = time.perf_counter,
    on_progress: Callable[[float], None] | None = None,
) -> LatencyProfile:
    """The same over lengths: ``run(length, batch_size)``. The typical one gets half of the budget and all batch sizes.

    The other lengths are `measured_lengths`, with a few batch sizes each, so that no batch has more than
    `LARGEST_BATCHES` times as much in it as the largest of the typical length. ``on_progress`` hears the share that is
    done.
    """
    typical = lengths.typical_length
    others = measured_lengths(lengths)
    sizes = {typical: [size for size in BATCH_SIZES if size <= max_batch]}
    most = LARGEST_BATCHES * sizes[typical][-1] * typical
    sizes |= {
        length: [size for size in FEW_BATCH_SIZES if size <= max_batch and size * length <= max(most, length)]
        for length in others
    }
    steps, done = sum(map(len, sizes.values())), 0

    def finished(*_: object) -> None:
        nonlocal done
        done += 1
        if on_progress is not None:
            on_progress(done / steps)

    found = {}
    for length, own in sizes.items():
        share_s = budget_s * (0.5 if length == typical else 0.5 / len(others))
        measured = profile_variant(partial(run, length), device, share_s, own, clock, finished)
        found[length] = measured.by_batch
    return LatencyProfile.of_lengths(device, typical, found)


def measured_lengths(lengths: Lengths) -> tuple[int, ...]:
    """Beside the typical length: the longest, and down from there by halves, `LENGTHS_MEASURED` at most."""
    halves = {max(1, lengths.longest >> step) for step in range(LENGTHS_MEASURED)}
    return tuple(sorted(halves - {lengths.typical_length}))


def sample_of(variant: Variant, batch_size: int, length: int | None = None) -> dict[str, NDArray[np.generic]]:
    """`sample_inputs` of a variant, of its typical length unless another one is asked for."""
    rule = variant.length_rule
    if rule is None:
        return sample_inputs(variant.inputs, batch_size, seed=0)
    specs = [spec for spec in variant.inputs if spec.name not in rule.optional]
    return rule.with_mask(sample_inputs(specs, batch_size, 0, length or rule.lengths.typical_length))


def sample_inputs(
    specs: Sequence[TensorSpec], batch_size: int, seed: int, length: int | None = None
) -> dict[str, NDArray[np.generic]]:
    """Valid random inputs for a variant: input name to an array [batch_size, *item_shape], of ``length`` where any is.

    Floats are in [0, 1), integers are 0 or 1 (small enough for any vocabulary), BYTES are texts of `SAMPLE_WORDS`
    common English words, about a sentence of a review: a model of text takes the longer, the longer its texts are. With
    a ``length`` they have as many tokens, nearly.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    words = SAMPLE_WORDS if length is None else max(1, length - SPECIAL_TOKENS)
    return {spec.name: _sample(spec, (batch_size, *spec.item_shape_at(length or 1)), words, rng) for spec in specs}


def _sample(spec: TensorSpec, shape: tuple[int, ...], words: int, rng: np.random.Generator) -> NDArray[np.generic]:
    dtype = DTYPES[spec.datatype]
    if spec.datatype == "BYTES":
        drawn = rng.choice(_VOCABULARY.split(), (*shape, words)).reshape(-1, words)
        texts = np.array([" ".join(each) for each in drawn], dtype=object)
        return texts.reshape(shape)
    if dtype.kind == "f":
        return rng.random(shape).astype(dtype)
    return rng.integers(0, 2, shape).astype(dtype)
