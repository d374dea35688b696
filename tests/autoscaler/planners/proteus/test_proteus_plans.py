"""Every plan keeps Eq. 1 to 6 of Proteus, section 4, whatever the cluster and the demand are."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.cluster.plan import ClusterPlan
from autoscaler.planners.proteus.options import ProteusOptions
from autoscaler.planners.proteus.proteus_planner import ProteusPlanner
from autoscaler_scene import SEEDS, some_cluster, some_observation
from plan_checker import broken

OPTIONS = st.builds(
    ProteusOptions,
    headroom=st.sampled_from((1.0, 1.05, 1.5)),
    deviations=st.sampled_from((0.0, 0.5)),
    tolerance=st.sampled_from((0.0, 0.002, 0.1)),
    room_down_to=st.sampled_from((0.5, 0.97, 1.0)),
    accuracy=st.sampled_from(("given", "normalised")),
    gap=st.sampled_from((0.0, 1e-3)),
    fair=st.booleans(),
)


@settings(max_examples=200, derandomize=True)
@given(SEEDS, OPTIONS)
def test_a_plan_keeps_every_equation(rng: np.random.Generator, options: ProteusOptions) -> None:
    cluster = some_cluster(rng)
    observation = some_observation(rng, cluster)
    plan = ProteusPlanner(cluster, options).plan(observation)
    assert isinstance(plan, ClusterPlan)
    assert broken(cluster, observation, plan) == []


@settings(max_examples=100, derandomize=True)
@given(SEEDS)
def test_a_plan_with_two_variants_on_a_worker_keeps_them_too(rng: np.random.Generator) -> None:
    cluster = some_cluster(rng, memory=True)
    observation = some_observation(rng, cluster)
    plan = ProteusPlanner(cluster, ProteusOptions(per_worker=2)).plan(observation)
    assert isinstance(plan, ClusterPlan)
    assert broken(cluster, observation, plan, per_worker=2) == []
