"""What ``serve run`` imports: ``serve_app.main:build``."""

import sys
from pathlib import Path
from typing import Any

from serve_app.shadowing import refuse_shadows

refuse_shadows(Path(folder) for folder in sys.path)  # before anything else of Accord is imported

from ray import serve
from ray.serve import Deployment
from ray.serve.config import AutoscalingConfig, AutoscalingPolicy, RequestRouterConfig

from catalog.catalogue import load_catalogue
from deployments.messages.worker import WorkerSpec
from deployments.scaling.policy import PlannedSize
from deployments.worker.replica import WorkerDeployment
from serve_app.build.application_parts import application_parts
from serve_app.build.assemble import resolve_paths
from serve_app.build.control_app import ControllerDeployment
from serve_app.build.endpoints.stacked import with_stacked
from serve_app.build.ingress import RouterDeployment
from serve_app.build.interference import interference_settings
from serve_app.build.ladders import ladders_for
from serve_app.build.named_variants import check_named_variants
from serve_app.build.profiles import profiles_for
from serve_app.build.router_settings import router_settings
from serve_app.build.user_code import check_user_code
from serve_app.config.emulation import log_emulated
from serve_app.config.pool import PoolConfig
from serve_app.config.read import app_config

MOST_WORKERS = 10_000
"""Serve's own limit of a pool; the config's is the controller's to keep, and may change while it runs."""

HEALTH_EVERY_S = 2.0
HEALTH_TIMEOUT_S = 3.0
"""Serve replaces a worker that fails three checks in a row, each by an error or by no answer in this time: one that is
stopped is found within some 12 s, and a busy machine holds up no process for so long."""

BY_ADDRESS = RequestRouterConfig(request_router_class="deployments.worker.address:WorkerAddressRouter")


def build(args: dict[str, Any]) -> serve.Application:
    """What ``import_path`` of a config names: see `application`."""
    return application(args)


def application(args: dict[str, Any], controller_deployment: Deployment = ControllerDeployment) -> serve.Application:
    """The Serve application of a config: routers, a controller, and one deployment of workers per pool.

    Raises `ConfigError` naming the field that is wrong. Measures, once, the variants of devices for which the
    config names no profile, and makes the ladders of endpoints that are served by load alone. With ``emulate`` no model
    is deployed.
    """
    config = resolve_paths(app_config(args), Path.cwd())
    interference = interference_settings(config)
    catalogue = with_stacked(config, load_catalogue(config.catalogue))
    check_named_variants(config, catalogue)
    check_user_code(config, catalogue)
    profiles = profiles_for(config, catalogue)
    parts = application_parts(config, catalogue, profiles, ladders_for(config, catalogue, profiles), interference)
    log_emulated(parts.served)
    config, assembly = parts.config, parts.assembly
    pools = {name: _pool(name, pool, assembly.workers[name]) for name, pool in config.pools.items()}
    controller = controller_deployment.options(ray_actor_options={"num_cpus": config.controller.num_cpus})
    router = RouterDeployment.options(
        num_replicas=config.routers,
        ray_actor_options={"num_cpus": config.router_num_cpus},
    )
    bound = controller.bind(parts.control, pools)
    return router.bind(assembly.plan, assembly.endpoints, router_settings(config), pools, bound)


def _pool(name: str, pool: PoolConfig, spec: WorkerSpec) -> serve.Application:
    """The deployment of a pool: as large as the controller says, within what the config allows at any time."""
    more: dict[str, Any] = {"label_selector": pool.label_selector} if pool.label_selector else {}
    more |= {"runtime_env": pool.runtime_env} if pool.runtime_env else {}
    return WorkerDeployment.options(
        name=name,
        max_ongoing_requests=16,
        ray_actor_options={"num_cpus": pool.num_cpus, "num_gpus": pool.num_gpus, **more},
        request_router_config=BY_ADDRESS,
        graceful_shutdown_wait_loop_s=0.5,
        health_check_period_s=HEALTH_EVERY_S,
        health_check_timeout_s=HEALTH_TIMEOUT_S,
        autoscaling_config=AutoscalingConfig(
            min_replicas=0,
            initial_replicas=pool.workers,
            max_replicas=MOST_WORKERS,
            upscale_delay_s=0,
            downscale_delay_s=0,
            policy=AutoscalingPolicy(policy_function=PlannedSize),
        ),
    ).bind(spec)
