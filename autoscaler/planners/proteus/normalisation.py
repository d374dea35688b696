"""Accuracy in parts of the best: endpoints weigh alike, however hard their tasks are (Proteus, section 6.1.4)."""

from dataclasses import replace

from autoscaler.cluster.cluster import Cluster, Endpoint


def best_accuracy(cluster: Cluster) -> dict[str, float]:
    """By endpoint the accuracy of its most accurate variant, 0 to 1, whether or not it fits and is in time."""
    return {
        endpoint.name: max((c.accuracy for own in endpoint.candidates.values() for c in own), default=0.0)
        for endpoint in cluster.endpoints
    }


def normalised(cluster: Cluster) -> Cluster:
    """The same with each variant's accuracy divided by the best of its endpoint; where that is 0, it stays."""
    best = best_accuracy(cluster)

    def of_best(endpoint: Endpoint) -> Endpoint:
        scale = best[endpoint.name] or 1.0
        candidates = {
            device: tuple(replace(each, accuracy=each.accuracy / scale) for each in own)
            for device, own in endpoint.candidates.items()
        }
        return replace(endpoint, candidates=candidates)

    return replace(cluster, endpoints=tuple(map(of_best, cluster.endpoints)))
