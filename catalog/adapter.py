"""Small pure functions between the stages of a pipeline, with the tensors that they take and give."""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

from catalog.errors import ConfigError
from catalog.tensor import TensorSpec


@dataclass(frozen=True)
class Adapter:
    """A function from tensors to tensors, which says what it takes and gives.

    ``function`` is called with one array per input, by name, and must neither change them nor keep them; it gives a
    mapping with an array for each of ``outputs``, all with the same number of rows, which may be another than that of
    its inputs, or none. An input is ``optional`` where the function has a default for it: it is left out where the
    stage that it comes from was skipped.
    """

    function: Callable[..., Any]
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    optional: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Where the function stands, as a config names it."""
        return f"{self.function.__module__}:{self.function.__qualname__}"

    def __call__(self, **tensors: Any) -> Any:
        """Call the function."""
        return self.function(**tensors)


@dataclass(frozen=True)
class Condition:
    """A function from tensors to whether a stage runs; see `Adapter` for its inputs."""

    function: Callable[..., Any]
    inputs: tuple[TensorSpec, ...]
    optional: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Where the function stands, as a config names it."""
        return f"{self.function.__module__}:{self.function.__qualname__}"

    def __call__(self, **tensors: Any) -> Any:
        """Call the function."""
        return self.function(**tensors)


def adapter(*, inputs: dict[str, str], outputs: dict[str, str]) -> Callable[[Callable[..., Any]], Adapter]:
    """Declare what a function between stages takes and gives, such as ``{"image": "FP32[-1,8,96]"}``.

    Raises `ConfigError` for a tensor that cannot be read, and for inputs that are not the function's parameters.
    """

    def declared(function: Callable[..., Any]) -> Adapter:
        takes = specs_of(inputs)
        return Adapter(function, takes, specs_of(outputs), _optional(function, takes))

    return declared


def condition(*, inputs: dict[str, str]) -> Callable[[Callable[..., Any]], Condition]:
    """Declare what a function that decides whether a stage runs takes; raises `ConfigError` as `adapter` does."""

    def declared(function: Callable[..., Any]) -> Condition:
        takes = specs_of(inputs)
        return Condition(function, takes, _optional(function, takes))

    return declared


def specs_of(tensors: dict[str, str]) -> tuple[TensorSpec, ...]:
    """Tensors written as ``DATATYPE[-1,n,...]``, by name; raises `ConfigError`."""
    found = []
    for name, written in tensors.items():
        datatype, bracket, axes = written.replace(" ", "").partition("[")
        try:
            if not bracket or not axes.endswith("]"):
                raise ValueError("it is not of the form DATATYPE[-1,n,...]")
            found.append(TensorSpec(name, datatype, tuple(int(axis) for axis in axes[:-1].split(","))))
        except ValueError as error:
            raise ConfigError(
                f"tensor {name!r} is declared as {written!r}: {error}; write for instance FP32[-1,64]"
            ) from error
    return tuple(found)


def _optional(function: Callable[..., Any], inputs: tuple[TensorSpec, ...]) -> frozenset[str]:
    parameters = signature(function).parameters
    names = [spec.name for spec in inputs]
    if sorted(names) != sorted(parameters):
        raise ConfigError(
            f"{function.__module__}:{function.__qualname__} declares the inputs {', '.join(names)} and has the "
            f"parameters {', '.join(parameters)}; give both the same names"
        )
    return frozenset(name for name in names if parameters[name].default is not Parameter.empty)
