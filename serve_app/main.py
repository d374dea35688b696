"""What ``serve run`` imports: ``serve_app.main:build``."""

import logging
import time
from pathlib import Path

from ray import serve
from ray.serve.config import AutoscalingConfig, AutoscalingPolicy, RequestRouterConfig

from catalog.catalogue import load_catalogue
from deployments.scaling_policy import PlannedSize
from deployments.table_making import OnProgress
from deployments.worker import WorkerDeployment
from deployments.worker_messages import WorkerSpec
from serve_app.assemble import assemble, resolve_paths, served_variants
from serve_app.control import control_settings
from serve_app.control_app import ControllerDeployment
from serve_app.emulation import emulate, log_emulated
from serve_app.ingress import RouterDeployment
from serve_app.profiles import profiles_for
from serve_app.reservations import with_light_reservations
from serve_app.schema import AppConfig, PoolConfig
from serve_app.tables import grids_for, problems_for

logger = logging.getLogger("ray.serve")

LOG_EVERY_S = 5.0

MOST_WORKERS = 10_000
"""Serve's own limit of a pool; the config's is the controller's to keep, and may change while it runs."""

BY_ADDRESS = RequestRouterConfig(request_router_class="deployments.worker_address:WorkerAddressRouter")


def build(args: AppConfig) -> serve.Application:
    """The Serve application of a config: routers, a controller, and one deployment of workers per pool.

    Raises `ConfigError` naming the field that is wrong. Measures, once, the variants of devices for which the
    config names no profile, and makes the tables of arrival-aware endpoints. With ``emulate`` no model is deployed.
    """
    config = resolve_paths(args, Path.cwd())
    catalogue = load_catalogue(config.catalogue)
    profiles = profiles_for(config, catalogue)
    config, catalogue = with_light_reservations(config), emulate(config, catalogue, profiles)
    log_emulated(served_variants(config, catalogue))
    grids = grids_for(config, catalogue, profiles, _log_progress())
    for name, by_device in grids.items():
        for device, grid in by_device.items():
            loads = (len(grid.tables), grid.loads_qps[0], grid.loads_qps[-1])
            logger.info("Endpoint %s on %s: %d decision tables, for %.3g to %.4g queries/s.", name, device, *loads)
    assembly = assemble(config, catalogue, profiles, grids)
    problems = problems_for(config, catalogue, profiles)
    settings = control_settings(config, catalogue, profiles)
    pools = {name: _pool(name, pool, assembly.workers[name]) for name, pool in config.pools.items()}
    controller = ControllerDeployment.options(ray_actor_options={"num_cpus": config.controller.num_cpus})
    router = RouterDeployment.options(
        num_replicas=config.routers,
        ray_actor_options={"num_cpus": config.router_num_cpus},
    )
    bound = controller.bind(settings, pools)
    return router.bind(assembly.plan, assembly.endpoints, problems, config.max_body_bytes, pools, bound)


def _pool(name: str, pool: PoolConfig, spec: WorkerSpec) -> serve.Application:
    """The deployment of a pool: as large as the controller says, within what the config allows at any time."""
    selector = {"label_selector": pool.label_selector} if pool.label_selector else {}
    return WorkerDeployment.options(
        name=name,
        max_ongoing_requests=16,
        ray_actor_options={"num_cpus": pool.num_cpus, "num_gpus": pool.num_gpus, **selector},
        request_router_config=BY_ADDRESS,
        graceful_shutdown_wait_loop_s=0.5,
        autoscaling_config=AutoscalingConfig(
            min_replicas=0,
            initial_replicas=pool.workers,
            max_replicas=MOST_WORKERS,
            upscale_delay_s=0,
            downscale_delay_s=0,
            policy=AutoscalingPolicy(policy_function=PlannedSize),
        ),
    ).bind(spec)


def _log_progress() -> OnProgress:
    """Logs how far the tables are, where that takes long."""
    logged_s = time.monotonic()

    def on_table(endpoint: str, done: int, wanted: int) -> None:
        nonlocal logged_s
        if time.monotonic() - logged_s > LOG_EVERY_S:
            logged_s = time.monotonic()
            logger.info("Endpoint %s: %d decision tables are made, of %d or more.", endpoint, done, wanted)

    return on_table
