"""What variants that ONNX Runtime runs take of a GPU: a session takes more there than its weights."""

from pathlib import Path

from catalog.variant import Variant
from deployments.runtimes import base
from deployments.runtimes.onnx.sized_sessions import has_convolutions, sizes_up_to

SESSION_BYTES = 150_000_000
"""What a session takes beside its weights, mostly room for cuBLAS to work in (measured on an H200)."""

SIZED_SESSION_BYTES = 20_000_000
"""The same of each of several sessions for batches of one size, which have less of it."""

RUNTIMES = ("onnx", "text")


def session_sizes(variant: Variant, file: Path) -> tuple[int, ...] | None:
    """The sizes of batches that have a session each on a GPU; None where one session runs all of them."""
    one_shape = all(spec.length_axis is None for spec in variant.inputs)
    if variant.runtime != "onnx" or not one_shape or not file.is_file() or not has_convolutions(file):
        return None
    return sizes_up_to(variant.max_batch)


def gpu_bytes(variant: Variant, artifact: Path) -> int:
    """The least that a variant takes of a GPU's memory once it is loaded; of other runtimes the size of its files."""
    file_bytes = base.artifact_bytes(artifact)
    if variant.runtime not in RUNTIMES:
        return file_bytes
    sizes = session_sizes(variant, artifact)
    return file_bytes + SESSION_BYTES if sizes is None else len(sizes) * (file_bytes + SIZED_SESSION_BYTES)
