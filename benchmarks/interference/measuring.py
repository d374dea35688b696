"""Measures variants of the built-in tasks on this machine, on all of its CPUs and on one."""

import json
import subprocess
import sys
import time
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

VARIANTS = (
    "digits-cnn-s",
    "digits-cnn-m",
    "digits-cnn-l",
    "digits-cnn-xl",
    "digits-ensemble",
    "strip-find-s",
    "strip-find-m",
    "strip-find-xl",
    "sentiment-minilm-1",
    "sentiment-minilm-3",
    "sentiment-minilm-6",
)

TRIPLES = 55
"""On each machine type, beside all pairs of different variants."""

REPEATS = 10
"""On each machine type."""


def measure_here(folder: Path, budget_s: float, seed: int) -> dict[str, Any]:
    """`accord interference measure` on all CPUs and on one, each with half of the budget; what it says of each."""
    reports = {}
    ends_s = time.monotonic() + budget_s
    for left, (name, cpus) in zip((2, 1), (("all CPUs", ()), ("one CPU", ("--cpus", "0"))), strict=True):
        wanted = folder / f"wanted-{left}.json"
        folder.mkdir(parents=True, exist_ok=True)
        wanted.write_text(json.dumps(_wanted(seed + left)), encoding="utf-8")
        print(f"measuring on {name}", file=sys.stderr, flush=True)
        done = subprocess.run(
            [
                *(sys.executable, "-m", "serve_app.cli.main", "interference", "measure"),
                *("--out", str(folder), "--only", str(wanted), "--json"),
                *("--catalogue", "builtin", "--catalogue", "sentiment"),
                *(part for variant in VARIANTS for part in ("--variant", variant)),
                *("--budget-s", str((ends_s - time.monotonic()) / left)),
                *cpus,
            ],
            stdout=subprocess.PIPE,
            check=False,
            text=True,
        )
        if done.returncode:
            sys.exit(f"measuring on {name} failed with {done.returncode}; see above")
        reports[name] = json.loads(done.stdout.splitlines()[-1])
    return reports


def _wanted(seed: int) -> list[list[str]]:
    rng = Random(seed)
    pairs = [list(each) for each in combinations(VARIANTS, 2)]
    triples = rng.sample([list(each) for each in combinations(VARIANTS, 3)], TRIPLES)
    wanted = pairs + triples
    repeats = rng.sample(wanted, REPEATS)
    rng.shuffle(wanted)
    return wanted + repeats
