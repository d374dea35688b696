"""The program of Proteus, section 4, with integers per device type and column."""

from collections.abc import Mapping, Sequence
from math import inf

from ortools.math_opt.python import mathopt

from autoscaler.planners.proteus.column import Column, Use

UseKey = tuple[Column, Use]


class PlacementModel:
    """Workers per column, and the load that each use of a column takes.

    With n workers of a column and z queries per second per use (Eq. 4 and 5 in one, for workers that divide their
    time): sum over uses of z / P at most n; per device type sum of n at most the workers there are (Eq. 1); per
    endpoint sum of z at most the demand (Eq. 2 and 6, where the demand can be met). Eq. 3 holds by construction:
    uses exist only where the variant serves the endpoint. Where less is asked for than one worker could serve, it is
    the demand that counts as its capacity: that holds for whole workers as well, brings the relaxation closer to them,
    and leaves no demand so small that a solver would take its part of a worker for none.

    The batches of an endpoint are limited by device type. So its workers of one type with one variant are all of
    columns within the same objective.

    ``workers`` is by device type; ``demand_qps`` by endpoint; ``pinned`` limits the workers per device type and
    endpoint, None where all may change their endpoint. ``integer`` False is the relaxation.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        workers: Mapping[str, int],
        demand_qps: Mapping[str, float],
        pinned: Mapping[tuple[str, str], int] | None = None,
        *,
        integer: bool,
    ) -> None:
        model = self.model = mathopt.Model()
        self.count: dict[Column, mathopt.Variable] = {}
        self.load: dict[UseKey, mathopt.Variable] = {}
        self.demand_qps = demand_qps
        on_device: dict[str, list[mathopt.Variable]] = {device: [] for device in workers}
        of_endpoint: dict[str, list[mathopt.Variable]] = {name: [] for name in demand_qps}
        pinned_counts: dict[tuple[str, str], list[mathopt.Variable]] = {}
        for column in columns:
            uses = [use for use in column.uses if demand_qps.get(use.endpoint, 0.0) > 0.0]
            if not uses or not workers.get(column.device):
                continue
            limit = float(workers[column.device]) if integer else inf  # else its dual value would hide the pool's
            count = self.count[column] = model.add_variable(lb=0.0, ub=limit, is_integer=integer)
            on_device[column.device].append(count)
            busy = self._at_most(count)
            for use in uses:
                demand = demand_qps[use.endpoint]
                load = self.load[column, use] = model.add_variable(lb=0.0, ub=demand)
                of_endpoint[use.endpoint].append(load)
                busy.set_coefficient(load, 1.0 / (use.qps if len(uses) > 1 else min(use.qps, demand)))
                if len(uses) > 1 and demand < use.qps:
                    self._at_most(count).set_coefficient(load, 1.0 / demand)
                pinned_counts.setdefault((column.device, use.endpoint), []).append(count)
        self.within_pool = {
            device: model.add_linear_constraint(mathopt.fast_sum(counts) <= float(workers[device]))
            for device, counts in on_device.items()
        }
        if pinned is not None:
            for key, counts in pinned_counts.items():
                model.add_linear_constraint(mathopt.fast_sum(counts) <= float(pinned.get(key, 0)))
        self._keep_apart(workers, integer)
        self.served = {name: mathopt.fast_sum(loads) for name, loads in of_endpoint.items()}
        self._within = {
            name: model.add_linear_constraint(served <= demand_qps[name]) for name, served in self.served.items()
        }

    @property
    def total_served(self) -> mathopt.LinearExpression:
        """Queries per second that the plan serves."""
        return mathopt.fast_sum(self.load.values())

    @property
    def total_accuracy(self) -> mathopt.LinearExpression:
        """Sum over endpoints of a of section 4: accuracy times queries per second."""
        return mathopt.fast_sum([use.accuracy * load for (_, use), load in self.load.items()])

    def accuracy_of(self, endpoint: str) -> mathopt.LinearExpression:
        """The endpoint's part of `total_accuracy`."""
        return mathopt.fast_sum([u.accuracy * load for (_, u), load in self.load.items() if u.endpoint == endpoint])

    def serve_all(self, part: float) -> None:
        """From now on that part of every endpoint's demand must be served, 1 for all of it (Eq. 6)."""
        for name, constraint in self._within.items():
            constraint.lower_bound = self.demand_qps[name] * part

    def serve_at_least(self, qps: float) -> None:
        """From now on so many queries per second must be served."""
        self.model.add_linear_constraint(self.total_served >= qps)

    # -- inner steps ------------------------------------------------------------------------------------------

    def _at_most(self, count: mathopt.Variable) -> mathopt.LinearConstraint:
        """What is added to it is at most ``count``; without an expression, of which there would be many."""
        constraint = self.model.add_linear_constraint(ub=0.0)
        constraint.set_coefficient(count, -1.0)
        return constraint

    def _keep_apart(self, workers: Mapping[str, int], integer: bool) -> None:
        """By device type and endpoint only columns within one of the objectives that there are."""
        counts: dict[tuple[str, str], dict[float, list[mathopt.Variable]]] = {}
        for column, use in self.load:
            if column.within_s is not None:
                of_endpoint = counts.setdefault((column.device, use.endpoint), {})
                of_endpoint.setdefault(column.within_s, []).append(self.count[column])
        for (device, _), within in counts.items():
            if len(within) > 1:
                taken = [self.model.add_variable(lb=0.0, ub=1.0, is_integer=integer) for _ in within]
                self.model.add_linear_constraint(mathopt.fast_sum(taken) <= 1.0)
                for one, own in zip(taken, within.values(), strict=True):
                    self.model.add_linear_constraint(mathopt.fast_sum(own) <= float(workers[device]) * one)
