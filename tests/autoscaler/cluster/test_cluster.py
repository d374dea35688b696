"""What is no cluster is refused, with the name and the value."""

from collections.abc import Callable
from math import inf, nan

import pytest

from autoscaler.cluster.cluster import Cluster, Pool
from autoscaler_scene import cluster, endpoint, even, observed
from catalog.errors import ConfigError

A = endpoint("a", even("v", 0.9, 10.0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cluster(A, A), "endpoint 'a' is there 2 times"),
        (lambda: Cluster((A,), (Pool("cpu"), Pool("gpu"), Pool("cpu"))), "pool of device 'cpu' is there 2 times"),
        (lambda: cluster(endpoint("b", slo_s=0.0)), "endpoint 'b': slo_s is 0"),
        (lambda: cluster(endpoint("b", slo_s=inf)), "endpoint 'b': slo_s is inf"),
        (lambda: cluster(endpoint("b", slo_s=nan)), "endpoint 'b': slo_s is nan"),
        (lambda: cluster(endpoint("b", even("w", 90.0, 1.0))), "endpoint 'b': accuracy of 'w' is 90; give it from 0"),
        (lambda: cluster(A, pool=Pool("cpu", max_workers=-1)), "pool 'cpu': max_workers is -1"),
        (lambda: cluster(A, pool=Pool("cpu", price_per_h=-1.0)), "pool 'cpu': price_per_h is -1"),
        (lambda: cluster(A, pool=Pool("cpu", price_per_h=nan)), "pool 'cpu': price_per_h is nan"),
    ],
)
def test_a_cluster_that_makes_no_sense_is_refused(make: Callable[[], Cluster], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()


def test_endpoints_that_nothing_is_said_of_have_no_demand() -> None:
    assert cluster(A, endpoint("b")).demand_qps(observed({"b": 2.0}, {})) == {"a": 0.0, "b": 2.0}


@pytest.mark.parametrize("qps", [nan, inf, -0.5])
def test_a_load_that_is_no_load_is_refused(qps: float) -> None:
    with pytest.raises(ValueError, match=f"demand of endpoint 'a' is {qps:g} queries/s; give a finite number from 0"):
        cluster(A).demand_qps(observed({"a": qps}, {}))
    with pytest.raises(ValueError, match="demand of endpoint 'x', which is not there; there are a"):
        cluster(A).demand_qps(observed({"x": 1.0}, {}))
