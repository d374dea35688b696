"""How long services take from their start to their first answer, and from there to tables in force."""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.promise.starts.scenes import SCENES, Scene
from serve_app.testing.service import running, sending, soon
from serve_app.testing.status_watch import EVERY_S, Snapshot, look
from workload.rate import RateSchedule

LOAD_QPS = 50.0
"""Under so much load tables are to come into force."""

READY_WITHIN_S = 180.0
TABLES_WITHIN_S = 180.0
SEED = 7

Say = Callable[[str], None]


@dataclass(frozen=True)
class Start:
    """Seconds with an empty cache, so that profiles are measured first where no file gives them.

    ``in_force_s`` is from ready until the service says that tables for the load at hand are exact, ``all_made_s`` until
    it has as many as it wants; both are None where that took longer than `TABLES_WITHIN_S`, or where it does not say.
    ``ready_s`` is None where it was not ready within `READY_WITHIN_S`; ``fault`` has its last words then.
    """

    ready_s: float | None
    in_force_s: float | None = None
    all_made_s: float | None = None
    made: int | None = None
    fault: str | None = None


def measure_starts(say: Say) -> dict[str, Start]:
    """Every scene once, by name."""
    starts = {}
    for name, scene in SCENES.items():
        say(f"starting {name} with an empty cache")
        starts[name] = _measure(scene)
    return starts


def _measure(scene: Scene) -> Start:
    with ExitStack() as stack:
        folder, cache = (Path(stack.enter_context(TemporaryDirectory())) for _ in range(2))
        made = scene(folder)
        env = {"ACCORD_CACHE_DIR": str(cache)}
        try:
            service = stack.enter_context(
                running(made.content, folder, made.endpoint, made.dataset.bodies[0], env, READY_WITHIN_S)
            )
        except RuntimeError as error:
            return Start(None, fault=str(error)[-500:])
        sender = stack.enter_context(sending(service, made.endpoint, made.dataset))
        sender.begin(soon(RateSchedule.constant(LOAD_QPS), TABLES_WITHIN_S, SEED))
        return _watch(service.url, made.endpoint, service.ready_s)


def _watch(url: str, endpoint: str, ready_s: float) -> Start:
    """Look until all tables are made or time is over."""
    began_s = time.monotonic()
    in_force_s = all_made_s = made = None
    while time.monotonic() < began_s + TABLES_WITHIN_S and None in (in_force_s, all_made_s):
        snapshot = _look(url)
        tables: Mapping[str, Any] = (snapshot.endpoint(endpoint).get("tables") if snapshot else None) or {}
        if snapshot is not None and not tables:
            return Start(ready_s)  # it does not say
        elapsed_s, made = time.monotonic() - began_s, tables.get("made", made)
        if in_force_s is None and tables.get("state") == "exact":
            in_force_s = elapsed_s
        if all_made_s is None and tables and tables["made"] >= tables["wanted"]:
            all_made_s = elapsed_s
        time.sleep(EVERY_S)
    return Start(ready_s, in_force_s, all_made_s, made)


def _look(url: str) -> Snapshot | None:
    try:
        return look(url)
    except OSError:
        return None
