"""Ten emulated workers whose variants vote: two for each of five members.

Runs take the time that a made-up profile says and hold no core; what members answer is what the real models said of the
very images that are sent, so that votes and their accuracy are real.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from catalog.catalogue import BUILTIN, load_catalogue
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.profiles.profile_csv import ProfiledVariant, write_profiles
from catalog.votes import read_votes
from catalog.zoo.digits import held_out
from chaos.services.digits import CONFIG, ENDPOINT, START_WITHIN_S
from chaos.services.family import family
from chaos.services.models import LABEL, outputs
from chaos.services.numbered import numbered
from chaos.services.own_proxy import own_proxy
from chaos.services.under_test import UnderTest
from dispatch.ensemble.voting import vote
from dispatch.ensemble.weights import ClassWeights
from serve_app.loadgen.dataset import load_dataset
from serve_app.testing.free_ports import find_free_port
from serve_app.testing.service import running

NAME = "ensemble"
MEMBERS = {
    "digits-cnn-xs": 12.0,
    "digits-cnn-s": 15.0,
    "digits-cnn-m": 20.0,
    "digits-cnn-l": 26.0,
    "digits-cnn-xl": 32.0,
}
"""By name the milliseconds of a run of one row."""

VOTES = BUILTIN.parent / "digits_votes.csv"
ROWS = 1000
"""Of the held-out digits; enough that a vote that is lost is seen in the accuracy."""

WORKERS_EACH = 2
BATCHES = (1, 2, 4, 8, 16)
SLO_MS = 500.0
MOST_QPS = 60.0
"""Five jobs a query: the routers' and the clients' share of two cores, not the workers', is what bounds it."""


@contextmanager
def ensemble(folder: Path) -> Iterator[UnderTest]:
    """`accord run` with a pool for each member, until the block ends. Raises RuntimeError where it does not start."""
    config = _config(folder)
    data = replace(numbered(load_dataset("test"), ROWS), of_emulated=True)
    with (
        own_proxy() as (proxy, proxy_env),
        running(config, folder, ENDPOINT, data.bodies[0], proxy_env, START_WITHIN_S) as service,
    ):
        processes = lambda: family([service.pid], proxy)  # noqa: E731
        yield UnderTest(NAME, service.url, ENDPOINT, SLO_MS, data, folder, processes, MOST_QPS, _right())


def _config(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    content["http_options"]["port"] = find_free_port()
    pool = {"workers": WORKERS_EACH, "device": "cpu", "threads": 1, "num_cpus": 0.01}
    endpoint = {"task": "digits", "slo_ms": SLO_MS, "variants": list(MEMBERS), "ensemble": {"choose": "everyone"}}
    content["applications"][0]["args"] = {
        "catalogue": str(_emulated_catalogue(folder)),
        "endpoints": {ENDPOINT: endpoint},
        "pools": {member: {**pool, "variants": [member]} for member in MEMBERS},
        "router_num_cpus": 0.3,
        "controller": {"num_cpus": 0.1, "state": str(folder / "state" / "controller.db")},
    }
    return content


def _emulated_catalogue(folder: Path) -> Path:
    """A catalogue of the members, emulated, with profiles and outputs recorded of the real models; gives its file."""
    entries = yaml.safe_load(BUILTIN.read_text(encoding="utf-8"))["variants"]
    catalogue, profiled = load_catalogue("builtin"), {}
    for name, one_row_ms in MEMBERS.items():
        np.savez(folder / f"{name}.npz", **outputs(name, ROWS))  # type: ignore[arg-type]
        profiled[name] = ProfiledVariant(catalogue.variant(name).accuracy_pct, _profile(one_row_ms))
    write_profiles(folder / "cpu.csv", profiled)
    emulated = [
        entry | {"runtime": "emulated", "artifact": {"uri": "cpu.csv"}, "options": {"outputs": f"{entry['name']}.npz"}}
        for entry in entries
        if entry["name"] in MEMBERS
    ]
    path = folder / "catalogue.yaml"
    path.write_text(
        yaml.safe_dump({"version": 1, "votes": {"digits": str(VOTES)}, "variants": emulated}), encoding="utf-8"
    )
    return path


def _right() -> NDArray[np.bool_]:
    """Whether the vote of all members is right, row by row, with the weights that the service begins with."""
    weights = ClassWeights.learned(read_votes(VOTES)["dev"].of(tuple(MEMBERS)))
    said = np.column_stack([outputs(name, ROWS)[LABEL] for name in MEMBERS])
    return np.asarray(vote(said, weights.matrix, weights.against).classes == held_out()[1][:ROWS])


def _profile(one_row_ms: float) -> LatencyProfile:
    """Rows of a batch cost a third of the first each; a tenth of the runs takes 20% longer."""
    by_batch = {}
    for rows in BATCHES:
        mean_ms = one_row_ms * (1.0 + (rows - 1) / 3.0)
        slow_ms = 1.2 * mean_ms
        by_batch[rows] = BatchLatency(100, mean_ms, 0.05 * mean_ms, mean_ms, slow_ms, slow_ms, slow_ms)
    return LatencyProfile("cpu", by_batch)
