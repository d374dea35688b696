"""What a config reserves where it is rehearsed: next to nothing."""

from serve_app.config.schema import AppConfig

NUM_CPUS = 0.01
"""What Ray reserves for a worker that holds no core, so that a hundred fit on one."""


def with_light_reservations(config: AppConfig) -> AppConfig:
    """The config for a machine that has none of what it asks for: next to no CPU, no GPU, any node.

    As it is where nothing is to be emulated.
    """
    if config.emulate is None:
        return config
    light = {"num_gpus": 0.0, "label_selector": {}}
    pools = {
        name: pool.model_copy(update={**light, "num_cpus": min(pool.num_cpus, NUM_CPUS)})
        for name, pool in config.pools.items()
    }
    controller = config.controller.model_copy(update={"num_cpus": min(config.controller.num_cpus, NUM_CPUS)})
    router_num_cpus = min(config.router_num_cpus, NUM_CPUS)
    return config.model_copy(update={"pools": pools, "controller": controller, "router_num_cpus": router_num_cpus})
