"""Clusters of any size, made up after the published profiles."""

import numpy as np

from autoscaler.cluster.cluster import Cluster, Endpoint, Pool
from benchmarks.proteus.testbed import Testbed, worker_ids
from dispatch.selection.policy import Candidate

SLO_S = 0.2
LARGEST_BATCH = 16


def synthetic(devices: int, variants: int, endpoints: int, device_types: int, seed: int) -> Testbed:
    """Variants shared out among endpoints, devices among types, at random under the seed.

    Within an endpoint, accuracy rises from 0.7 to 1 with a size that multiplies the time per row up to thirtyfold;
    device types differ by up to eightfold in speed, in their fixed cost per batch, and by a third for single variants.
    """
    rng = np.random.default_rng(seed)
    types = [f"type{number}" for number in range(device_types)]
    speed = dict(zip(types, np.geomspace(1.0, 8.0, device_types) * rng.uniform(0.8, 1.25, device_types), strict=True))
    fixed = dict(zip(types, rng.uniform(0.0, 0.9, device_types), strict=True))
    served = []
    for number, count in enumerate(np.diff(np.linspace(0, variants, endpoints + 1).astype(int))):
        sizes = np.sort(rng.uniform(0.0, 1.0, count))
        base_s = SLO_S / 2 * rng.uniform(0.1, 0.4)
        candidates: dict[str, list[Candidate]] = {device: [] for device in types}
        for which, size in enumerate(sizes):
            accuracy = 0.7 + 0.3 * (size / sizes[-1]) ** 0.5
            for device in types:
                row_s = base_s * np.exp(3.4 * size) / speed[device] * rng.uniform(0.75, 1.33)
                latency_s = row_s * (fixed[device] + (1 - fixed[device]) * np.arange(LARGEST_BATCH + 1))
                candidates[device].append(Candidate(f"e{number}v{which}", float(accuracy), tuple(latency_s.tolist())))
        served.append(Endpoint(f"e{number}", SLO_S, {device: tuple(own) for device, own in candidates.items()}))
    counts = np.diff(np.linspace(0, devices, device_types + 1).astype(int))
    workers = worker_ids(dict(zip(types, counts.tolist(), strict=True)))
    return Testbed(Cluster(tuple(served), tuple(map(Pool, types))), workers, ())
