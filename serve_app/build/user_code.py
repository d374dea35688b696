"""Classes of the user's are read, not run, before a service starts (`catalog.user_code.static_check`)."""

from pathlib import Path

from catalog.catalogue import Catalogue
from catalog.user_code.static_check import check_classes
from catalog.variant import PYTHON
from serve_app.build.candidates import served_variants
from serve_app.config.schema import AppConfig
from serve_app.shadowing import refuse_shadows


def check_user_code(config: AppConfig, catalogue: Catalogue) -> None:
    """Refuse classes that cannot serve, and files that Python would import instead of Accord's packages.

    A class whose module may come with a pool's ``runtime_env`` is for the workers to find. Raises `ConfigError`,
    `ArtifactError` or `ShadowedPackage`; does nothing for a config that is emulated.
    """
    if config.emulate is not None:
        return
    own = [variant for variant in served_variants(config, catalogue) if variant.runtime == PYTHON]
    if own:
        refuse_shadows([Path(catalogue.root)])
    brought = [pool for pool in config.pools.values() if {"py_modules", "working_dir"} & pool.runtime_env.keys()]
    check_classes(
        (each for each in own if not any(pool.may_hold(each.name) for pool in brought)),
        catalogue.root,
    )
