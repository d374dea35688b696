"""The variants that a config names beside those of its endpoints: each must serve there, and some pool must hold it.

All of it is known from config and catalogue alone, so that a wrong name is told before anything is measured.
"""

import logging
from collections.abc import Iterator

from catalog.catalogue import Catalogue
from catalog.errors import ConfigError
from catalog.faults import nearest
from catalog.variant import Variant
from dispatch.query import ONLY_STAGE
from serve_app.build.candidates import held_by_none, served_variants, stage_variants
from serve_app.config.endpoints.endpoint import EndpointConfig
from serve_app.config.schema import AppConfig

logger = logging.getLogger("ray.serve")


def check_named_variants(config: AppConfig, catalogue: Catalogue) -> None:
    """Raise `ConfigError` for a name that serves nothing where it stands, and for what no pool may hold but must."""
    served = sorted(variant.name for variant in served_variants(config, catalogue))
    for name, pool in config.pools.items():
        for variant in pool.variants or ():
            if variant not in served:
                raise ConfigError(
                    f"pools.{name}.variants: {variant!r} serves no endpoint{nearest(variant, served)}; the variants "
                    f"that do are {', '.join(served)}"
                )
    for name, where, own, nowhere in _of_stages(config, catalogue):
        endpoint = config.endpoints[name]
        if len(nowhere) == len(own):
            raise ConfigError(f"{where}: none of its pools may hold any of its variants; see pools.NAME.variants")
        if endpoint.ensemble is not None and nowhere:
            names = ", ".join(nowhere)
            raise ConfigError(f"{where}.ensemble: none of its pools may hold {names}, of its members; {_remedy(where)}")
        if endpoint.pipeline is None:
            _check_selection(where, endpoint, [variant.name for variant in own], nowhere)


def warn_of_variants_nowhere(config: AppConfig, catalogue: Catalogue) -> None:
    """Log which variants never answer, since no pool of their endpoint may hold them."""
    for _, where, _, nowhere in _of_stages(config, catalogue):
        if nowhere:
            names = ", ".join(nowhere)
            logger.warning("%s: none of its pools may hold %s, which never answer; %s.", where, names, _remedy(where))


def _of_stages(
    config: AppConfig, catalogue: Catalogue
) -> Iterator[tuple[str, str, tuple[Variant, ...], tuple[str, ...]]]:
    """By stage its endpoint, where it stands in the config, its variants, and the names of those that no pool may
    hold."""
    for name, endpoint in config.endpoints.items():
        for stage, own in stage_variants(name, endpoint, catalogue).items():
            where = f"endpoints.{name}" + (f".pipeline.stages.{stage}" if stage != ONLY_STAGE else "")
            yield name, where, own, held_by_none(own, config.pools_of(name).values())


def _check_selection(where: str, endpoint: EndpointConfig, known: list[str], nowhere: tuple[str, ...]) -> None:
    selection = endpoint.selection
    named = {} if selection.variant is None else {"variant": selection.variant}
    named |= {f"ladder[{number}].variant": rung.variant for number, rung in enumerate(selection.ladder or ())}
    for field, variant in named.items():
        if variant not in known:
            raise ConfigError(
                f"{where}.selection.{field}: {variant!r} does not serve this endpoint{nearest(variant, known)}; "
                f"choose one of {', '.join(known)}"
            )
        if variant in nowhere:
            raise ConfigError(f"{where}.selection.{field}: none of its pools may hold {variant}; {_remedy(where)}")


def _remedy(where: str) -> str:
    return f"add to pools.NAME.variants of one of its pools, or leave out of {where}.variants"
