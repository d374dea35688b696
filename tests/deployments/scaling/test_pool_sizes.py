"""Sizes as Serve's controller reads them, and pools that follow them; a real cluster."""

import time
from collections.abc import Iterator

import pytest
from ray import serve
from ray.serve.config import AutoscalingConfig, AutoscalingPolicy

from deployments.scaling import pool_sizes
from deployments.scaling.policy import PlannedSize

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

WITHIN_S = 60.0


class Nothing:
    """A worker that does nothing."""


@pytest.fixture
def pool(ray_cluster: None, free_port: int) -> Iterator[str]:
    serve.start(http_options={"host": "127.0.0.1", "port": free_port})
    policy = AutoscalingPolicy(policy_function=PlannedSize)
    deployment = serve.deployment(Nothing).options(
        name="gpu",
        ray_actor_options={"num_cpus": 0.1},
        graceful_shutdown_timeout_s=1,
        autoscaling_config=AutoscalingConfig(
            min_replicas=0,
            initial_replicas=1,
            max_replicas=4,
            upscale_delay_s=0,
            downscale_delay_s=0,
            policy=policy,
        ),
    )
    serve.run(deployment.bind(), name="app", route_prefix=None)
    yield "gpu"
    serve.delete("app")


def replicas(pool: str) -> dict[str, int]:
    """How many replicas there are, by state."""
    states = serve.status().applications["app"].deployments[pool].replica_states
    return {str(state): number for state, number in states.items() if number}


def test_a_size_is_read_as_it_was_published_by_application_and_pool(ray_cluster: None) -> None:
    assert pool_sizes.read("one", "cpu") is None
    pool_sizes.publish("one", {"cpu": 3, "gpu": 0})
    pool_sizes.publish("two", {"cpu": 5})
    pool_sizes.publish("one", {"cpu": 4})
    assert pool_sizes.read("one", "cpu") == 4
    assert pool_sizes.read("one", "gpu") == 0
    assert pool_sizes.read("two", "cpu") == 5


def test_a_pool_follows_the_sizes_that_are_published(pool: str) -> None:
    assert replicas(pool) == {"RUNNING": 1}
    for workers in (3, 1, 0, 1):
        pool_sizes.publish("app", {pool: workers})
        wanted = {"RUNNING": workers} if workers else {}
        deadline_s = time.monotonic() + WITHIN_S
        while replicas(pool) != wanted:
            assert time.monotonic() < deadline_s, f"{replicas(pool)} instead of {wanted} after {WITHIN_S} s"
            time.sleep(0.1)
