"""Batches of queries of different lengths, which are padded to the longest of them."""

from dispatch.plan import Plan
from dispatch.query import Batch
from simulator.latency import LatencyModel


class PaddedLatency:
    """What another model says of a batch of the typical length, times what its own length costs by the plan."""

    def __init__(self, typical: LatencyModel, plan: Plan) -> None:
        self._typical = typical
        self._lengths = {
            (endpoint.name, name): stage.lengths
            for endpoint in plan.endpoints.values()
            for name, stage in endpoint.stages.items()
            if stage.lengths is not None
        }

    def times_s(self, device: str, batch: Batch) -> tuple[float, float]:
        """See `LatencyModel.times_s`."""
        run_s, path_s = self._typical.times_s(device, batch)
        lengths = self._lengths.get(batch.stage)
        if lengths is None or not batch.length:
            return run_s, path_s
        return run_s * lengths.costs_of(device, batch.variant, batch.rows).ratio(batch.length, batch.rows), path_s
