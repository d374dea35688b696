"""Runtimes by the name that a variant gives; a library is imported only when its runtime is created."""

from collections.abc import Callable
from pathlib import Path

from catalog.errors import ConfigError
from catalog.extras import require
from catalog.variant import EMULATED, PYTHON, Variant
from deployments.runtimes.base import ModelRuntime, RuntimeOptions

Factory = Callable[[Variant, Path, RuntimeOptions], ModelRuntime]

_factories: dict[str, Factory] = {}


def register(name: str) -> Callable[[Factory], Factory]:
    """Decorator that makes a factory the runtime called ``name``; raises ValueError where the name is taken."""

    def add(factory: Factory) -> Factory:
        if name in _factories:
            raise ValueError(f"runtime {name!r} is registered already; choose another name than {_known()}")
        _factories[name] = factory
        return factory

    return add


def create(variant: Variant, artifact: Path, options: RuntimeOptions) -> ModelRuntime:
    """The runtime that ``variant`` names, not yet loaded; ``artifact`` is a local file or folder.

    Raises `ConfigError` for an unknown runtime, with the known names, and for a variant that the runtime cannot take.
    """
    factory = _factories.get(variant.runtime)
    if factory is None:
        raise ConfigError(f"variant {variant.name!r}: no runtime {variant.runtime!r}; use one of {_known()}")
    return factory(variant, artifact, options)


def _known() -> str:
    return ", ".join(sorted(_factories))


@register("onnx")
def _onnx(variant: Variant, artifact: Path, options: RuntimeOptions) -> ModelRuntime:
    from deployments.runtimes.onnx.onnx_runtime import OnnxRuntime

    return OnnxRuntime(variant, artifact, options)


@register("torch")
def _torch(variant: Variant, artifact: Path, options: RuntimeOptions) -> ModelRuntime:
    require("torch", f"variant {variant.name!r} with runtime torch")
    from deployments.runtimes.torch_runtime import TorchRuntime

    return TorchRuntime(variant, artifact, options)


@register("transformers")
def _transformers(variant: Variant, artifact: Path, options: RuntimeOptions) -> ModelRuntime:
    require("transformers", f"variant {variant.name!r} with runtime transformers")
    from deployments.runtimes.transformers_runtime import TransformersRuntime

    return TransformersRuntime(variant, artifact, options)


@register("text")
def _text(variant: Variant, artifact: Path, options: RuntimeOptions) -> ModelRuntime:
    require("text", f"variant {variant.name!r} with runtime text")
    from deployments.runtimes.onnx.text_runtime import TextRuntime

    return TextRuntime(variant, artifact, options)


@register(PYTHON)
def _python(variant: Variant, artifact: Path, options: RuntimeOptions) -> ModelRuntime:
    from deployments.runtimes.user_code.python_runtime import PythonRuntime

    return PythonRuntime(variant, artifact, options)


@register(EMULATED)
def _emulated(variant: Variant, artifact: Path, options: RuntimeOptions) -> ModelRuntime:
    from deployments.runtimes.emulated_runtime import EmulatedRuntime

    return EmulatedRuntime(variant, artifact, options)
