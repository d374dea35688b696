"""The keys that Ray reads in a Serve config file, so that others are refused: Ray itself ignores most of them.

They are written out here because to import ``ray.serve.schema`` takes longer than most commands do.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from catalog.faults import LONGEST, nearest

OWN = "x-"
"""What keys begin with that hold pieces of YAML for other places, by anchors."""


@dataclass(frozen=True)
class Section:
    """A mapping of the file."""

    keys: tuple[str, ...]  # in the order of Ray's schema
    sections: Mapping[str, "Section"] = field(default_factory=dict)  # under these keys: one, or a list of such


LOGGING = Section(("encoding", "log_level", "logs_dir", "enable_access_log", "additional_log_standard_attrs"))

HTTP = Section(
    (
        "host",
        "port",
        "root_path",
        "request_timeout_s",
        "keep_alive_timeout_s",
        "ssl_keyfile",
        "ssl_certfile",
        "ssl_keyfile_password",
        "ssl_ca_certs",
    )
)

GRPC = Section(("port", "grpc_servicer_functions", "request_timeout_s", "enable_reflection"))

CONTROLLER = Section(("runtime_env",))

TRACING = Section(("enabled", "exporter_import_path", "sampling_ratio"))

ACTOR = Section(
    (
        "runtime_env",
        "num_cpus",
        "num_gpus",
        "memory",
        "resources",
        "accelerator_type",
        "label_selector",
        "fallback_strategy",
    )
)

DEPLOYMENT = Section(
    (
        "name",
        "num_replicas",
        "max_ongoing_requests",
        "max_queued_requests",
        "backpressure_config",
        "user_config",
        "autoscaling_config",
        "graceful_shutdown_wait_loop_s",
        "graceful_shutdown_timeout_s",
        "health_check_period_s",
        "health_check_timeout_s",
        "ray_actor_options",
        "placement_group_bundles",
        "placement_group_strategy",
        "placement_group_bundle_label_selector",
        "max_replicas_per_node",
        "logging_config",
        "request_router_config",
        "gang_scheduling_config",
        "deployment_actors",
        "rolling_update_percentage",
        "max_surge_percent",
    ),
    {"ray_actor_options": ACTOR, "logging_config": LOGGING},
)

APPLICATION = Section(
    (
        "name",
        "route_prefix",
        "import_path",
        "runtime_env",
        "host",
        "port",
        "deployments",
        "autoscaling_policy",
        "args",
        "logging_config",
        "external_scaler_enabled",
    ),
    {"deployments": DEPLOYMENT, "logging_config": LOGGING},
)

SERVE_FILE = Section(
    (
        "proxy_location",
        "http_options",
        "grpc_options",
        "controller_options",
        "logging_config",
        "tracing_config",
        "applications",
        "target_capacity",
    ),
    {
        "http_options": HTTP,
        "grpc_options": GRPC,
        "controller_options": CONTROLLER,
        "logging_config": LOGGING,
        "tracing_config": TRACING,
        "applications": APPLICATION,
    },
)


def unknown_keys(content: Mapping[Any, Any], section: Section = SERVE_FILE, where: str = "") -> Iterator[str]:
    """One sentence per key that Ray would not read: its path, the nearest known name and all that are known there.

    What is no mapping, where there should be one, is passed over: Ray refuses it. So are keys with `OWN`.
    """
    for key, value in content.items():
        path = where + str(key)[:LONGEST]
        if str(key).startswith(OWN):
            continue
        if key not in section.keys:
            near = nearest(str(key)[:LONGEST], section.keys)
            yield f"{path} is unknown{near}; known here: {', '.join(section.keys)}"
        elif key in section.sections:
            listed = isinstance(value, list)
            for number, entry in enumerate(value if listed else [value]):
                if isinstance(entry, Mapping):
                    yield from unknown_keys(
                        entry, section.sections[key], f"{path}[{number}]." if listed else f"{path}."
                    )
