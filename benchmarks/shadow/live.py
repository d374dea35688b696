"""Shadow runs on a real service: one endpoint per variant, one of which answers with permuted classes."""

import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import orjson
import yaml

from benchmarks.shadow.broken import write_permuted
from benchmarks.shadow.simulated import REFERENCE
from catalog.catalogue import BUILTIN, load_catalogue
from catalog.zoo.digits import held_out
from serve_app.loadgen.dataset import Dataset, encode_request
from serve_app.testing.free_ports import find_free_port
from serve_app.testing.service import running, sending, soon
from serve_app.testing.status_watch import StatusWatch
from workload.rate import RateSchedule

VARIANTS = ("digits-mlp", "digits-cnn-s", "digits-cnn-m")
BROKEN = "digits-cnn-m"
SLO_MS = 500.0
START_WITHIN_S = 300.0


@dataclass(frozen=True)
class Seen:
    """One variant: queries that it had answered when its fall was found, None where none was, the live estimate with
    its interval, and the share of right answers by their labels."""

    queries: int
    found_after: int | None
    compared: int
    live: tuple[float, float, float] | None
    labelled: float

    def to_record(self) -> dict[str, Any]:
        """In JSON values."""
        return {
            "queries": self.queries,
            "found_after_queries": self.found_after,
            "compared": self.compared,
            "live_accuracy": None if self.live is None else self.live[0],
            "live_interval": None if self.live is None else list(self.live[1:]),
            "labelled_accuracy": self.labelled,
            "labels_within_interval": self.live is not None and self.live[1] <= self.labelled <= self.live[2],
        }


def seen_live(rate_qps: float, seconds: float, share: float) -> dict[str, Seen]:
    """Serve, send labelled digits to every variant at this rate, and watch; by variant what was seen."""
    dataset = _dataset()
    port = find_free_port()
    with TemporaryDirectory() as folder:
        catalogue = _catalogue(Path(folder))
        config = _config(catalogue, port, share)
        with running(config, Path(folder), VARIANTS[0], dataset.bodies[0], within_s=START_WITHIN_S) as service:
            senders = [sending(service, name, dataset) for name in VARIANTS]
            entered = [each.__enter__() for each in senders]
            try:
                with StatusWatch(service.url) as watch:
                    for number, sender in enumerate(entered):
                        sender.begin(soon(RateSchedule.constant(rate_qps), seconds, seed=number))
                    came = {name: sender.finish() for name, sender in zip(VARIANTS, entered, strict=True)}
                    time.sleep(2.0)
            finally:
                for each in senders:
                    each.__exit__(None, None, None)
    return {
        name: _seen(name, [look.endpoint(name) for look in watch.snapshots], float(np.nanmean(came[name].correct)))
        for name in VARIANTS
    }


def _seen(name: str, looks: list[Mapping[str, Any]], labelled: float) -> Seen:
    told = [look for look in looks if (look.get("shadow") or {}).get("variants", {}).get(name)]
    found = next((look for look in told if look["shadow"]["variants"][name]["drifted"]), None)
    last = told[-1] if told else {}
    own = last.get("shadow", {}).get("variants", {}).get(name, {})
    live = None if own.get("accuracy") is None else (own["accuracy"], own["low"], own["high"])
    answered = 0 if not looks else int(looks[-1].get("answered", 0))
    return Seen(answered, None if found is None else int(found["answered"]), own.get("compared", 0), live, labelled)


def _catalogue(folder: Path) -> Path:
    """The digits, one of which says the next class of what it sees; its catalogue has what was measured before."""
    loaded = load_catalogue("builtin")
    content = yaml.safe_load(BUILTIN.read_text(encoding="utf-8"))
    (folder / "models").mkdir()
    entries = []
    for entry in content["variants"]:
        if entry["name"] not in (*VARIANTS, REFERENCE):
            continue
        source = BUILTIN.parent / entry["artifact"]["uri"]
        target = folder / entry["artifact"]["uri"]
        if entry["name"] == BROKEN:
            write_permuted(source, target, len(entry["labels"]))
        else:
            shutil.copy(source, target)
        entries.append({**entry, "artifact": {"uri": entry["artifact"]["uri"]}})
    shutil.copy(loaded.votes["digits"], folder / "votes.csv")
    path = folder / "digits.yaml"
    path.write_text(yaml.safe_dump({"variants": entries, "votes": {"digits": "votes.csv"}}), encoding="utf-8")
    return path


def _config(catalogue: Path, port: int, share: float) -> dict[str, Any]:
    endpoints = {
        name: {
            "task": "digits",
            "slo_ms": SLO_MS,
            "variants": [name, REFERENCE],
            "selection": {"policy": "fixed", "variant": name},
            "shadow": {"share": share},
        }
        for name in VARIANTS
    }
    args = {
        "catalogue": str(catalogue),
        "endpoints": endpoints,
        "pools": {"cpu": {"workers": 2, "num_cpus": 0.3}},
        "router_num_cpus": 0.3,
        "controller": {"num_cpus": 0.1},
    }
    application = {"name": "accord", "route_prefix": "/", "import_path": "serve_app.main:build", "args": args}
    return {"http_options": {"host": "127.0.0.1", "port": port}, "applications": [application]}


def _dataset() -> Dataset:
    images, labels = held_out()
    order = np.random.default_rng(0).permutation(len(labels))
    bodies = tuple(_body(images[row]) for row in order)
    return Dataset(bodies, tuple(int(labels[row]) for row in order))


def _body(image: Any) -> bytes:
    tensor = {"name": "image", "shape": [1, 12, 12], "datatype": "FP32", "data": image.ravel().astype(int).tolist()}
    return encode_request(orjson.loads(orjson.dumps({"inputs": [tensor], "outputs": [{"name": "label"}]})), None)[0]
