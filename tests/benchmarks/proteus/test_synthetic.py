"""Clusters that are made up have the sizes that are asked for, and make sense."""

from collections import Counter

import pytest

from benchmarks.proteus.synthetic import LARGEST_BATCH, SLO_S, synthetic


def test_sizes_are_as_asked_for() -> None:
    made = synthetic(160, 450, 9, 3, seed=1)
    assert Counter(made.workers.values()) == {"type0": 53, "type1": 53, "type2": 54}
    assert [pool.device for pool in made.cluster.pools] == ["type0", "type1", "type2"]
    assert len(made.cluster.endpoints) == 9
    for device in ("type0", "type1", "type2"):
        of_endpoint = [endpoint.candidates[device] for endpoint in made.cluster.endpoints]
        assert [len(candidates) for candidates in of_endpoint] == [50] * 9
        assert len({candidate.variant for candidates in of_endpoint for candidate in candidates}) == 450


def test_what_does_not_divide_is_shared_out_within_one() -> None:
    made = synthetic(11, 23, 5, 4, seed=3)
    counts = Counter(made.workers.values())
    variants = [len(endpoint.candidates["type0"]) for endpoint in made.cluster.endpoints]
    assert (sum(counts.values()), max(counts.values()) - min(counts.values())) == (11, 1)
    assert (sum(variants), max(variants) - min(variants)) == (23, 1)


def test_a_seed_makes_the_same_cluster_again_and_another_seed_another() -> None:
    assert synthetic(10, 20, 4, 2, seed=5) == synthetic(10, 20, 4, 2, seed=5)
    assert synthetic(10, 20, 4, 2, seed=5) != synthetic(10, 20, 4, 2, seed=6)


@pytest.mark.parametrize("seed", range(5))
def test_the_best_of_each_endpoint_is_right_and_larger_batches_take_longer(seed: int) -> None:
    for endpoint in synthetic(8, 30, 3, 3, seed=seed).cluster.endpoints:
        assert endpoint.slo_s == SLO_S
        for candidates in endpoint.candidates.values():
            accuracies = [candidate.accuracy for candidate in candidates]
            assert accuracies == sorted(accuracies)
            assert accuracies[0] >= 0.7
            assert accuracies[-1] == 1.0
            for candidate in candidates:
                batches_s = candidate.latency_s[1:]
                assert len(batches_s) == LARGEST_BATCH
                assert batches_s[0] > 0
                assert list(batches_s) == sorted(batches_s)
                assert batches_s[-1] <= LARGEST_BATCH * batches_s[0] * (1 + 1e-9)


def test_every_endpoint_can_be_served_in_time_somewhere() -> None:
    for devices, variants, endpoints, types in ((160, 450, 9, 3), (10_000, 1_000, 50, 10)):
        for endpoint in synthetic(devices, variants, endpoints, types, seed=1).cluster.endpoints:
            one_row_s = [c.latency_s[1] for candidates in endpoint.candidates.values() for c in candidates]
            assert min(one_row_s) <= endpoint.slo_s / 2
