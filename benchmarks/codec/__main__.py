"""What it costs to read and write a tensor, as JSON and as raw bytes.

``python -m benchmarks.codec --json``. A request with one FP32 tensor of 1 x 3 x 224 x 224 is decoded, and an answer
with one encoded, by the router's own functions, checks included; by orjson and numpy alone, which check nothing; and
by tritonclient's codec, which writes such requests and reads such answers, in a process of its own. ``times_ms`` are
medians over rounds, each of which times all of them in turn.

Goals: binary under 0.1 ms each way and no slower than tritonclient's; JSON within 1.2 times of orjson and numpy.
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import yaml

from benchmarks.machine import with_machine
from catalog.tensor import TensorSpec
from dispatch.commands import Answer
from dispatch.query import Query
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.oip.answer import encode
from serve_app.oip.request import InferRequest, decode

SHAPE = [1, 3, 224, 224]
PEER = str(Path(sys.prefix) / "clients" / "bin" / "python")
"""Of the environment that `make test` makes for clients (tests/support/clients/make_environment.py)."""

BINARY_GOAL_MS, JSON_GOAL = 0.1, 1.2
CALLS = 20
"""Of the binary ways in a round, which are short."""

X, Y = TensorSpec("x", "FP32", (-1, *SHAPE[1:])), TensorSpec("y", "FP32", (-1, *SHAPE[1:]))
INFO = EndpointInfo("codec", {"": "codec"}, (X,), (Y,), (), 8)


def main() -> None:
    """Time all ways and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of YAML")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--peer", default=PEER, metavar="PYTHON", help="one that has tritonclient[http]")
    args = parser.parse_args()
    if args.rounds < 1:
        sys.exit("at least one round, please")
    body = with_machine(figures(args.rounds, args.seed, args.peer), times=["times_ms"])
    print(orjson.dumps(body).decode() if args.json else yaml.safe_dump(body, sort_keys=False))


def figures(rounds: int, seed: int, peer: str) -> dict[str, Any]:
    """Medians, ratios and goals; raises RuntimeError where the peer does not run."""
    ways = _ways(np.random.default_rng(seed).standard_normal(SHAPE, dtype=np.float32))
    command = [peer, "-m", "benchmarks.codec.peer", orjson.dumps(SHAPE).decode(), str(CALLS), str(seed)]
    taken_s: dict[str, list[float]] = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        for number in range(rounds):
            turn = list(ways.items())
            for name, (way, times) in turn if number % 2 else reversed(turn):  # whoever is first finds cold caches
                began_s = time.perf_counter()
                for _ in range(times):
                    way()
                taken_s.setdefault(name, []).append((time.perf_counter() - began_s) / times)
            other.stdin.write(b"\n")
            line = other.stdout.readline()
            if not line:
                raise RuntimeError(f"{' '.join(command)} ended; it needs tritonclient[http], or name one with --peer")
            for name, seconds in orjson.loads(line).items():
                taken_s.setdefault(f"tritonclient_{name}", []).append(seconds)
        other.stdin.close()
    times_ms = {f"{name[:-2]}_ms": statistics.median(each) * 1e3 for name, each in taken_s.items()}
    ratios = {
        f"{what}_over_{base}": times_ms[f"{what}_ms"] / times_ms[f"{base}_{what}_ms"]
        for what, base in (
            ("decode_json", "plain"),
            ("encode_json", "plain"),
            ("decode_binary", "tritonclient"),
            ("encode_binary", "tritonclient"),
        )
    }
    met = {
        "binary_under_0.1_ms": max(times_ms["decode_binary_ms"], times_ms["encode_binary_ms"]) < BINARY_GOAL_MS,
        "binary_no_slower_than_tritonclient": max(
            ratios["decode_binary_over_tritonclient"], ratios["encode_binary_over_tritonclient"]
        )
        <= 1.0,
        "json_within_1.2_of_plain": max(ratios["decode_json_over_plain"], ratios["encode_json_over_plain"])
        <= JSON_GOAL,
    }
    return {
        "shape": SHAPE,
        "rounds": rounds,
        "times_ms": times_ms,
        **ratios,
        "goals": met,
        "goals_met": all(met.values()),
    }


def _ways(tensor: np.ndarray[Any, Any]) -> dict[str, tuple[Callable[[], Any], int]]:
    """By name what is timed, and how often in a round; raises AssertionError where a tensor is read wrongly."""
    described = {"name": "x", "shape": SHAPE, "datatype": "FP32"}
    text = orjson.dumps({"inputs": [{**described, "data": tensor.ravel().tolist()}]})
    raw = tensor.tobytes()
    head = orjson.dumps({"inputs": [{**described, "parameters": {"binary_data_size": len(raw)}}]})
    binary = head + raw
    for read in (decode(text, INFO), decode(binary, INFO, len(head))):
        assert np.array_equal(read.inputs["x"], tensor)
    query = Query(1, "codec", 0.0, 1.0)
    answer = Answer(query, "v", 0.9, {"y": tensor}, 1, 0.1, 0.2, 0.05)
    as_json, as_raw = (InferRequest("a", {}, 1, None, ("y",), binary=frozenset(b)) for b in ((), ("y",)))
    return {
        "decode_binary_s": (lambda: decode(binary, INFO, len(head)), CALLS),
        "encode_binary_s": (lambda: encode(as_raw, answer, INFO, "a"), CALLS),
        "decode_json_s": (lambda: decode(text, INFO), 1),
        "plain_decode_json_s": (lambda: _plain_decode(text), 1),
        "encode_json_s": (lambda: encode(as_json, answer, INFO, "a"), 1),
        "plain_encode_json_s": (lambda: _plain_encode(tensor), 1),
    }


def _plain_decode(body: bytes) -> np.ndarray[Any, Any]:
    given = orjson.loads(body)["inputs"][0]
    return np.array(given["data"], dtype=np.float32).reshape(given["shape"])


def _plain_encode(tensor: np.ndarray[Any, Any]) -> bytes:
    output = {"name": "y", "datatype": "FP32", "shape": tensor.shape, "data": tensor.ravel()}
    return orjson.dumps({"model_name": "codec", "outputs": [output]}, option=orjson.OPT_SERIALIZE_NUMPY)


if __name__ == "__main__":
    main()
