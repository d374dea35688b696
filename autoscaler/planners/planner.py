"""The seam of planners."""

from typing import Protocol

from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, NoPlan


class Planner(Protocol):
    """Decides for the whole cluster. A pure function of the observation: no clock, no randomness, no memory."""

    @property
    def name(self) -> str:
        """What a config calls it."""
        ...

    def plan(self, observation: Observation) -> ClusterPlan | NoPlan:
        """The plan to be in force next, or that none was found in time, so that the one before stays."""
        ...
