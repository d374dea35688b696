"""The user's application, running: how it is told which rule to follow, and what it bears."""

import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import orjson
import yaml

from benchmarks.serving.closed_loop import measure
from catalog.catalogue import load_catalogue
from serve_app.cli.run.environment import SERVE_ENV
from serve_app.testing.served import served

PORT = 8010
PATH = "/infer"
APPLICATIONS_URL = "http://127.0.0.1:8265/api/serve/applications/"
SERVED_ENV = {
    key: SERVE_ENV[key]
    for key in (
        "RAY_SERVE_ENABLE_HA_PROXY",
        "RAY_SERVE_THROUGHPUT_OPTIMIZED",
        "RAY_SERVE_HAPROXY_NBTHREAD",
        "RAY_SERVE_DIRECT_INGRESS_MIN_DRAINING_PERIOD_S",
        "RAY_worker_niceness",
    )
}
"""Whatever `accord run` tunes in Ray and Serve, the user has as well."""

ALWAYS, NEVER = -1, 10**9
CONNECTIONS = (4, 8, 16)
"""So many queries at a time; on a slow machine the most are too many for any to be in time."""

TRIAL_S = 1.2
ANSWER_S = 30.0


@dataclass(frozen=True)
class Rule:
    """``small`` answers while more than ``limit`` queries wait, else ``accurate``; batches are made as it says."""

    accurate: str
    small: str
    limit: int = NEVER
    max_batch: int = 16
    wait_s: float = 0.002
    threaded: bool = False

    def only(self, variant: str) -> "Rule":
        """One variant always."""
        return replace(self, accurate=variant, small=variant, limit=NEVER)


BATCHES = tuple(
    (max_batch, wait_s, threaded) for threaded in (False, True) for max_batch in (4, 16) for wait_s in (0.0005, 0.002)
)
"""What is tried."""


@dataclass(frozen=True)
class UserService:
    """The running application; ``content`` is its Serve config."""

    content: Mapping[str, Any]

    @property
    def infer_url(self) -> str:
        """Where queries go."""
        return f"http://127.0.0.1:{PORT}{PATH}"

    def follow(self, rule: Rule) -> None:
        """As `serve deploy` does with another ``user_config``: returns once every replica follows the rule."""
        application = {**self.content["applications"][0], "deployments": [_deployment(rule)]}
        _answer("PUT", {**self.content, "applications": [application]})
        end_s = time.monotonic() + ANSWER_S
        time.sleep(0.5)
        while next(iter(_answer("GET")["applications"].values()))["status"] != "RUNNING":
            if time.monotonic() > end_s:
                raise RuntimeError(f"the user's application does not follow {rule} within {ANSWER_S:.0f} s")
            time.sleep(0.1)

    def throughput_qps(self, rule: Rule, bodies: list[bytes], slo_ms: float) -> float:
        """What it answers in time under a rule where clients ask again and again: the most of all `CONNECTIONS`."""
        self.follow(rule)
        measure(PORT, PATH, bodies, CONNECTIONS[0], TRIAL_S / 2)
        seen = [measure(PORT, PATH, bodies, connections, TRIAL_S) for connections in CONNECTIONS]
        return max(sum(1e3 * latency_s <= slo_ms for latency_s in each.latencies_s) / each.seconds for each in seen)


@contextmanager
def user_service(rule: Rule, variants: list[str], replicas: int, folder: Path, body: bytes) -> Iterator[UserService]:
    """The application until the block ends, with all these variants loaded."""
    catalogue = load_catalogue("builtin")
    models = {name: str(Path(catalogue.root) / catalogue.variant(name).artifact.uri) for name in variants}
    application = {
        "name": "user",
        "route_prefix": PATH,
        "import_path": "benchmarks.live_value.user_app:build",
        "args": {"models": models, "replicas": replicas},
        "deployments": [_deployment(rule)],
    }
    content = {
        "proxy_location": "EveryNode",
        "http_options": {"host": "127.0.0.1", "port": PORT},
        "logging_config": {"enable_access_log": False},
        "applications": [application],
    }
    path = folder / "user.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    with served(_command(path), SERVED_ENV, PORT, PATH, body):
        yield UserService(content)


def _command(path: Path) -> list[str]:
    return [str(Path(sys.executable).parent / "serve"), "run", str(path)]


def _deployment(rule: Rule) -> dict[str, Any]:
    return {"name": "Model", "user_config": asdict(rule)}


def _answer(method: str, body: Any = None) -> dict[str, Any]:
    data = None if body is None else orjson.dumps(body)
    request = urllib.request.Request(APPLICATIONS_URL, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=ANSWER_S) as response:
        content = response.read()
    return dict(orjson.loads(content)) if content else {}
