"""What ``serve run`` imports: ``serve_app.main:build``."""

from pathlib import Path

from ray import serve
from ray.serve.config import RequestRouterConfig

from catalog.catalogue import load_catalogue
from deployments.worker import WorkerDeployment
from serve_app.assemble import assemble, resolve_paths
from serve_app.ingress import RouterDeployment
from serve_app.profiles import profiles_for
from serve_app.schema import AppConfig


def build(args: AppConfig) -> serve.Application:
    """The Serve application of a config: one router, and one deployment of workers per pool.

    Raises `ConfigError` naming the field that is wrong. Measures, once, the variants of devices for which the
    config names no profile.
    """
    config = resolve_paths(args, Path.cwd())
    catalogue = load_catalogue(config.catalogue)
    assembly = assemble(config, catalogue, profiles_for(config, catalogue))
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
