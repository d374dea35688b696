"""From a variant to its runtime: its artifact is fetched first, or those of all its members."""

from catalog.store import FsspecStore
from catalog.variant import STACKED, Variant
from deployments.runtimes.base import ModelRuntime, RuntimeOptions
from deployments.runtimes.contained_runtime import ContainedRuntime
from deployments.runtimes.registry import create
from deployments.runtimes.stacked_runtime import StackedRuntime, members_of


def make_runtime(variant: Variant, store: FsspecStore, options: RuntimeOptions) -> ModelRuntime:
    """The runtime of a variant, not yet loaded; raises `ArtifactError` or `ConfigError`."""
    if variant.runtime == STACKED:
        return StackedRuntime(variant, [make_runtime(member, store, options) for member in members_of(variant)])
    return ContainedRuntime(variant, create(variant, store.fetch(variant.artifact), options))
