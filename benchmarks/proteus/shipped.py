"""The planner that a service with the shipped config has, for the cluster of the benchmark."""

from pathlib import Path
from typing import Any

import yaml

from autoscaler.cluster.cluster import Cluster
from autoscaler.planners.ipa.problem import IpaOptions
from autoscaler.planners.proteus.options import ProteusOptions
from autoscaler.planners.proteus.proteus_planner import ProteusPlanner
from autoscaler.planners.registry import PlannerOptions, planner_kind
from catalog.errors import ConfigError
from serve_app.build.control import proteus_options
from serve_app.config.planning.proteus import ProteusConfig
from serve_app.config.read import app_config

CONFIG = Path(__file__).parents[2] / "configs" / "accuracy-scaling.yaml"


def shipped_options(cluster: Cluster, workers: int, config: Path = CONFIG) -> ProteusOptions:
    """What the controller of a service with ``controller`` of this config tells its planner on so many workers.

    Made as the controller makes it, so that what is benchmarked is what serves. Raises `ConfigError` for a config that
    cannot be read or whose planner is another one.
    """
    controller = app_config(_arguments(config)).controller
    given = controller.proteus or ProteusConfig()
    per_task = workers / len(cluster.endpoints)
    options = PlannerOptions(per_task, IpaOptions(), proteus_options(given), given.per_worker)
    planner = planner_kind(controller.planner).make(cluster, options)
    if not isinstance(planner, ProteusPlanner):
        raise ConfigError(f"{config} has planner {controller.planner!r}; give a config with planner proteus")
    return planner.options


def shipped_proteus() -> dict[str, Any]:
    """``controller.proteus`` of the shipped config, for the config of another service."""
    return dict(_arguments(CONFIG)["controller"]["proteus"])


def _arguments(config: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(config.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {config}: {error.strerror}; give the path of a Serve config") from error
    return dict(content["applications"][0]["args"])
