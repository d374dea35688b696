"""The service under test: endpoints of several query types on emulated workers of three device types."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson
import yaml

from benchmarks.proteus.shipped import shipped_proteus
from benchmarks.proteus.testbed import Testbed
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.profiles.profile_csv import ProfiledVariant, write_profiles
from catalog.profiles.profile_table import TabledVariant, group_by_query_type, match_device, read_profile_table
from serve_app.loadgen.dataset import Dataset

PORT = 8010
DEVICES = {"cpu": "cpu", "gpu_pascal": "cuda-pascal", "gpu_ampere": "cuda-ampere"}
"""Pools, which are named as device types are in the profiles, and their devices in the config."""

TRANSPORT_MS = 5.0
BATCHING = "adaptive_batching"


@dataclass(frozen=True)
class System:
    """``planner`` as a config names it; a plan every ``interval_s`` at least. ``options`` are what Accord's own planner
    has other than as it ships."""

    planner: str
    interval_s: float = 10.0
    options: Mapping[str, Any] = field(default_factory=dict)


SYSTEMS: dict[str, System] = {
    "accord": System("proteus"),
    "accord_roomy": System("proteus", options={"room_down_to": 0.95}),
    "sommelier": System("sommelier"),
    "sommelier_tight": System("sommelier_tight"),
    "infaas": System("infaas", interval_s=1.0),
    "clipper_ha": System("clipper_ha"),
    "clipper_ht": System("clipper_ht"),
}
"""All with the same batching, which drops what cannot be in time, and the same reports;
INFaaS decides as queries come (section 6.2): every second."""


@dataclass(frozen=True)
class Scene:
    """``workers`` by pool serve ``types`` within ``slo_multiple`` times what `Testbed` says.

    All times of the profiles, and objectives with them, are multiplied by ``slower``, so that loads which a router on
    shared cores carries keep the workers busy.
    """

    profiles: Path
    workers: Mapping[str, int]
    types: tuple[str, ...]
    slo_multiple: float
    slower: float
    seed: int

    @cached_property
    def variants(self) -> dict[str, tuple[str, TabledVariant]]:
        """By name the type and the profile of every variant that runs on all device types. Raises `ConfigError`."""
        table = read_profile_table(self.profiles)
        known = sorted({device for variant in table.values() for device in variant.latency_s})
        names = {match_device(pool, known) for pool in DEVICES}
        grouped, _ = group_by_query_type(self.types, table)
        return {
            _name(name): (each, table[name])
            for each, own in grouped.items()
            for name in own
            if names <= table[name].latency_s.keys()
        }

    @cached_property
    def slo_s(self) -> dict[str, float]:
        """The objectives by endpoint."""
        testbed = Testbed.of(self.profiles, dict(self.workers), self.types, self.slo_multiple, "most_accurate")
        return {each.name: self.slower * each.slo_s for each in testbed.cluster.endpoints}

    @property
    def total_workers(self) -> int:
        """Of all pools."""
        return sum(self.workers.values())

    def write(self, folder: Path) -> None:
        """The catalogue, and a file of profiles for each device."""
        known = sorted({device for _, variant in self.variants.values() for device in variant.latency_s})
        (folder / "profiles").mkdir()
        for pool, device in DEVICES.items():
            full = match_device(pool, known)
            profiled = {
                name: ProfiledVariant(
                    variant.normalised_accuracy_pct, _profile(variant.latency_s[full], self.slower, device)
                )
                for name, (_, variant) in self.variants.items()
            }
            write_profiles(folder / "profiles" / f"{device}.csv", profiled)
        entries = [
            {
                "name": name,
                "task": endpoint,
                "runtime": "emulated",
                "artifact": {"uri": "profiles"},
                "accuracy": variant.normalised_accuracy_pct / 100.0,
                "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 1]}],
                "outputs": [{"name": "y", "datatype": "FP32", "shape": [-1, 1]}],
                "max_batch": max(len(latency_s) - 1 for latency_s in variant.latency_s.values()),
                "options": {"distribution": "fixed", "seed": self.seed},
            }
            for name, (endpoint, variant) in self.variants.items()
        ]
        content = yaml.safe_dump({"version": 1, "variants": entries}, sort_keys=False)
        (folder / "catalogue.yaml").write_text(content, encoding="utf-8")

    def content(self, system: str, folder: Path) -> dict[str, Any]:
        """The Serve config of a system; `write` has written to ``folder``."""
        told = SYSTEMS[system]
        endpoints = {
            name: {
                "task": name,
                "slo_ms": 1e3 * slo_s,
                "selection": {"policy": BATCHING},
                "max_queued_rows": 10**6,
            }
            for name, slo_s in self.slo_s.items()
        }
        pools = {
            pool: {"workers": self.workers[pool], "device": device} | ({} if device == "cpu" else {"num_gpus": 1})
            for pool, device in DEVICES.items()
        }
        args = {
            "catalogue": str(folder / "catalogue.yaml"),
            "endpoints": endpoints,
            "pools": pools,
            "transport_ms": TRANSPORT_MS,
            "controller": {
                "planner": told.planner,
                "interval_s": told.interval_s,
                "state": str(folder / f"{system}.db"),
            }
            | ({"proteus": shipped_proteus() | dict(told.options)} if told.planner == "proteus" else {}),
            "emulate": {},
        }
        application = {
            "name": "accord",
            "route_prefix": "/",
            "import_path": "benchmarks.live_proteus.app:build",
            "args": args,
        }
        return {
            "proxy_location": "EveryNode",
            "http_options": {"host": "127.0.0.1", "port": PORT},
            "logging_config": {"enable_access_log": False},
            "applications": [application],
        }


def dataset() -> Dataset:
    """One query, whose answer means nothing."""
    tensor = {"name": "x", "shape": [1, 1], "datatype": "FP32", "data": [0.0]}
    return Dataset((orjson.dumps({"inputs": [tensor]}),))


def _name(variant: str) -> str:
    """As a catalogue may have it."""
    return variant.replace("/", "-")


def _profile(latency_s: Sequence[float], slower: float, device: str) -> LatencyProfile:
    """Only means are published: every run of a batch takes the same."""
    by_batch = {}
    for rows, run_s in enumerate(latency_s):
        if rows:
            ms = 1e3 * run_s * slower
            by_batch[rows] = BatchLatency(1, ms, 0.0, ms, ms, ms, ms)
    return LatencyProfile(device, by_batch)
