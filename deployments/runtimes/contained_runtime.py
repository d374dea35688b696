"""A runtime of which nothing comes out that would end whoever runs it."""

from catalog.errors import ArtifactError
from catalog.variant import Variant
from deployments.runtimes.base import ModelRuntime, Tensors, reason


class Panicked(RuntimeError):
    """A library raised what passes by ``except Exception``, as those in Rust do with `PanicException`."""


class ContainedRuntime:
    """A `ModelRuntime` around another one: what that raises is an exception, or the person's Ctrl-C."""

    def __init__(self, variant: Variant, runtime: ModelRuntime) -> None:
        self._variant = variant
        self._runtime = runtime

    def load(self) -> None:
        """See `ModelRuntime.load`."""
        try:
            self._runtime.load()
        except (Exception, KeyboardInterrupt):
            raise
        except BaseException as error:
            self._runtime.unload()
            raise ArtifactError(
                f"variant {self._variant.name!r} cannot be loaded: {reason(error)}; correct the artifact, or what it "
                "needs"
            ) from error

    def run(self, inputs: Tensors) -> Tensors:
        """See `ModelRuntime.run`."""
        try:
            return self._runtime.run(inputs)
        except (Exception, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise Panicked(reason(error)) from error

    def unload(self) -> None:
        """See `ModelRuntime.unload`."""
        self._runtime.unload()

    def memory_bytes(self) -> int:
        """See `ModelRuntime.memory_bytes`."""
        return self._runtime.memory_bytes()
