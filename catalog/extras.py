"""Parts of Accord that a plain installation lacks."""

from collections.abc import Mapping
from importlib.util import find_spec
from types import MappingProxyType
from typing import Literal

from catalog.errors import ConfigError

Extra = Literal["torch", "transformers", "planning", "forecast", "plots", "text", "interference", "chaos", "evaluate"]

TO_INSTALL = "pip install -c constraints.txt -e '.[{}]'"
"""The command for an extra, in the folder of Accord's sources: no package index has them."""

MODULES: Mapping[Extra, tuple[str, ...]] = MappingProxyType(
    {
        "torch": ("torch",),
        "transformers": ("torch", "transformers"),
        "planning": ("ortools",),
        "forecast": ("torch", "gluonts", "lightning", "pandas", "pyarrow"),
        "plots": ("matplotlib",),
        "text": ("tokenizers", "onnx"),
        "interference": ("torch", "pandas", "pyarrow", "onnx", "skops"),
        "chaos": ("chaoslib", "matplotlib"),
        "evaluate": ("matplotlib", "pyarrow"),
    }
)
"""What each extra brings, as far as Accord imports it."""


def require(extra: Extra, what: str) -> None:
    """Raise `ConfigError`, naming the extra, where ``what`` needs it and it is not installed."""
    missing = [module for module in MODULES[extra] if find_spec(module) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise ConfigError(
            f"{what} needs {', '.join(missing)}, which {verb} not installed; run `{TO_INSTALL.format(extra)}`"
        )
