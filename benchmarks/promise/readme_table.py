"""The table of a new user: ``accord load`` on the quickstart at two loads, with two policies."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson

from benchmarks.promise.systems import ENDPOINT, System
from serve_app.loadgen.dataset import Dataset
from serve_app.testing.service import running

LOADS_QPS = (600, 1000)
POLICIES = ("ramsis", "greedy")
DURATION_S = 12

Say = Callable[[str], None]


@dataclass(frozen=True)
class Row:
    """As ``accord load`` reports it, from the first query to the last."""

    load_qps: int
    policy: str
    violations_client_pct: float
    violations_server_pct: float
    accuracy_pct: float | None


def measure_rows(dataset: Dataset, say: Say) -> list[Row]:
    """Each policy on a service of its own, just started, the lower load first."""
    rows = []
    for policy in POLICIES:
        with TemporaryDirectory() as name:
            folder = Path(name)
            content = System.of(policy).config(folder)
            with running(content, folder, ENDPOINT, dataset.bodies[0]) as service:
                for load_qps in LOADS_QPS:
                    say(f"accord load at {load_qps}/s, {policy}")
                    rows.append(_row(service.url, load_qps, policy))
    return sorted(rows, key=lambda row: row.load_qps)


def _row(url: str, load_qps: int, policy: str) -> Row:
    command = [sys.executable, "-m", "serve_app.cli.main", "load", "--url", url, "--endpoint", ENDPOINT, "--json"]
    command += ["--rate", str(load_qps), "--duration", str(DURATION_S)]
    done = subprocess.run(command, stdout=subprocess.PIPE, env=dict(os.environ), check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}; its last words stand above")
    report = orjson.loads(done.stdout)
    failed = report["ended"] - report["answered"]
    return Row(
        load_qps,
        policy,
        violations_client_pct=report["violations_pct"],
        violations_server_pct=100.0 * (report["missed_at_server"] + failed) / report["ended"],
        accuracy_pct=report["accuracy_pct"],
    )
