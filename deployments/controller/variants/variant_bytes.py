"""How much memory variants take of a worker, as far as that is known beforehand."""

from catalog.artifacts.rules import ArtifactRules
from catalog.errors import ConfigError
from catalog.profiles.profile_cache import cache_dir
from catalog.store import NO_MORE, FsspecStore
from catalog.variant import PYTHON, STACKED, Variant
from deployments.runtimes import base
from deployments.runtimes.emulated_runtime import emulated_options
from deployments.runtimes.onnx.gpu_memory import gpu_bytes
from deployments.runtimes.stacked_runtime import members_of


def artifact_bytes(variant: Variant, root: str, rules: ArtifactRules = NO_MORE, *, on_gpu: bool = False) -> int | None:
    """The least that the variant takes of a worker's memory: the size of its files; fetches them; blocks.

    With ``on_gpu`` what it takes of a GPU, of which sessions have more than their weights (docs/gpus.md).
    An emulated variant may claim another size; a class takes what its ``memory_bytes`` says, None where it is silent.
    """
    if variant.emulated and (claimed := emulated_options(variant).memory_bytes) is not None:
        return claimed
    if variant.runtime == STACKED:
        sizes = [artifact_bytes(member, root, rules, on_gpu=on_gpu) for member in members_of(variant)]
        return None if None in sizes else sum(size or 0 for size in sizes)
    if variant.runtime == PYTHON:
        return variant.artifact.memory_bytes
    path = FsspecStore(root, cache_dir(), rules).fetch(variant.artifact)
    return gpu_bytes(variant, path) if on_gpu else base.artifact_bytes(path)


def size_unknown(variant: Variant) -> ConfigError:
    """The error of a variant that nobody says the size of, where a pool limits what its workers load."""
    return ConfigError(
        f"variant {variant.name!r}: a pool has memory_bytes, and nobody knows beforehand what a class takes; give "
        "artifact.memory_bytes, as `accord status --json` says of a worker that holds it alone"
    )
