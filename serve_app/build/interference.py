"""The predictor of slowdowns that a config names."""

from pathlib import Path

from catalog.errors import ArtifactError, ConfigError
from catalog.extras import require
from deployments.messages.control_settings import InterferenceSettings
from serve_app.config.schema import AppConfig


def interference_settings(config: AppConfig) -> InterferenceSettings | None:
    """The model's file, read and checked, None where the config names none.

    Raises `ConfigError` where there is no such file, or it is no predictor that `accord interference train` saved, and
    where the extra is missing that predicting needs.
    """
    named = config.controller.interference
    if named is None:
        return None
    require("interference", "controller.interference")
    from predictor.model_file import loads  # with scikit-learn, which takes a second

    path = Path(named.model)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"controller.interference.model {str(path)!r} cannot be read: {error.strerror or error}; save a predictor "
            "there with `accord interference train`, or remove controller.interference"
        ) from error
    try:
        loads(content, str(path))
    except ArtifactError as error:
        raise ConfigError(f"controller.interference.model: {error}") from error
    return InterferenceSettings(path.name, content)
