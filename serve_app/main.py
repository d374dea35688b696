"""What ``serve run`` imports: ``serve_app.main:build``."""

import logging
from collections.abc import Mapping
from pathlib import Path

from ray import serve
from ray.serve.config import RequestRouterConfig

from catalog.catalogue import Catalogue, load_catalogue
from catalog.profile import LatencyProfile
from catalog.profile_csv import read_profiles
from deployments.measure import measured_profiles
from deployments.worker import WorkerDeployment
from serve_app.assemble import assemble, resolve_paths, served_variants
from serve_app.ingress import RouterDeployment
from serve_app.schema import AppConfig

logger = logging.getLogger("ray.serve")


def build(args: AppConfig) -> serve.Application:
    """The Serve application of a config: one router, and one deployment of workers per pool.

    Raises `ConfigError` naming the field that is wrong. Measures, once, the variants of devices for which the
    config names no profile.
    """
    config = resolve_paths(args, Path.cwd())
    catalogue = load_catalogue(config.catalogue)
    assembly = assemble(config, catalogue, _profiles(config, catalogue))
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
    return router.bind(assembly.plan, assembly.endpoints, config.max_body_bytes, pools)


def _profiles(config: AppConfig, catalogue: Catalogue) -> dict[str, Mapping[str, LatencyProfile]]:
    profiles: dict[str, Mapping[str, LatencyProfile]] = {}
    for pool in config.pools.values():
        if pool.device in profiles:
            continue
        path = config.profiles.get(pool.device)
        if path is not None:
            profiles[pool.device] = {name: row.profile for name, row in read_profiles(Path(path), pool.device).items()}
        else:
            served = served_variants(config, catalogue)
            profiles[pool.device] = measured_profiles(served, catalogue.root, pool.device, pool.threads)
    return profiles
