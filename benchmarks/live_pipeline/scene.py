"""The service, what is sent to it, and whose worker dies."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from serve_app.loadgen.dataset import Dataset, load_dataset
from serve_app.testing.status_watch import Snapshot
from workload.rate import RateSchedule, RateStep

CONFIG = Path(__file__).resolve().parents[2] / "configs" / "pipeline.yaml"


@dataclass(frozen=True)
class Phases:
    """A load of ``base_qps``, then ``doubled_qps``, then ``base_qps`` again, each for ``phase_s``."""

    base_qps: float
    phase_s: float

    @property
    def doubled_qps(self) -> float:
        """The load of the second phase."""
        return 2.0 * self.base_qps

    @property
    def duration_s(self) -> float:
        """Of all phases."""
        return 3.0 * self.phase_s

    @property
    def kill_s(self) -> float:
        """When the worker dies: in the middle of the second phase."""
        return 1.5 * self.phase_s

    @property
    def schedule(self) -> RateSchedule:
        """The load over time."""
        rates = (self.base_qps, self.doubled_qps, self.base_qps)
        return RateSchedule(tuple(RateStep(qps, self.phase_s) for qps in rates))


def config(slo_ms: float | None, port: int | None) -> dict[str, Any]:
    """The shipped config, with another objective or port where they are given."""
    content: dict[str, Any] = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    if port is not None:
        content["http_options"]["port"] = port
    endpoint = next(iter(content["applications"][0]["args"]["endpoints"].values()))
    if slo_ms is not None:
        endpoint["slo_ms"] = slo_ms
    return content


def endpoint_of(content: dict[str, Any]) -> tuple[str, float, list[str]]:
    """Name, objective (ms) and stages of the only endpoint."""
    ((name, endpoint),) = content["applications"][0]["args"]["endpoints"].items()
    return name, float(endpoint["slo_ms"]), list(endpoint["pipeline"]["stages"])


def dataset() -> Dataset:
    """One strip a query, with its number: those that the shipped variants are measured on."""
    return load_dataset("strips")


def victim(snapshot: Snapshot, endpoint: str, stage: str) -> tuple[str, int]:
    """The id and process of a worker that holds what the stage runs most; raises RuntimeError where there is none."""
    seen = snapshot.endpoint(endpoint)["stages"][stage]["variants"]
    for variant in seen:
        for worker, state in snapshot.status["workers"].items():
            if variant in state["loaded"]:
                return worker, int(state["pid"])
    raise RuntimeError(f"no worker holds any of {', '.join(seen) or 'nothing'}, which stage {stage!r} was seen to run")
