"""A pipeline of the paper, and short excerpts whose load is known."""

import numpy as np

from benchmarks.ipa.demand import INTERVAL_S, Scene
from benchmarks.ipa.excerpts import LEAD_S, LENGTH_S, WARM_S, Excerpt
from benchmarks.ipa.pipelines import Pipeline, pipelines_of
from benchmarks.ipa.scenario import read_scenario

BURST_S, BURST_QPS, USUAL_QPS = 300, 20, 5


def pipelines() -> dict[str, Pipeline]:
    """All five."""
    return pipelines_of(read_scenario())


def steady(load_qps: int) -> Scene:
    """So many queries each second, foreseen as such."""
    counts = np.full(WARM_S + LEAD_S + LENGTH_S, load_qps)
    return _scene(counts, np.full((LEAD_S + LENGTH_S) // INTERVAL_S + 1, float(load_qps)))


def burst(*, foreseen: bool) -> Scene:
    """Little, then for two minutes a lot; known 20 s before, or never."""
    counts = np.full(WARM_S + LEAD_S + LENGTH_S, USUAL_QPS)
    counts[WARM_S + BURST_S : WARM_S + BURST_S + 120] = BURST_QPS
    forecasts_qps = np.full((LEAD_S + LENGTH_S) // INTERVAL_S + 1, float(USUAL_QPS))
    if foreseen:
        forecasts_qps[(BURST_S - 20) // INTERVAL_S : (BURST_S + 120) // INTERVAL_S] = BURST_QPS
    return _scene(counts, forecasts_qps)


def _scene(counts: np.ndarray, forecasts_qps: np.ndarray) -> Scene:
    return Scene(Excerpt("bursty", 0, counts.astype(np.int64), 0.0, 0.0, 1.0, 0.0), forecasts_qps)
