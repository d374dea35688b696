"""Requests per second of Accord beside plain Ray Serve and a bare process: same model, client, run and machine.

``python -m benchmarks.serving --json``. Every round starts each server in turn, checks its answers against the
model run directly, and measures it at 1 and 64 connections; the figures are medians over the rounds. Batches,
deadlines and the dispatcher are all on in Accord; ``selection: fixed`` keeps it to the one model.
"""

import argparse
import statistics
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnxruntime
import orjson
import yaml

from benchmarks.machine import with_machine
from benchmarks.serving.closed_loop import Measurement, measure
from catalog.catalogue import load_catalogue
from catalog.zoo.digits import held_out
from serve_app.cli.run.environment import SERVE_ENV
from serve_app.testing.served import served

PORT = 8000
QUICKSTART = Path(__file__).parents[2] / "configs" / "quickstart.yaml"
TUNED_ENV = {
    key: SERVE_ENV[key]
    for key in ("RAY_SERVE_ENABLE_HA_PROXY", "RAY_SERVE_THROUGHPUT_OPTIMIZED", "RAY_SERVE_HAPROXY_NBTHREAD")
}
"""Whatever `accord run` tunes in Serve itself, the peer gets as well."""
CONNECTIONS = (1, 64)
SYSTEMS = ("bare", "serve_default", "serve_tuned", "accord")


def main() -> None:
    """Measure, print a table to stderr and, with --json, the figures to stdout."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object last")
    parser.add_argument("--variant", default="digits-mlp", help="built-in variant that all servers run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5.0, help="length of one measurement")
    args = parser.parse_args()
    catalogue = load_catalogue("builtin")
    model = str(Path(catalogue.root) / catalogue.variant(args.variant).artifact.uri)
    images, _ = held_out()
    bodies = [_request(image) for image in images[:200]]
    expected = _labels(model, images[:50])
    runs: dict[str, list[dict[int, Measurement]]] = {system: [] for system in SYSTEMS}
    for number in range(args.rounds):
        for system in SYSTEMS:
            with _server(system, args.variant, model, bodies[0]) as path:
                _check(path, bodies[:50], expected)
                measure(PORT, path, bodies, 64, 2.0)  # warm-up
                result = {c: measure(PORT, path, bodies, c, args.seconds) for c in CONNECTIONS}
            runs[system].append(result)
            shown = ", ".join(f"{m.rps:.0f} req/s at {c}" for c, m in result.items())
            print(f"round {number + 1}: {system}: {shown}", file=sys.stderr, flush=True)
    figures: dict[str, Any] = {system: _figures(rounds) for system, rounds in runs.items()}
    figures["accord_over_serve_default"] = figures["accord"]["rps_64"] / figures["serve_default"]["rps_64"]
    figures["accord_over_serve_tuned"] = figures["accord"]["rps_64"] / figures["serve_tuned"]["rps_64"]
    figures = with_machine(figures | {"variant": args.variant, "rounds": args.rounds}, rates=("rps_1", "rps_64"))
    if args.json:
        print(orjson.dumps(figures).decode())
    else:
        print(yaml.safe_dump(figures, sort_keys=False))


def _figures(rounds: list[dict[int, Measurement]]) -> dict[str, float]:
    return {
        "rps_1": statistics.median(r[1].rps for r in rounds),
        "rps_64": statistics.median(r[64].rps for r in rounds),
        "p50_ms_1": statistics.median(r[1].percentile_ms(50) for r in rounds),
        "p99_ms_64": statistics.median(r[64].percentile_ms(99) for r in rounds),
        "errors": sum(m.errors for r in rounds for m in r.values()),
    }


@contextmanager
def _server(system: str, variant: str, model: str, body: bytes) -> Iterator[str]:
    """Run one of the systems on `PORT`; gives the path that inference is posted to."""
    binaries = Path(sys.executable).parent
    peer_env = {"PEER_MODEL": model}
    serve_batch = [str(binaries / "serve"), "run", "benchmarks.serving.serve_batch:app"]
    if system == "bare":
        bare = [sys.executable, "-m", "uvicorn", "benchmarks.serving.bare:app", "--port", str(PORT)]
        with served([*bare, "--no-access-log", "--lifespan", "off"], peer_env, PORT, "/", body):
            yield "/"
    elif system == "serve_default":
        with served(serve_batch, peer_env, PORT, "/", body):
            yield "/"
    elif system == "serve_tuned":
        with served(serve_batch, peer_env | TUNED_ENV, PORT, "/", body):
            yield "/"
    else:
        path = "/v2/models/digits/infer"
        with TemporaryDirectory() as folder:
            config = Path(folder) / "accord.yaml"
            config.write_text(yaml.safe_dump(kept_to(variant)))
            with served([str(binaries / "accord"), "run", str(config)], {}, PORT, path, body):
                yield path


def kept_to(variant: str) -> dict[str, Any]:
    """The quickstart, kept to one variant."""
    config: dict[str, Any] = yaml.safe_load(QUICKSTART.read_text())
    digits = config["applications"][0]["args"]["endpoints"]["digits"]
    digits["selection"] = {"policy": "fixed", "variant": variant}
    digits.pop("admission", None)  # its clients wait for every answer, however long that takes
    return config


def _request(image: np.ndarray[Any, Any]) -> bytes:
    data = image.astype(int).ravel().tolist()
    tensor = {"name": "image", "shape": [1, *image.shape], "datatype": "FP32", "data": data}
    return orjson.dumps({"inputs": [tensor]})


def _labels(model: str, images: np.ndarray[Any, Any]) -> list[int]:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    (labels,) = session.run(["label"], {session.get_inputs()[0].name: images})
    return [int(label) for label in labels]


def _check(path: str, bodies: list[bytes], expected: list[int]) -> None:
    """Every server must give the model's own answers; raises RuntimeError where one differs."""
    for body, label in zip(bodies, expected, strict=True):
        request = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as response:
            outputs = orjson.loads(response.read())["outputs"]
        given = next(output["data"][0] for output in outputs if output["name"] == "label")
        if given != label:
            raise RuntimeError(f"a server answered {given} where the model says {label}")


if __name__ == "__main__":
    main()
