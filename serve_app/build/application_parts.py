"""What an application consists of, as its config says, before any of it is deployed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from catalog.catalogue import Catalogue
from catalog.variant import Variant
from deployments.messages.control_settings import ControlSettings, InterferenceSettings
from dispatch.selection.load_based.ladder_selection import LadderSelection
from serve_app.build.assemble import Assembly, assemble
from serve_app.build.candidates import Profiles, served_variants
from serve_app.build.control import control_settings
from serve_app.config.emulation import emulate
from serve_app.config.reservations import with_light_reservations
from serve_app.config.schema import AppConfig


@dataclass(frozen=True)
class ApplicationParts:
    """``config`` is with what is reserved; ``served`` are the variants, emulated where the config says so."""

    config: AppConfig
    served: tuple[Variant, ...]
    assembly: Assembly
    control: ControlSettings


def application_parts(
    config: AppConfig,
    catalogue: Catalogue,
    profiles: Profiles,
    ladders: Mapping[str, LadderSelection],
    interference: InterferenceSettings | None,
) -> ApplicationParts:
    """See `ApplicationParts`; needs no cluster. The catalogue is with the stacked sets of the config.

    Raises `ConfigError`, naming the field that is wrong, or `ArtifactError` for what cannot be had.
    """
    config, catalogue = with_light_reservations(config), emulate(config, catalogue, profiles)
    assembly = assemble(config, catalogue, profiles, ladders=ladders)
    control = replace(control_settings(config, catalogue, profiles), interference=interference)
    return ApplicationParts(config, served_variants(config, catalogue), assembly, control)
