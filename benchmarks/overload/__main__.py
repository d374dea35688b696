"""A service under five times the load that it carries best, and with a client that leaves at once.

``python -m benchmarks.overload --json``. Two scenes, each the quickstart through `accord run`: ``workers``, whose
variants are emulated and slow, so that workers are what is short; ``router``, with real digits and all of the service
on one core, so that the router is (client and HAProxy have the other one: on two cores a client of five times the load
takes what the service would need). The best load is found first, with the same client; then come five times as much,
half of it at once afterwards, the best load again, and half of what that came to, by turns with and without a client
that sends as much again and leaves after a millisecond. What the service carries is the mean of the best load's goodput
before and afterwards: within minutes a shared machine becomes faster or slower by a quarter. The baseline is the same
without `accord-haproxy` and without admission, at the same load. Latencies count from the instant at which a query was
to be sent, so that a late client makes the service look worse, and never better.
"""

import argparse
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import psutil
import yaml

from benchmarks.machine import with_machine
from benchmarks.overload.best_load import SUSTAINED_S, find_best
from benchmarks.overload.figures import figures, goodput_qps, recovered_s
from benchmarks.overload.goals import goals_of
from benchmarks.overload.scenes import PORT, SCENES, client_core, memory_mb, overloadable, requests, slo_s
from benchmarks.overload.sender import Sender
from serve_app.testing.repeatedly import Repeatedly

TIMES = 5.0
WARM_QPS, WARM_S = 40.0, 5.0
AFTER_S = 12.0
LEAVING_S, BESIDE_S, TURNS = 0.001, 10.0, 5
READY_S = 2.0
BASELINE_S = 20.0
SEED = 1


def main() -> None:
    """Measure, print progress to stderr and the figures to stdout."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object last")
    parser.add_argument("--seconds", type=float, default=60.0, help="length of the overload")
    parser.add_argument("--scene", choices=SCENES, help="only this one")
    args = parser.parse_args()
    scenes = {name: _scene(name, args.seconds) for name in ([args.scene] if args.scene else SCENES)}
    goals = {f"{name}: {goal}": met for name, body in scenes.items() for goal, met in body["goals"].items()}
    body = with_machine({"scenes": scenes, "goals": goals, "goals_met": all(goals.values())})
    print(orjson.dumps(body).decode() if args.json else yaml.safe_dump(body, sort_keys=False))


def _scene(name: str, seconds: float) -> dict[str, Any]:
    body: dict[str, Any] = {"what": SCENES[name]}
    with TemporaryDirectory() as folder:
        with overloadable(name, Path(folder), protected=True) as service, Sender(PORT, requests()) as sender:
            client_core(name, sender.pid)
            body |= _protected(name, service, sender, seconds)
        with overloadable(name, Path(folder), protected=False), Sender(PORT, requests()) as sender:
            client_core(name, sender.pid)
            sender.send(WARM_QPS, WARM_S, SEED)
            sent = sender.send(TIMES * body["best_qps"], min(BASELINE_S, seconds), SEED)
            body["baseline"] = figures(sent, slo_s(), min(BASELINE_S, seconds))
            after = sender.send(body["best_qps"] / 2, AFTER_S, SEED)
            body["baseline"]["recovered_s"] = recovered_s(after, slo_s(), AFTER_S)
            _say(name, "baseline", body["baseline"])
    return body | {"goals": goals_of(body)}


def _protected(name: str, service: psutil.Process, sender: Sender, seconds: float) -> dict[str, Any]:
    sender.send(WARM_QPS, WARM_S, SEED)

    def play(load_qps: float, duration_s: float) -> float:
        good_qps = goodput_qps(sender.send(load_qps, duration_s, SEED), slo_s(), duration_s)
        print(f"{name}: {load_qps:.0f}/s offered, {good_qps:.0f}/s in time", file=sys.stderr, flush=True)
        return good_qps

    best_load_qps, best_qps = find_best(play)
    before_mb = memory_mb(service)
    highest_mb = dict(before_mb)
    lock = threading.Lock()

    def look() -> None:
        with lock:
            for kind, mb in memory_mb(service).items():
                highest_mb[kind] = max(highest_mb.get(kind, 0.0), mb)

    with Repeatedly(look, every_s=1.0):
        sent = sender.send(TIMES * best_qps, seconds, SEED)
    after = sender.send(best_qps / 2, AFTER_S, SEED)
    body: dict[str, Any] = {
        "best_qps": best_qps,
        "overload": figures(sent, slo_s(), seconds),
        "memory_mb": {"before": before_mb, "highest": highest_mb},
        "recovered_s": recovered_s(after, slo_s(), AFTER_S),
        "after": figures(after, slo_s(), AFTER_S),
    }
    _say(name, "overload", body["overload"])
    body["best_again_qps"] = play(best_load_qps, SUSTAINED_S)
    half_qps = (body["best_again_qps"] or best_qps) / 2  # of what the machine bears by now
    body["half"] = _beside_leavers(name, sender, half_qps)
    return body


def _beside_leavers(scene: str, sender: Sender, load_qps: float) -> dict[str, Any]:
    """The load alone and beside as much from a client that leaves, by turns: a slow second of a shared machine costs
    one of them a point."""
    turns = []
    with Sender(PORT, requests()) as leaver:
        client_core(scene, leaver.pid)
        leaver.send(WARM_QPS, READY_S, SEED)  # to start Python is not what leaving costs
        for turn in range(TURNS):
            alone = sender.send(load_qps, BESIDE_S, SEED + turn)
            leaver.begin(load_qps, BESIDE_S, SEED + TURNS + turn, leaving_s=LEAVING_S)
            beside = sender.send(load_qps, BESIDE_S, SEED + turn)
            leaver.finish()
            sent = {"alone": alone, "beside_leavers": beside}
            turns.append({name: figures(each, slo_s(), BESIDE_S) for name, each in sent.items()})
    lost = [each["alone"]["in_time_of_all_pct"] - each["beside_leavers"]["in_time_of_all_pct"] for each in turns]
    return {"lost_points": median(lost), "lost_points_by_turn": lost, "turns": turns}


def _say(scene: str, what: str, found: Mapping[str, Any]) -> None:
    shown = {key: found[key] for key in ("offered_qps", "goodput_qps", "accepted_in_time_pct", "answers")}
    print(f"{scene}: {what}: {shown}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
