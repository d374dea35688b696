"""Loads on a running service: what came back of every endpoint, and what the controller made of it."""

import statistics
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import yaml

from benchmarks.adaptation.plan_times import epoch_s, made_true
from benchmarks.live_proteus.first_plan import FirstPlan
from benchmarks.live_proteus.loads import Floats, Load
from benchmarks.live_proteus.planners import KnownLoads
from benchmarks.live_proteus.scene import PORT, Scene, dataset
from benchmarks.live_ramsis.ways import Ways
from serve_app.cli.run.environment import SERVE_ENV
from serve_app.loadgen.endpoint import Endpoint
from serve_app.testing.decisions import decisions
from serve_app.testing.queries import Queries
from serve_app.testing.sender import Load as Sent
from serve_app.testing.sender import Sender
from serve_app.testing.served import served
from serve_app.testing.service import wait_until_ready
from serve_app.testing.status_watch import look

URL = f"http://127.0.0.1:{PORT}"
START_WITHIN_S = 300.0
ANSWER_S = 10.0
SOON_S = 1.0
SETTLE_S = 2.0
GUESSED_S = (0.3, 0.5)

Say = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Played:
    """A load on the live service of a system.

    ``sent_s`` are the instants at which queries left, by endpoint, from the begin of the load; ``queries`` those that
    count. ``first`` is the first plan with all workers. ``ways`` are what batches needed to workers and back,
    ``path_s`` and ``path_tail_s`` what the service made of them at the end, the mean and the 95th percentile. A plan
    came into force after ``solve_s`` where no worker had to load for it, and ``load_s`` later where one had, in the
    median.
    """

    sent_s: Mapping[str, Floats]
    queries: Mapping[str, Queries]
    first: FirstPlan
    ways: Ways
    path_s: float
    path_tail_s: float
    solve_s: float
    load_s: float
    plans: int


def play(scene: Scene, system: str, load: Load, folder: Path, say: Say) -> Played:
    """Start the service, load it and stop it."""
    with _running(scene, system, load.known(scene.total_workers), folder) as ready_s:
        say(f"{system}: {scene.total_workers} workers after {ready_s:.0f} s")
        time.sleep(SETTLE_S)
        with ExitStack() as stack:
            senders = {
                name: stack.enter_context(Sender(Endpoint(URL, name).infer_url, dataset())) for name in load.arrivals_s
            }
            began_at_s = time.time()
            begin_s = time.monotonic() + SOON_S
            for name, sender in senders.items():
                sender.begin(Sent(load.arrivals_s[name], load.duration_s, begin_s))
            time.sleep(SOON_S + load.duration_s)
            workers = look(URL).status["workers"].values()
            whole = {name: sender.finish() for name, sender in senders.items()}
        everything = made_true(decisions(URL))
    made = [each for each in everything if epoch_s(each["asked_at"]) >= began_at_s]
    plain_s, loading_s = in_force_s(made)
    found = Played(
        {name: np.sort(each.sent_s) - begin_s for name, each in whole.items()},
        {name: each.where(each.intended_s >= begin_s + load.warm_s) for name, each in whole.items()},
        FirstPlan.of(everything, scene.total_workers),
        Ways.of(Queries.joined(list(whole.values())), begin_s),
        statistics.fmean(each["latency"]["path_ms"] for each in workers) / 1e3,
        statistics.fmean(each["latency"]["path_tail_ms"] for each in workers) / 1e3,
        plain_s,
        max(loading_s - plain_s, 0.0),
        len(made),
    )
    say(f"{system}, {load.trace}: {_in_words(found)}")
    return found


@contextmanager
def _running(scene: Scene, system: str, known: KnownLoads, folder: Path) -> Iterator[float]:
    """The service of a system until the block ends; gives the seconds until all workers were there."""
    path = folder / f"{system}.yaml"
    content = yaml.safe_dump(scene.content(system, folder), sort_keys=False)  # planners see endpoints in this order
    path.write_text(content, encoding="utf-8")
    binaries = Path(sys.executable).parent
    env = SERVE_ENV | {"RAY_SERVE_HAPROXY_BINARY_PATH": str(binaries / "accord-haproxy")} | known.as_environment()
    began_s = time.monotonic()
    end_s = began_s + START_WITHIN_S
    first = f"/v2/models/{scene.types[0]}/infer"
    with served([str(binaries / "serve"), "run", str(path)], env, PORT, first, dataset().bodies[0], START_WITHIN_S):
        wait_until_ready(URL, end_s)
        while _workers() < scene.total_workers:
            if time.monotonic() > end_s:
                raise RuntimeError(f"{URL} has fewer than {scene.total_workers} workers after {START_WITHIN_S:.0f} s")
            time.sleep(0.5)
        yield time.monotonic() - began_s


def _workers() -> int:
    """How many the controller knows, those that have nothing to hold among them, whom no router sees."""
    with urllib.request.urlopen(f"{URL}/accord/plan", timeout=ANSWER_S) as response:
        pools = orjson.loads(response.read())["pools"]
    return sum(pool["workers"] for pool in pools.values())


def in_force_s(made: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """From the question until every router followed, in the median: where no worker had to load for it, and where one
    had. `GUESSED_S` where there was no such plan."""
    found: dict[bool, list[float]] = {False: [], True: []}
    for each in made:
        found[any(each["loading"].values())].append(each["in_force_s"])
    plain, loading = (statistics.median(found[loads] or [guess]) for loads, guess in zip(found, GUESSED_S, strict=True))
    return plain, loading


def _in_words(played: Played) -> str:
    queries = Queries.joined(list(played.queries.values()))
    return (
        f"{len(queries)} queries, {100 * queries.violated.mean():.2f}% violations, {played.plans} plans, "
        f"way {1e3 * played.path_s:.1f} ms, 95% in {1e3 * played.path_tail_s:.1f}"
    )
