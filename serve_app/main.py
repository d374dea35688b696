"""What ``serve run`` imports: ``serve_app.main:build``."""

import logging
import time
from pathlib import Path

from ray import serve
from ray.serve.config import RequestRouterConfig

from catalog.catalogue import load_catalogue
from deployments.table_making import OnProgress
from deployments.worker import WorkerDeployment
from serve_app.assemble import assemble, resolve_paths
from serve_app.ingress import RouterDeployment
from serve_app.profiles import profiles_for
from serve_app.schema import AppConfig
from serve_app.tables import grids_for, problems_for

logger = logging.getLogger("ray.serve")

LOG_EVERY_S = 5.0


def build(args: AppConfig) -> serve.Application:
    """The Serve application of a config: one router, and one deployment of workers per pool.

    Raises `ConfigError` naming the field that is wrong. Measures, once, the variants of devices for which the
    config names no profile, and makes the tables of arrival-aware endpoints.
    """
    config = resolve_paths(args, Path.cwd())
    catalogue = load_catalogue(config.catalogue)
    profiles = profiles_for(config, catalogue)
    grids = grids_for(config, catalogue, profiles, _log_progress())
    for name, by_device in grids.items():
        for device, grid in by_device.items():
            loads = (len(grid.tables), grid.loads_qps[0], grid.loads_qps[-1])
            logger.info("Endpoint %s on %s: %d decision tables, for %.3g to %.4g queries/s.", name, device, *loads)
    assembly = assemble(config, catalogue, profiles, grids)
    problems = problems_for(config, catalogue, profiles)
    pools = {}
    for name, pool in config.pools.items():
        deployment = WorkerDeployment.options(
            name=name,
            num_replicas=pool.workers,
            max_ongoing_requests=16,
            ray_actor_options={"num_cpus": pool.num_cpus, "num_gpus": pool.num_gpus},
            request_router_config=RequestRouterConfig(
                request_router_class="deployments.worker_address:WorkerAddressRouter"
            ),
        )
        pools[name] = deployment.bind(assembly.workers[name])
    router = RouterDeployment.options(ray_actor_options={"num_cpus": config.router_num_cpus})
    return router.bind(assembly.plan, assembly.endpoints, problems, config.max_body_bytes, pools)


def _log_progress() -> OnProgress:
    """Logs how far the tables are, where that takes long."""
    logged_s = time.monotonic()

    def on_table(endpoint: str, done: int, wanted: int) -> None:
        nonlocal logged_s
        if time.monotonic() - logged_s > LOG_EVERY_S:
            logged_s = time.monotonic()
            logger.info("Endpoint %s: %d decision tables are made, of %d or more.", endpoint, done, wanted)

    return on_table
