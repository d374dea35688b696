"""From what a file says to the config."""

from typing import Any

from pydantic import ValidationError

from catalog.errors import ConfigError
from catalog.faults import describe
from serve_app.config.schema import AppConfig


def app_config(args: Any) -> AppConfig:
    """The config of ``args``; raises `ConfigError` with a sentence for each fault."""
    try:
        return AppConfig.model_validate(args)
    except ValidationError as error:
        raise ConfigError(describe(error, AppConfig)) from error
