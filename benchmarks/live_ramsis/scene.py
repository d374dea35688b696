"""The service under test: the paper's image task on emulated workers, under one policy."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson
import yaml

from benchmarks.ramsis.task import read_front
from catalog.catalogue import Catalogue, load_catalogue
from catalog.profiles.profile import QUANTITIES, BatchLatency, LatencyProfile
from catalog.profiles.profile_csv import ProfiledVariant, read_profiles, write_profiles
from dispatch.selection.policy import Candidate
from serve_app.config.read import app_config
from serve_app.config.schema import AppConfig
from serve_app.loadgen.dataset import Dataset

ENDPOINT = TASK = "image"
DEVICE = POOL = "cpu"
PORT = 8010
MAX_BATCH = 32
"""The largest batch of the published profiles."""

TRANSPORT_MS = 4.0
"""The way to a worker and back beside a run before it is measured."""

SELECTIONS: dict[str, dict[str, Any]] = {
    "accord": {"policy": "ramsis"},
    "ramsis": {"policy": "ramsis", "formulation": "per_decision"},
    "jellyfish_plus": {"policy": "jellyfish_plus"},
    "model_switching": {"policy": "model_switching"},
}
"""By system what chooses variants; ``ramsis`` has tables of the paper's process, in the same service."""

BY_TABLES = ("accord", "ramsis")
BASELINES = ("jellyfish_plus", "model_switching")


@dataclass(frozen=True)
class Scene:
    """``workers`` emulated workers that may run the variants of ``profiles`` on the Pareto front.

    All times of the profiles, and the objective with them, are ``slower`` times as long as published, so that loads
    which a router on shared cores carries keep the workers busy.
    """

    profiles: Path
    workers: int
    published_slo_ms: float
    seed: int
    slower: float = 1.0

    @cached_property
    def front(self) -> tuple[Candidate, ...]:
        """The variants on the Pareto front, fastest first, as published. Raises `ConfigError` for a file that cannot be
        used."""
        return read_front(self.profiles)

    @cached_property
    def profiled(self) -> dict[str, ProfiledVariant]:
        """Accuracy and latency of these variants as they are emulated."""
        published = read_profiles(self.profiles, DEVICE)
        return {each.variant: _slower(published[each.variant], self.slower) for each in self.front}

    @property
    def slo_ms(self) -> float:
        """The objective."""
        return self.published_slo_ms * self.slower

    @property
    def slo_s(self) -> float:
        """The same in seconds."""
        return self.slo_ms / 1e3

    def write(self, folder: Path) -> None:
        """The catalogue and the profiles of its variants."""
        write_profiles(folder / "profiles.csv", self.profiled)
        variants = [
            {
                "name": each.variant,
                "task": TASK,
                "runtime": "emulated",
                "artifact": {"uri": "profiles.csv"},
                "accuracy": each.accuracy,
                "inputs": [{"name": "image", "datatype": "FP32", "shape": [-1, 1]}],
                "outputs": [{"name": "label", "datatype": "INT64", "shape": [-1]}],
                "max_batch": MAX_BATCH,
                "options": {"seed": self.seed},
            }
            for each in self.front
        ]
        content = yaml.safe_dump({"version": 1, "variants": variants}, sort_keys=False)
        (folder / "catalogue.yaml").write_text(content, encoding="utf-8")

    def content(self, system: str, folder: Path) -> dict[str, Any]:
        """The Serve config of a system; `write` has written to ``folder``."""
        args = {
            "catalogue": str(folder / "catalogue.yaml"),
            "endpoints": {
                ENDPOINT: {
                    "task": TASK,
                    "slo_ms": self.slo_ms,
                    "selection": SELECTIONS[system],
                    "max_queued_rows": 10**6,
                }
            },
            "pools": {POOL: {"workers": self.workers, "device": DEVICE}},
            "transport_ms": TRANSPORT_MS,
            "controller": {"state": str(folder / f"{system}.db")},
            "emulate": {},
        }
        application = {"name": "accord", "route_prefix": "/", "import_path": "serve_app.main:build", "args": args}
        return {
            "proxy_location": "EveryNode",
            "http_options": {"host": "127.0.0.1", "port": PORT},
            "logging_config": {"enable_access_log": False},
            "applications": [application],
        }

    def app(self, system: str, folder: Path) -> tuple[AppConfig, Catalogue]:
        """The same as the service reads it."""
        config = app_config(self.content(system, folder)["applications"][0]["args"])
        return config, load_catalogue(config.catalogue)


def _slower(variant: ProfiledVariant, factor: float) -> ProfiledVariant:
    profile = variant.profile
    by_batch = {
        rows: BatchLatency(each.samples, *(factor * getattr(each, quantity) for quantity in QUANTITIES))
        for rows, each in profile.by_batch.items()
    }
    return ProfiledVariant(variant.accuracy_pct, LatencyProfile(profile.device, by_batch))


def dataset() -> Dataset:
    """One query, whose answer means nothing."""
    tensor = {"name": "image", "shape": [1, 1], "datatype": "FP32", "data": [0.0]}
    return Dataset((orjson.dumps({"inputs": [tensor], "outputs": [{"name": "label"}]}),))
