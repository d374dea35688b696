"""Jellyfish+, the arrival-unaware baseline that looks at throughput (RAMSIS, section 7)."""

from dispatch.selection.load_based.load_ladder import LoadLadder, adaptive_batch
from dispatch.selection.policy import Candidate

NAME = "jellyfish_plus"


def jellyfish_plus(candidates: tuple[Candidate, ...], slo_s: float, workers: int) -> LoadLadder:
    """The most accurate variant whose throughput exceeds the load, and whose latency is below half the objective.

    Workers take batches of up to half the objective from a central queue. The throughput is the average over these
    batch sizes, rows over the mean time that they keep a worker, summed over the workers.
    """
    throughput_qps = {}
    for candidate in candidates:
        if candidate.latency_s[1] < slo_s / 2.0:
            most = adaptive_batch(candidate, slo_s)
            throughput_qps[candidate.variant] = workers * sum(range(most + 1)) / sum(candidate.busy_s[: most + 1])
    return LoadLadder.of(NAME, workers, candidates, slo_s, throughput_qps)
