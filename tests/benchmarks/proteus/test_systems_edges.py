"""Every system on clusters that cannot serve every endpoint, and on a trace in which one comes late."""

from collections.abc import Iterator, Mapping

import numpy as np

from accuracy_scene import by_chance
from autoscaler_scene import cluster, endpoint, even, linear, workers
from benchmarks.proteus import testbed
from benchmarks.proteus.play import play
from benchmarks.proteus.systems import SYSTEMS, Loads, Study


def answered(
    bed: testbed.Testbed, loads: Loads, spans: Mapping[str, tuple[float, float, float]]
) -> Iterator[tuple[str, dict[str, float]]]:
    """By system the part of each endpoint's queries that got an answer; a span is a rate, a beginning and an end."""
    rng = np.random.default_rng(1)
    arrivals_s = {name: np.array(by_chance(*span, rng)) for name, span in spans.items()}
    study = Study(bed, loads, interval_s=4.0, solve_s=0.25)
    for system in SYSTEMS:
        record = play(study.system(system, study.headroom_of(system)), bed, arrivals_s, load_s=0.5).record
        yield (
            system,
            {
                name: float((record.batch[record.endpoint == index] >= 0).mean())
                for index, name in enumerate(record.endpoints)
            },
        )


def two_endpoints(count: int) -> testbed.Testbed:
    both = cluster(
        *(
            endpoint(name, linear(f"{name}-fast", 0.8, 0.0, 0.01), linear(f"{name}-best", 1.0, 0.0, 0.04))
            for name in ("a", "b")
        )
    )
    return testbed.Testbed(both, workers(cpu=count), ())


def test_an_endpoint_may_begin_without_queries() -> None:
    loads = Loads({"a": 20.0, "b": 0.0}, {"a": 20.0, "b": 2.5}, {"a": 20.0, "b": 10.0})
    for system, parts in answered(two_endpoints(4), loads, {"a": (20.0, 0.0, 16.0), "b": (10.0, 12.0, 16.0)}):
        assert parts["a"] > 0.9, system
        if system == "sommelier_as_described":  # its placement is for the first load, and stays
            assert parts["b"] == 0.0
        else:
            assert parts["b"] > 0.3, system


def test_an_endpoint_that_nothing_can_serve_in_time_does_not_stop_the_others() -> None:
    slow = endpoint("b", even("b0", 1.0, 1.5))
    bed = testbed.Testbed(cluster(endpoint("a", linear("a0", 1.0, 0.0, 0.01)), slow), workers(cpu=2), ())
    qps = {"a": 20.0, "b": 5.0}
    for system, parts in answered(bed, Loads(qps, qps, qps), {"a": (20.0, 0.0, 5.0), "b": (5.0, 0.0, 5.0)}):
        assert parts["a"] > 0.9, system
        assert parts["b"] == 0.0, system


def test_fewer_workers_than_endpoints_serve_what_they_can() -> None:
    qps = {"a": 20.0, "b": 5.0}
    spans = {"a": (20.0, 0.0, 5.0), "b": (5.0, 0.0, 5.0)}
    for system, parts in answered(two_endpoints(1), Loads(qps, qps, qps), spans):
        assert parts["a"] > 0.9 or parts["b"] > 0.9, system


def test_static_placements_have_workers_for_what_has_no_query_at_the_peak() -> None:
    loads = Loads({"a": 20.0, "b": 5.0}, {"a": 20.0, "b": 5.0}, {"a": 60.0, "b": 0.0})
    study = Study(two_endpoints(4), loads, interval_s=4.0, solve_s=0.25)
    for system in ("clipper_ht", "clipper_ha", "clipper_ht_as_described", "clipper_ha_as_described"):
        assert study.system(system, 1.0).initial.capacity_qps["b"] > 0.0, system
