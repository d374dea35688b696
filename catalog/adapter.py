"""Small pure functions between the stages of a pipeline, with the tensors that they take and give."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from importlib import import_module
from inspect import Parameter, isasyncgenfunction, iscoroutinefunction, signature
from sys import modules
from typing import Any

from pydantic import ValidationError

from catalog.errors import ConfigError
from catalog.faults import describe, nearest
from catalog.tensor import TensorSpec
from catalog.user_code.raised import text_of


@dataclass(frozen=True, kw_only=True)
class Declared:
    """A function that says which tensors it takes.

    ``function`` is called with one array per input, by name, and must neither change them nor keep them. An input is
    ``optional`` where the function has a default for it: it is left out where the stage that it comes from was skipped.
    """

    function: Callable[..., Any]
    inputs: tuple[TensorSpec, ...]
    optional: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Where the function stands, as a config names it."""
        return _name_of(self.function)

    def __call__(self, **tensors: Any) -> Any:
        """Call the function."""
        return self.function(**tensors)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel between processes by the name that it is found under, like a plain function; else by its fields."""
        module_name, _, attributes = self.name.partition(":")
        found: Any = modules.get(module_name)
        for attribute in attributes.split("."):
            found = getattr(found, attribute, None)
        if found is self:
            return import_function, (self.name,)
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return partial(type(self), **values), ()


@dataclass(frozen=True, kw_only=True)
class Adapter(Declared):
    """A function from tensors to tensors.

    It gives a mapping with an array for each of ``outputs``, all with the same number of rows, which may be another
    than that of its inputs, or none.
    """

    outputs: tuple[TensorSpec, ...]


@dataclass(frozen=True, kw_only=True)
class Condition(Declared):
    """A function from tensors to whether a stage runs."""


def adapter(*, inputs: dict[str, str], outputs: dict[str, str]) -> Callable[[Callable[..., Any]], Adapter]:
    """Declare what a function between stages takes and gives, such as ``{"image": "FP32[-1,8,96]"}``.

    Raises `ConfigError` for a tensor that cannot be read, and for inputs that are not the function's parameters.
    """

    def declared(function: Callable[..., Any]) -> Adapter:
        takes = specs_of(inputs)
        optional = _optional(function, takes)
        return Adapter(function=function, inputs=takes, optional=optional, outputs=specs_of(outputs))

    return declared


def condition(*, inputs: dict[str, str]) -> Callable[[Callable[..., Any]], Condition]:
    """Declare what a function that decides whether a stage runs takes; raises `ConfigError` as `adapter` does."""

    def declared(function: Callable[..., Any]) -> Condition:
        takes = specs_of(inputs)
        return Condition(function=function, inputs=takes, optional=_optional(function, takes))

    return declared


def import_function(path: str) -> Adapter | Condition:
    """The adapter or condition that a config names as ``module:function``; importing runs the module.

    Raises `ConfigError` where the module cannot be imported, has no such attribute, or that was not declared with
    `adapter` or `condition`.
    """
    module_name, colon, attributes = path.partition(":")
    if not (module_name and colon and attributes):
        raise ConfigError(f"{path!r} names no function; write module:function, such as my_module:crop")
    try:
        found: Any = import_module(module_name)
    except ConfigError as error:
        raise ConfigError(f"{path!r}: {error}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module that calls sys.exit would end the command without a word
        raise ConfigError(
            f"{path!r} cannot be imported: {type(error).__name__}: {text_of(error)}; the module must be on PYTHONPATH "
            "of every process, or in an installed package"
        ) from error
    for attribute in attributes.split("."):
        if not hasattr(found, attribute):
            here = [name for name in vars(found) if not name.startswith("_")] if hasattr(found, "__dict__") else []
            raise ConfigError(f"{path!r}: {module_name} has no {attribute!r}{nearest(attribute, here)}")
        found = getattr(found, attribute)
    if isinstance(found, Adapter | Condition):
        return found
    what = "a plain function" if callable(found) else f"of type {type(found).__name__}"
    raise ConfigError(
        f"{path!r} is {what}, and nothing says which tensors it takes and gives; decorate a function with "
        "@adapter(inputs=..., outputs=...) or @condition(inputs=...) of catalog.adapter"
    )


def specs_of(tensors: dict[str, str]) -> tuple[TensorSpec, ...]:
    """Tensors written as ``DATATYPE[-1,n,...]``, by name; raises `ConfigError`."""
    found = []
    for name, written in tensors.items():
        datatype, bracket, axes = written.replace(" ", "").partition("[")
        try:
            if not bracket or not axes.endswith("]"):
                raise ValueError("it is not of the form DATATYPE[-1,n,...]")
            shape = tuple(_length_of(axis) for axis in axes[:-1].split(","))
            found.append(TensorSpec(name=name, datatype=datatype, shape=shape))
        except ValueError as error:
            reason = describe(error) if isinstance(error, ValidationError) else str(error)
            raise ConfigError(
                f"tensor {name!r} is declared as {written!r}: {reason}; write for instance FP32[-1,64]"
            ) from error
    return tuple(found)


def _length_of(axis: str) -> int:
    try:
        return int(axis)
    except ValueError:
        raise ValueError(f"axis {axis!r} is no whole number") from None


def _name_of(function: Callable[..., Any]) -> str:
    """Where it stands; an object that can be called goes by its class."""
    module = getattr(function, "__module__", type(function).__module__)
    return f"{module}:{getattr(function, '__qualname__', type(function).__qualname__)}"


def _optional(function: Callable[..., Any], inputs: tuple[TensorSpec, ...]) -> frozenset[str]:
    """The inputs that have a default; raises `ConfigError` where the function cannot be called with these by name."""
    parameters = signature(function).parameters
    names = [spec.name for spec in inputs]
    if sorted(names) != sorted(parameters):
        raise ConfigError(
            f"{_name_of(function)} declares the inputs {', '.join(names)} and has the "
            f"parameters {', '.join(parameters)}; give both the same names"
        )
    for name, parameter in parameters.items():
        if parameter.kind not in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY):
            raise ConfigError(
                f"{_name_of(function)} has the parameter {name}, which is {parameter.kind.description}, but is called "
                "with its inputs by name; make it a plain parameter"
            )
    called: Any = function
    if any(test(each) for test in (iscoroutinefunction, isasyncgenfunction) for each in (called, called.__call__)):
        raise ConfigError(f"{_name_of(function)} is async, and nobody would wait for it; write def, without async")
    return frozenset(name for name in names if parameters[name].default is not Parameter.empty)
