"""What the arrival-aware endpoints of a config need tables for."""

from typing import cast

from catalog.catalogue import Catalogue
from deployments.processes import processes
from deployments.router.tables.making import OnProgress, make_grids
from dispatch.selection.ramsis.arrivals import Poisson
from dispatch.selection.ramsis.problem import Balancing, WorkerProblem, formulation_for
from dispatch.selection.ramsis.tables.grid import TableGrid
from serve_app.build.candidates import Profiles, candidates_of
from serve_app.config.schema import AppConfig

LATE_BY_PROFILE = 0.05
"""Candidates have the 95th percentile of their profile as what must fit into the slack."""


def problems_for(config: AppConfig, catalogue: Catalogue, profiles: Profiles) -> dict[str, dict[str, WorkerProblem]]:
    """Endpoint to device to problem, for endpoints with policy ``ramsis``; raises `ConfigError`.

    The workers that one router has of the endpoint's pools share its load, which is for `make_grids` to vary.
    """
    problems: dict[str, dict[str, WorkerProblem]] = {}
    for name, endpoint in config.endpoints.items():
        if endpoint.policy != "ramsis":
            continue
        balancing = cast(Balancing, endpoint.balancing)
        formulation = formulation_for(balancing, endpoint.selection.formulation)
        workers = sum(pool.workers for pool in config.pools_of(name).values())
        each = max(1, workers // config.routers)  # a router has its part of the workers and of the load
        problems[name] = {
            device: WorkerProblem.of(
                offered,
                endpoint.slo_ms / 1e3,
                each,
                Poisson(1.0),
                formulation,
                balancing=balancing,
                late_share=LATE_BY_PROFILE,
            )
            for device, offered in candidates_of(name, config, catalogue, profiles).items()
        }
    return problems


def grids_for(
    config: AppConfig, catalogue: Catalogue, profiles: Profiles, on_progress: OnProgress | None = None
) -> dict[str, dict[str, TableGrid]]:
    """The tables of every arrival-aware endpoint and device; makes those that are not kept from an earlier start."""
    with processes() as executor:
        return make_grids(problems_for(config, catalogue, profiles), executor, on_progress)
