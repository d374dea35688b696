"""How fast a trace is played, and how large bursts are that are made up: so that accuracy has to be scaled."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from autoscaler.planners.proteus.proteus_planner import LEAST_QPS
from benchmarks.proteus.play import loads_of
from benchmarks.proteus.saturation import saturation_qps
from benchmarks.proteus.testbed import Testbed, zipf
from catalog.errors import ConfigError
from workload.bursts import PEAKS, burst_arrivals

OVERLOAD = 0.5
"""Without a speed-up given, the busiest 10 s take this part of what the least accurate variants could serve."""

SHORTEST_S = 60.0
"""What is left of a trace that is sped up without being told how much: enough for some plans."""

BURSTS_S = 150.0
"""How long bursts that are made up go on."""

MIX = zipf(("mobilenet", "efficientnet", "resnest", "bert", "yolo", "densenet", "resnet", "t5", "gpt2"))
"""Of their query types, most frequent first, as in the recorded traces."""


def speedup(testbed: Testbed, arrivals_s: Mapping[str, NDArray[np.float64]]) -> float:
    """The factor at which the busiest 10 s of the trace as it is would need `OVERLOAD` of what can be served.

    It leaves `SHORTEST_S` of the trace, or does not speed it up. Raises `ConfigError` where not all query types can be
    served at once.
    """
    peak_qps = loads_of(arrivals_s).peak_qps
    total_qps = sum(peak_qps.values())
    most_qps = _most_qps(testbed, {name: qps / total_qps for name, qps in peak_qps.items() if qps})
    longest_s = max(float(of[-1]) for of in arrivals_s.values() if len(of))
    return min(OVERLOAD * most_qps / total_qps, max(longest_s / SHORTEST_S, 1.0))


def made_up(shape: str, testbed: Testbed, seed: int) -> Mapping[str, NDArray[np.float64]]:
    """Arrivals in seconds by query type of `MIX`, in bursts of a shape whose highest load is `OVERLOAD` of the most.

    Raises `ConfigError` as `speedup` does.
    """
    mean_qps = OVERLOAD * _most_qps(testbed, MIX) / PEAKS[shape]
    return burst_arrivals(shape, MIX, BURSTS_S, mean_qps, seed)


def _most_qps(testbed: Testbed, mix: Mapping[str, float]) -> float:
    most_qps = saturation_qps(testbed, mix)
    if most_qps <= LEAST_QPS:
        raise ConfigError(
            f"no placement on {len(testbed.workers)} workers serves all of {', '.join(mix)} within their "
            "objectives, so that no speed of the trace is right; give more workers, longer objectives or --speedup"
        )
    return most_qps
