"""Variants as they are measured beside others: through the runtimes that serve them, on sample inputs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from catalog.artifacts.rules import ArtifactRules
from catalog.errors import AccordError
from catalog.profiles import profile_cache
from catalog.profiles.profiler import sample_of
from catalog.store import NO_MORE, FsspecStore
from catalog.variant import Variant
from deployments.runtimes.base import ModelRuntime, RuntimeOptions, not_measurable
from deployments.runtimes.making import make_runtime


@dataclass(frozen=True)
class RuntimeProgram:
    """A `predictor.measure.program.Program`: one variant in its runtime, loaded."""

    variant: Variant
    runtime: ModelRuntime

    def batch_of(self, rows: int) -> Callable[[], object]:
        """See `Program.batch_of`; the same sample inputs each time. Raises `ArtifactError` where it cannot be run."""
        inputs = sample_of(self.variant, rows)

        def batch() -> object:
            try:
                return self.runtime.run(inputs)
            except AccordError:
                raise
            except Exception as error:
                raise not_measurable(self.variant, error) from error

        return batch

    def memory_bytes(self) -> int:
        """See `Program.memory_bytes`."""
        return self.runtime.memory_bytes()

    def unload(self) -> None:
        """See `Program.unload`."""
        self.runtime.unload()


@dataclass(frozen=True)
class RuntimePrograms:
    """`predictor.measure.program.Programs` of catalogues: by name, each variant with the root of its artifact.

    ``rules`` say which artifacts may be had from elsewhere.
    """

    variants: Mapping[str, tuple[Variant, str]]
    options: RuntimeOptions
    rules: ArtifactRules = NO_MORE

    def artifact(self, variant: str) -> Path:
        """The local file or folder of a variant; raises `ArtifactError`."""
        found, root = self.variants[variant]
        return self._store(root).fetch(found.artifact)

    def prepare(self, variant: str) -> None:
        """See `Programs.prepare`; raises `ArtifactError` or `ConfigError`."""
        self._runtime(variant)

    def load(self, variant: str) -> RuntimeProgram:
        """See `Programs.load`; raises `ArtifactError` or `ConfigError`."""
        runtime = self._runtime(variant)
        runtime.load()
        return RuntimeProgram(self.variants[variant][0], runtime)

    def _runtime(self, variant: str) -> ModelRuntime:
        """A library is imported when one of its runtimes is made."""
        found, root = self.variants[variant]
        return make_runtime(found, self._store(root), self.options)

    def _store(self, root: str) -> FsspecStore:
        return FsspecStore(root, profile_cache.cache_dir(), self.rules)
