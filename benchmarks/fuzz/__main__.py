"""A hundred thousand bad inputs against the quickstart, and what became of them.

``python -m benchmarks.fuzz --json``. Starts `accord run` with configs/quickstart.yaml and sends, over 16 connections
and partly pipelined: JSON with anything in any place, cut, changed, deep and large bodies, wrong headers, chunks and
paths, bad requests to what changes the service, and what is no HTTP at all. Good queries go among them over
connections of their own. Goals: no error of the server (5xx) that docs/http-api.md does not list, no request without
an answer, no process of the service gone, every good query answered. The same seed sends the same inputs.
"""

import argparse
import asyncio
import time
import urllib.parse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import yaml
from rich.console import Console

from benchmarks.fuzz.processes import ROUTER, memory_mb, processes, settled
from benchmarks.fuzz.run import Outcome, Target, fuzz
from benchmarks.machine import with_machine
from catalog.zoo.digits import held_out
from serve_app.testing.service import Service, running

ERR = Console(stderr=True)
CONFIG = Path(__file__).resolve().parents[2] / "configs" / "quickstart.yaml"
START_WITHIN_S = 180.0


def main() -> None:
    """Serve, send and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of YAML")
    parser.add_argument("--requests", type=int, default=100_000, help="bad inputs (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the inputs (default %(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="to serve on (default %(default)s)")
    args = parser.parse_args()
    content = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    content["http_options"]["port"] = args.port
    good = _digit()
    with (
        TemporaryDirectory() as folder,
        running(content, Path(folder), "digits", orjson.dumps(good), within_s=START_WITHIN_S) as service,
    ):
        ERR.print(f"Ready after {service.ready_s:.0f} s", highlight=False)
        body = with_machine(_report(service, good, args.requests, args.seed), rates=("requests_per_s",))
    print(orjson.dumps(body).decode() if args.json else yaml.safe_dump(body, sort_keys=False))


def _report(service: Service, good: Any, requests: int, seed: int) -> dict[str, Any]:
    before = settled(service.pid)
    router_mb = memory_mb(before, ROUTER)
    address = urllib.parse.urlsplit(service.url)
    target = Target(address.hostname or "127.0.0.1", address.port or 80, good, _operator())
    began_s = time.monotonic()
    outcome = asyncio.run(fuzz(target, requests, seed))
    took_s = time.monotonic() - began_s
    after = processes(service.pid)
    return {
        "requests": requests,
        "seed": seed,
        "took_s": round(took_s, 1),
        "requests_per_s": round(requests / took_s, 1),
        **_figures(outcome),
        "gone": sorted(title for pid, title in before.items() if pid not in after),
        "come": sorted(title for pid, title in after.items() if pid not in before),
        "router_mb": {"before": router_mb, "after": memory_mb(after, ROUTER)},
        **_goals(outcome, before, after),
    }


def _figures(outcome: Outcome) -> dict[str, Any]:
    verdict = outcome.verdict
    return {
        "by_status": dict(sorted(verdict.by_status.items())),
        "by_kind": dict(sorted(verdict.by_kind.items())),
        "undocumented_5xx": verdict.undocumented,
        "unanswered": verdict.unanswered,
        "good_sent": outcome.good,
        "good_answered": outcome.answered,
        "good_slowest_ms": round(outcome.slowest_s * 1e3, 1),
        "examples": verdict.examples,
    }


def _goals(outcome: Outcome, before: dict[int, str], after: dict[int, str]) -> dict[str, Any]:
    goals = {
        "no_undocumented_5xx": outcome.verdict.undocumented == 0,
        "every_request_answered": outcome.verdict.unanswered == 0,
        "no_process_gone": bool(before) and before.keys() <= after.keys(),
        "good_queries_answered": outcome.good > 0 and outcome.answered == outcome.good,
    }
    return {"goals": goals, "goals_met": all(goals.values())}


def _digit() -> Any:
    image = held_out()[0][0]
    pixels = image.astype(int).ravel().tolist()
    return {"inputs": [{"name": "image", "shape": [1, *image.shape], "datatype": "FP32", "data": pixels}]}


def _operator() -> dict[str, Any]:
    """Good requests of an operator; the model of the variant is nowhere, so that even a good one registers nothing."""
    variant = {
        "name": "fuzzed",
        "task": "digits",
        "runtime": "onnx",
        "artifact": {"uri": "models/nowhere.onnx"},
        "accuracy": 0.5,
        "inputs": [{"name": "image", "datatype": "FP32", "shape": [-1, 12, 12]}],
        "outputs": [{"name": "label", "datatype": "INT64", "shape": [-1]}],
    }
    return {
        "/accord/plan/simulate": {"load_qps": {"digits": 50.0}},
        "/accord/variants": variant,
        "/v2/models/digits/feedback": {"feedback": [{"id": "fuzz", "label": 7}, {"id": "b", "label": ["7"]}]},
    }


if __name__ == "__main__":
    main()
