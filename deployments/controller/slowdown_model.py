"""The predictor of slowdowns, wherever plans are made."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from autoscaler.placement.interference import PredictedInterference
from catalog.profiles.profile_cache import cache_dir
from deployments.messages.control_settings import InterferenceSettings
from predictor.configuration import Configuration


@dataclass(frozen=True)
class SlowdownModel:
    """An `Interference` by a predictor's file, which every process reads once; next to nothing to pickle.

    What was predicted is remembered by the process.
    """

    path: str

    def slowdowns(self, configurations: Sequence[Configuration]) -> Sequence[tuple[float, ...]]:
        """As predicted. Raises `ArtifactError` where the file cannot be read any more."""
        return _read(self.path).slowdowns(configurations)


def kept(settings: InterferenceSettings | None) -> SlowdownModel | None:
    """The model that came with the settings, if one did, written below the cache folder; blocks.

    The planning process finds it there. Its name is that of its content, so that it never changes.
    """
    if settings is None:
        return None
    folder = cache_dir() / "interference"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{settings.digest}{Path(settings.name).suffix}"
    if not path.exists():
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".saving-", delete=False) as scratch:
            scratch.write(settings.model)
        os.replace(scratch.name, path)
    return SlowdownModel(str(path))


@lru_cache(maxsize=2)
def _read(path: str) -> PredictedInterference:
    from predictor.model_file import load  # with scikit-learn: only where somebody predicts

    return PredictedInterference(load(Path(path)).predictor)
