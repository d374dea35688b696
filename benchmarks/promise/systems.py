"""The policies that are compared, each as the quickstart with another selection."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from catalog.catalogue import load_catalogue
from catalog.variant import Variant
from serve_app.build.profiles import profiles_for
from serve_app.cli.config_file import read_serve_file
from serve_app.config.schema import AppConfig

QUICKSTART = Path(__file__).parents[2] / "configs" / "quickstart.yaml"
ENDPOINT = "digits"
PORT = 8010
LARGE_BATCH = 64
POLICIES = ("ramsis", "greedy", "jellyfish_plus", "model_switching", "fixed")


@dataclass(frozen=True)
class System:
    """A policy under the name of the report, and the fields of the endpoint that choose it."""

    name: str
    endpoint: Mapping[str, Any]

    @classmethod
    def of(cls, policy: str) -> "System":
        """A policy by name; ``fixed`` serves the most accurate variant. The two baselines share one queue."""
        if policy == "fixed":
            return cls.of_variant(policy, max(_digits(), key=lambda variant: variant.accuracy).name)
        if policy in ("jellyfish_plus", "model_switching"):
            return cls(policy, {"selection": {"policy": policy}, "balancing": "central"})
        return cls(policy, {"selection": {"policy": policy}})

    @classmethod
    def of_variant(cls, name: str, variant: str) -> "System":
        """One variant, whatever waits."""
        return cls(name, {"selection": {"policy": "fixed", "variant": variant}})

    def config(self, folder: Path) -> dict[str, Any]:
        """The Serve config, with a port and, in ``folder``, a state of its own."""
        content: dict[str, Any] = copy.deepcopy(yaml.safe_load(QUICKSTART.read_text(encoding="utf-8")))
        args = content["applications"][0]["args"]
        args["endpoints"][ENDPOINT] = {**args["endpoints"][ENDPOINT], **self.endpoint}
        return at_home(content, folder)

    def check(self, folder: Path) -> None:
        """Raise `ConfigError` where this version cannot serve it."""
        path = folder / f"{self.name}.yaml"
        path.write_text(yaml.safe_dump(self.config(folder)), encoding="utf-8")
        read_serve_file(path)


def at_home(content: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The same Serve config with the port of this benchmark and its state in ``folder``."""
    content["http_options"] = {**content.get("http_options", {}), "host": "127.0.0.1", "port": PORT}
    args = content["applications"][0]["args"]
    args["controller"] = {**args.get("controller", {}), "state": str(folder / "state.db")}
    return content


def fastest_variant() -> str:
    """The digits variant with the shortest p95 for a batch of `LARGE_BATCH` rows, as profiled on this machine."""
    catalogue = load_catalogue("builtin")
    config = AppConfig.model_validate(
        {"endpoints": {ENDPOINT: {"task": ENDPOINT, "slo_ms": 100}}, "pools": {"cpu": {}}}
    )
    profiles = profiles_for(config, catalogue)["cpu"]
    return min(profiles, key=lambda name: profiles[name].latency_ms(LARGE_BATCH))


def _digits() -> tuple[Variant, ...]:
    return load_catalogue("builtin").of_task(ENDPOINT)
