"""A class of the user's as a variant: ``setup`` once, ``predict`` for every batch."""

import ctypes
import gc
import inspect
import sys
from collections.abc import Callable, Mapping
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from catalog.errors import AccordError, ArtifactError
from catalog.user_code.protocol import extras
from catalog.user_code.source import import_folder
from catalog.variant import Variant
from deployments.runtimes import base
from deployments.runtimes.base import RuntimeOptions, Tensors
from deployments.runtimes.user_code.containing import contained, ended, fault
from deployments.runtimes.user_code.coroutines import Coroutines
from deployments.runtimes.user_code.importing import check_methods, import_class, place_of


class PythonRuntime:
    """A `ModelRuntime` of a class with ``setup(device)`` and ``predict(inputs)``, either of which may be ``async``.

    The class is made with the variant's options as keyword arguments. ``setup`` also gets ``threads`` where it takes a
    parameter of that name. ``predict`` gets one read-only array per input, by name, whose first axis is the batch, and
    gives a dict with a new array per output. What its coroutines leave running goes on while later ones run.
    """

    def __init__(self, variant: Variant, artifact: Path, options: RuntimeOptions) -> None:
        self._variant = variant
        self._source = artifact
        self._folder = import_folder(artifact, variant.artifact.import_path or "")
        self._options = options
        self._texts = [spec.name for spec in variant.outputs if spec.datatype == "BYTES"]
        self._made: Any = None
        self._memory_bytes = variant.artifact.memory_bytes or 0
        self._coroutines: Coroutines | None = None

    def load(self) -> None:
        """See `ModelRuntime.load`; the errors name the line of the user's file."""
        _let_go()
        resident_bytes = psutil.Process().memory_info().rss
        try:
            self._made = self._set_up(import_class(self._variant, self._source))
            self._try()
        except Exception:
            self.unload()
            raise
        if self._variant.artifact.memory_bytes is None:
            self._memory_bytes = max(0, psutil.Process().memory_info().rss - resident_bytes)

    def run(self, inputs: Tensors) -> Tensors:
        """See `ModelRuntime.run`; what ``predict`` raises passes through."""
        made = base.require_loaded(self._variant, self._made)
        self._bound_threads()
        rows = len(next(iter(inputs.values())))
        try:  # not `contained`, which takes as long as all else here together
            given = made.predict({name: _read_only(array) for name, array in inputs.items()})
            if type(given) is not dict:
                given = self._result(given, "predict")
        except (Exception, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise ended("predict", error) from error
        return self._checked(given, rows, base.batch_length(self._variant, inputs))

    def unload(self) -> None:
        """See `ModelRuntime.unload`."""
        self._made = None
        if self._coroutines is not None:
            self._coroutines.close()
            self._coroutines = None
        if self._options.cuda_index is not None and "torch" in sys.modules:
            from deployments.runtimes.torch_device import release_cached

            release_cached(self._options)

    def memory_bytes(self) -> int:
        """See `ModelRuntime.memory_bytes`: what the catalogue says, else by how much the process grew; 0 before."""
        return self._memory_bytes

    def _set_up(self, user_class: type[Any]) -> Any:
        what = f"variant {self._variant.name!r}"
        try:
            with contained("making it"):
                made = user_class(**self._variant.options)
            check_methods(self._variant, made, self._folder)
            self._bound_threads()
            with contained("setup"):
                more = _extras(made.setup, self._options.threads)
                self._result(made.setup(self._options.device, **more), "setup")
        except AccordError:
            raise
        except Exception as error:
            raise ArtifactError(f"{what} cannot be set up: {fault(error, self._folder)}; correct it") from error
        return made

    def _try(self) -> None:
        rows = min(base.TRIAL_ROWS, self._variant.max_batch)
        try:
            self.run({spec.name: base.zeros(spec, rows) for spec in self._variant.inputs})
        except AccordError:
            raise
        except Exception as error:
            raise ArtifactError(
                f"variant {self._variant.name!r} failed its trial run on {rows} rows of zeros: "
                f"{fault(error, self._folder)}; predict must take any number of rows of "
                f"{base.expected(self._variant.inputs)}: correct it, or the inputs in the catalogue"
            ) from error

    def _result(self, given: Any, what: str) -> Any:
        """What a method gave, or what its coroutine gives."""
        if not inspect.isawaitable(given):
            return given
        if self._coroutines is None:
            self._coroutines = Coroutines(self._bound_threads)
        return self._coroutines.result(given, what)

    def _checked(self, given: Any, rows: int, length: int) -> Tensors:
        if not isinstance(given, Mapping):
            raise self._wrong(f"a {type(given).__name__} instead of a dict with an array per output")
        outputs = {name: _plain(array) for name, array in given.items()}
        found = base.other_outputs(self._variant, outputs, rows, length)
        if found is not None:
            raise self._wrong(found)
        for name in self._texts:
            odd = {type(value).__name__ for value in outputs[name].flat if type(value) not in (str, bytes)}
            if odd:
                raise self._wrong(f"{name} with {', '.join(sorted(odd))} in it, where BYTES are str or bytes")
        return outputs

    def _wrong(self, given: str) -> ArtifactError:
        place = place_of(self._made.predict, self._folder)
        return ArtifactError(
            f"variant {self._variant.name!r} should give {base.expected(self._variant.outputs)}, but its predict gives "
            f"{given}; correct {place}, or the outputs in the catalogue"
        )

    def _bound_threads(self) -> None:
        """OpenMP keeps the bound per calling thread, so that every run sets it."""
        if "torch" in sys.modules:
            from deployments.runtimes.torch_device import use_threads

            use_threads(self._options.threads)


def _extras(setup: Callable[..., Any], threads: int) -> dict[str, Any]:
    try:
        return extras("setup", signature(setup), threads)
    except (TypeError, ValueError):  # of a C extension
        return {}


def _read_only(array: Any) -> Any:
    """Large arrays come read-only out of shared memory; small ones are to be no different."""
    view = array.view()
    view.setflags(write=False)
    return view


def _plain(value: Any) -> Any:
    """Without classes of the user's, which whoever reads the answer would have to import."""
    if not isinstance(value, np.ndarray):
        return value
    plain = np.asarray(value)
    kind = plain.dtype.kind
    if kind == "U":
        return plain.astype(object)
    return np.frompyfunc(_plain_text, 1, 1)(plain) if kind == "O" else plain


def _plain_text(value: Any) -> Any:
    return str(value) if isinstance(value, str) else value


def _let_go() -> None:
    """Give the system what is free already: let go of during a load, or filled by it, it would hide what that takes."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc
    if trim is not None:
        trim(ctypes.c_size_t(0))
