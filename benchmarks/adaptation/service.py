"""The service under test: a config of its own, what it says over HTTP, and how it is told to change."""

import copy
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import yaml

from autoscaler.planners import registry as planners
from catalog.catalogue import load_catalogue
from catalog.errors import ConfigError
from serve_app.cli.config_file import read_serve_file
from serve_app.loadgen.endpoint import Endpoint
from serve_app.testing.fetch import fetch
from serve_app.testing.served import served

PORT = 8010
DASHBOARD_URL = "http://127.0.0.1:8265"
APPLICATIONS_URL = f"{DASHBOARD_URL}/api/serve/applications/"

NUM_CPUS = 0.1
"""What Ray reserves for each replica: on a small machine more workers than cores are to fit."""

ANSWER_S = 30.0


@dataclass(frozen=True)
class Service:
    """A running service. ``content`` is its Serve config, ``slo_ms`` has the objectives by endpoint."""

    url: str
    content: Mapping[str, Any]
    slo_ms: Mapping[str, float]

    def plan(self) -> dict[str, Any]:
        """GET /accord/plan."""
        return _answer(f"{self.url}/accord/plan")

    def plans(self) -> list[dict[str, Any]]:
        """GET /accord/plans, newest last."""
        return list(_answer(f"{self.url}/accord/plans")["plans"])

    def simulate(self, load_qps: Mapping[str, float]) -> dict[str, Any]:
        """The record of the plan that such loads would get."""
        return dict(_answer(f"{self.url}/accord/plan/simulate", "POST", {"load_qps": load_qps})["plan"])

    def infer_url(self, endpoint: str) -> str:
        """Where its queries go."""
        return Endpoint(self.url, endpoint).infer_url

    def change(self, user_config: Mapping[str, Any]) -> None:
        """What ``serve deploy`` does with the config and another ``user_config`` of the controller.

        The request alone, without starting a process beside the load that is measured.
        """
        content = copy.deepcopy(dict(self.content))
        content["applications"][0]["deployments"] = [{"name": "Controller", "user_config": user_config}]
        _answer(APPLICATIONS_URL, "PUT", content)


def serve_status() -> dict[str, Any]:
    """What ``serve status`` shows of the application. Raises OSError where the dashboard does not answer."""
    applications = _answer(APPLICATIONS_URL)["applications"]
    return dict(next(iter(applications.values()), {}))


def planned_config(source: Path, state: Path) -> dict[str, Any]:
    """The Serve config of that file for this benchmark, with a state of its own. Raises `ConfigError`."""
    read_serve_file(source)
    content: dict[str, Any] = yaml.safe_load(source.read_text(encoding="utf-8"))
    args = content["applications"][0]["args"]
    content.setdefault("http_options", {})["port"] = PORT
    for pool in args["pools"].values():
        pool["num_cpus"] = NUM_CPUS
    args["router_num_cpus"] = NUM_CPUS
    args["controller"] = args.get("controller", {}) | {"num_cpus": NUM_CPUS, "state": str(state)}
    return content


def unplanned_config(planned: Mapping[str, Any]) -> dict[str, Any]:
    """The same, where every endpoint is served by the most accurate variant of its task, whatever the load."""
    content = copy.deepcopy(dict(planned))
    args = content["applications"][0]["args"]
    catalogue = load_catalogue(args.get("catalogue", "builtin"))
    args["controller"]["planner"] = planners.DEFAULT.name
    args["controller"].pop("proteus", None)
    for endpoint in args["endpoints"].values():
        best = max(catalogue.of_task(endpoint["task"]), key=lambda variant: variant.accuracy)
        endpoint["selection"] = {"policy": "fixed", "variant": best.name}
    content["applications"][0].pop("deployments", None)
    return content


@contextmanager
def running(content: Mapping[str, Any], folder: Path, command: list[str], body: bytes) -> Iterator[Service]:
    """The service of a Serve config, written to ``folder``, until the end; ``command`` gets the file's path.

    Raises `ConfigError` where a Ray runs on this machine already, RuntimeError where the service does not start.
    """
    _refuse_other_ray()
    path = folder / "service.yaml"
    path.write_text(yaml.safe_dump(dict(content)), encoding="utf-8")
    file = read_serve_file(path)
    slo_ms = {name: endpoint.slo_ms for name, endpoint in file.app.endpoints.items()}
    service = Service(file.url, content, slo_ms)
    ready = f"/v2/models/{next(iter(slo_ms))}/infer"
    with served([*command, str(path)], {}, PORT, ready, body):
        yield service


def _answer(url: str, method: str = "GET", body: Any = None) -> dict[str, Any]:
    data = None if body is None else orjson.dumps(body)
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    try:
        content = fetch(request, ANSWER_S)
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"{method} {url}: {error.code} {error.read().decode(errors='replace')[:500]}") from error
    return dict(orjson.loads(content)) if content else {}


def _refuse_other_ray() -> None:
    try:
        with urllib.request.urlopen(DASHBOARD_URL, timeout=1):
            pass
    except urllib.error.HTTPError:
        pass
    except OSError:
        return
    raise ConfigError(f"a Ray dashboard answers at {DASHBOARD_URL} already; stop that Ray and try again")
