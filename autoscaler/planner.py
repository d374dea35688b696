"""The seam of planners."""

from typing import Protocol

from autoscaler.cluster_plan import ClusterPlan, NoPlan
from autoscaler.observation import Observation


class Planner(Protocol):
    """Decides for the whole cluster. A pure function of the observation: no clock, no randomness, no memory."""

    @property
    def name(self) -> str:
        """What a config calls it."""
        ...

    def plan(self, observation: Observation) -> ClusterPlan | NoPlan:
        """The plan to be in force next, or that none was found in time, so that the one before stays."""
        ...
