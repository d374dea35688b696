"""What variants answer to labelled examples, through the runtimes that serve them: kept, so that a run can go on."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from catalog.artifacts.rules import ArtifactRules
from catalog.errors import AccordError, ArtifactError
from catalog.evaluation.accuracy_file import fingerprint
from catalog.profiles.profile_cache import cache_dir
from catalog.store import NO_MORE, FsspecStore
from catalog.tensor import Arrays
from catalog.variant import Variant
from deployments.runtimes.base import ModelRuntime, RuntimeOptions, reason
from deployments.runtimes.making import make_runtime
from deployments.state.durable_file import write_durably
from deployments.worker.kept_answers import chunk_path, folder_name, forget, load_chunk, save_chunk

CHUNK_ROWS = 512
"""So many rows at a time are kept: what is lost when a run is broken off."""

BATCH_SIZE = 32
TIMED_ROWS = 100
"""Rows that are run alone, for the latency of one row."""

KEY, LATENCY = "key.json", "latency.json"

OnShare = Callable[[float], object]
"""Called with the share, 0 to 1, of the work that is done."""


@dataclass(frozen=True)
class Answers:
    """The stacked ``outputs`` of one variant, ``kept_rows`` of them kept; ``latency_ms`` is the median of one row."""

    outputs: Arrays
    latency_ms: float
    kept_rows: int = 0


class Evaluation:
    """Runs the examples ``inputs``, whose content ``key`` stands for, and keeps what came out below ``folder``.

    ``root`` is where relative artifacts start from, and ``rules`` say which may be had. What was kept of another model,
    other options, other tensors or other data is replaced.
    """

    def __init__(
        self,
        root: str,
        inputs: Arrays,
        key: str,
        folder: Path,
        options: RuntimeOptions,
        batch: int = BATCH_SIZE,
        rules: ArtifactRules = NO_MORE,
    ) -> None:
        self._root = root
        self._inputs = inputs
        self._rows = len(next(iter(inputs.values())))
        self._key = key
        self._folder = folder
        self._options = options
        self._batch = batch
        self._store = FsspecStore(root, cache_dir(), rules)

    def answers(self, variant: Variant, on_share: OnShare, *, again: bool = False) -> Answers:
        """Run what is not there yet, all with ``again``.

        Raises `ArtifactError` or `ConfigError` for a variant that cannot be loaded or run.
        """
        folder = self._folder / folder_name(variant.name)
        if again or not self._same(folder, variant):
            self._begin(folder, variant)
        starts = range(0, self._rows, CHUNK_ROWS)
        parts = {start: load_chunk(chunk_path(folder, start)) for start in starts}
        missing = [start for start, part in parts.items() if part is None]
        latency_ms = _kept_latency_ms(folder)
        if missing or latency_ms is None:
            runtime = make_runtime(variant, self._store, self._options)
            runtime.load()
            try:
                for done, start in enumerate(missing):
                    on_share(done / len(missing))
                    parts[start] = found = self._chunk(runtime, variant, start)
                    save_chunk(chunk_path(folder, start), found)
                latency_ms = row_latency_ms(variant.name, runtime, self._inputs)
            finally:
                runtime.unload()
            write_durably(folder / LATENCY, json.dumps({"latency_ms": latency_ms}).encode())
        on_share(1.0)
        whole = [part for part in parts.values() if part is not None]
        outputs = {spec.name: np.concatenate([part[spec.name] for part in whole]) for spec in variant.outputs}
        kept_rows = self._rows - sum(min(CHUNK_ROWS, self._rows - start) for start in missing)
        return Answers(outputs, latency_ms, kept_rows)

    def _same(self, folder: Path, variant: Variant) -> bool:
        try:
            return bool(json.loads((folder / KEY).read_text(encoding="utf-8")) == self._facts(variant))
        except (OSError, ValueError):
            return False

    def _facts(self, variant: Variant) -> dict[str, object]:
        threads = [self._options.device, self._options.threads]
        tensors = [[spec.oip() for spec in specs] for specs in (variant.inputs, variant.outputs)]
        of = fingerprint(variant, self._root)
        return {"of": of, "tensors": tensors, "data": self._key, "rows": self._rows, "on": threads}

    def _begin(self, folder: Path, variant: Variant) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        forget(folder)
        (folder / LATENCY).unlink(missing_ok=True)
        write_durably(folder / KEY, json.dumps(self._facts(variant)).encode())

    def _chunk(self, runtime: ModelRuntime, variant: Variant, start: int) -> Arrays:
        """The outputs of the rows from ``start`` on, `CHUNK_ROWS` at most."""
        end = min(start + CHUNK_ROWS, self._rows)
        size = min(self._batch, variant.max_batch)
        parts = []
        for first in range(start, end, size):
            count = min(size, end - first)
            try:
                parts.append(_as_text(runtime.run(rows_of(self._inputs, first, count))))
            except AccordError:
                raise
            except Exception as error:  # of the library, or of the user's class
                rows = f"rows {first + 1} to {first + count} of the data"
                raise ArtifactError(f"variant {variant.name!r} fails on {rows}: {reason(error)}") from error
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def row_latency_ms(variant: str, runtime: ModelRuntime, inputs: Arrays) -> float:
    """The median time of one row alone, of the first `TIMED_ROWS`; raises `ArtifactError` where one fails."""
    count = len(next(iter(inputs.values())))
    taken_s = []
    for index in range(min(TIMED_ROWS, count)):
        row = rows_of(inputs, index, 1)
        started_s = time.perf_counter()
        try:
            runtime.run(row)
        except AccordError:
            raise
        except Exception as error:  # of the library, or of the user's class
            words = f"variant {variant!r} fails on row {index + 1} of the data alone: {reason(error)}"
            raise ArtifactError(words) from error
        taken_s.append(time.perf_counter() - started_s)
    return 1e3 * float(np.median(taken_s))


def rows_of(inputs: Arrays, start: int, count: int) -> Arrays:
    """So many rows of all inputs."""
    return {name: array[start : start + count] for name, array in inputs.items()}


def _kept_latency_ms(folder: Path) -> float | None:
    """What was measured of one row; None where that is not there, or was cut off."""
    try:
        return float(json.loads((folder / LATENCY).read_text(encoding="utf-8"))["latency_ms"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _as_text(outputs: Arrays) -> Arrays:
    """Texts as str; raises ValueError for bytes that are none."""
    return {name: _decoded(name, array) if array.dtype == object else array for name, array in outputs.items()}


def _decoded(name: str, array: Any) -> Any:
    try:
        texts = [each.decode() if isinstance(each, bytes) else str(each) for each in array.ravel()]
    except UnicodeDecodeError as error:
        raise ValueError(f"output {name!r} has bytes that are no UTF-8, and what is evaluated are texts") from error
    return np.array(texts, dtype=object).reshape(array.shape)
