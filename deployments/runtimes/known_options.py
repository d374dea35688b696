"""Options that a runtime knows."""

from collections.abc import Sequence

from catalog.errors import ConfigError
from catalog.variant import Variant


def refuse_unknown_options(variant: Variant, known: Sequence[str] = ()) -> None:
    """Raise `ConfigError` where a variant has options that its runtime would ignore."""
    unknown = sorted(set(variant.options) - set(known))
    if unknown:
        raise ConfigError(
            f"variant {variant.name!r}: unknown option {', '.join(map(repr, unknown))}; "
            f"runtime {variant.runtime!r} knows {', '.join(known) or 'none: remove options'}"
        )
