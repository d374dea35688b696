"""Several routers' statuses as one."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from deployments.router.live_accuracy.status import together_shadow
from deployments.router.observing.totals import joint_totals
from deployments.router.observing.worker_events import MOST_REMEMBERED
from deployments.router.tables.progress import TableState
from dispatch.promise.guarantee import Kept

Record = Mapping[str, Any]

SUMMED = ("arrived", "answered", "late", "rejected", "failed", "cancelled", "violations", "queued", "anticipated_qps")
WORST = ("latency_ms", "transport_ms")

STAGE_SUMMED = ("queued", "workers", "queries", "jobs")
STAGE_WORST = ("latency_ms", "queue_ms", "run_ms")

VERDICTS = (Kept.NO, Kept.TOO_EARLY, Kept.YES)
"""The worst first: a promise is kept where every router keeps it."""

STATES = (TableState.NONE, TableState.APPROXIMATE, TableState.EXACT)
"""The worst first."""


def together(statuses: Iterable[Record]) -> dict[str, Any]:
    """The status of all routers.

    Counts are summed, latencies and verdicts are those of the worst, rates are weighted by the queries that each rests
    on. A router that has had no query says nothing about promises.
    """
    first, *others = statuses
    endpoints = {}
    for name, own in first["endpoints"].items():
        every = [own, *(other["endpoints"][name] for other in others if name in other["endpoints"])]
        answered = sum(each["answered"] for each in every)
        accuracies = [each["expected_accuracy"] * each["answered"] for each in every if each["answered"]]
        endpoints[name] = {
            **own,
            **{key: sum(each[key] for each in every) for key in SUMMED},
            **{key: _worst([each[key] for each in every]) for key in WORST},
            "ready": any(each["ready"] for each in every),
            "guarantee": _guarantee([each["guarantee"] for each in every]),
            "tables": _tables([each["tables"] for each in every]),
            "feedback": min((each["feedback"] for each in every), key=lambda feedback: feedback["slack_factor"]),
            "rejected_by_reason": dict(sum((Counter(each["rejected_by_reason"]) for each in every), Counter())),
            "rejected_by_code": dict(sum((Counter(each["rejected_by_code"]) for each in every), Counter())),
            "expected_accuracy": sum(accuracies) / answered if answered else None,
            "mean_batch_rows": _mean_batch_rows(every),
            "variants": _variants(every),
            "totals": joint_totals([each["totals"] for each in every]),
            "stages": _stages([each.get("stages", {}) for each in every]),
            "ground_truth": _truths([each["ground_truth"] for each in every]),
            "shadow": together_shadow([each.get("shadow") for each in every]),
        }
    return {
        "routers": [router for each in (first, *others) for router in each["routers"]],
        "plan_version": max(each["plan_version"] for each in (first, *others)),
        "endpoints": endpoints,
        "workers": {worker: state for each in (first, *others) for worker, state in each["workers"].items()},
        "worker_events": _events([each["worker_events"] for each in (first, *others)]),
    }


def _mean_batch_rows(every: Sequence[Record]) -> float | None:
    """Of the routers that answered anything of late, weighted by what each answered in all."""
    lately = [each for each in every if each["mean_batch_rows"] is not None]
    return _mean(lately, "mean_batch_rows", lambda each: int(each["answered"]))


def _events(every: Sequence[Record]) -> dict[str, Any]:
    """Counts are summed; of the last events the newest stay."""
    last = sorted((event for each in every for event in each["last"]), key=lambda event: float(event["ago_s"]))
    return {
        "counts": dict(sum((Counter(each["counts"]) for each in every), Counter())),
        "hanging_s": {worker: since_s for each in every for worker, since_s in each["hanging_s"].items()},
        "last": last[:MOST_REMEMBERED],
    }


def _guarantee(every: Sequence[Record]) -> dict[str, Any]:
    asked = [each for each in every if each["queries"]] or every[:1]
    return {
        **every[0],
        "kept": min((each["kept"] for each in asked), key=VERDICTS.index),
        "queries": sum(each["queries"] for each in asked),
        "violations": sum(each["violations"] for each in asked),
        "broken": any(each["broken"] for each in every),
        **{
            f"{whose}_violation_rate": _mean(asked, f"{whose}_violation_rate", lambda each: each["queries"])
            for whose in ("promised", "observed", "client", "expected", "predicted")
        },
        **{
            f"{whose}_accuracy": _mean(asked, f"{whose}_accuracy", _in_time)
            for whose in ("expected", "observed", "predicted")
        },
    }


def _in_time(guarantee: Record) -> int:
    return int(guarantee["queries"] - guarantee["violations"])


def _mean(every: Sequence[Record], key: str, weight: Callable[[Record], int]) -> float | None:
    """The weighted mean; None where one that counts does not know."""
    known = [(each[key], weight(each)) for each in every if weight(each)]
    if not known or any(value is None for value, _ in known):
        return None
    return float(sum(value * count for value, count in known) / sum(count for _, count in known))


def _tables(every: Sequence[Record]) -> dict[str, Any]:
    return {
        "state": min((each["state"] for each in every), key=STATES.index),
        "made": sum(each["made"] for each in every),
        "wanted": sum(each["wanted"] for each in every),
        "query_rows": max(each["query_rows"] for each in every),
    }


def _worst(quantiles: list[dict[str, float] | None]) -> dict[str, float] | None:
    known = [each for each in quantiles if each is not None]
    return {name: max(each[name] for each in known) for name in known[0]} if known else None


def _stages(every: Sequence[Record]) -> dict[str, Any]:
    """Counts are summed, times are those of the worst."""
    return {
        name: {
            **{key: sum(each[name][key] for each in every if name in each) for key in STAGE_SUMMED},
            **{key: _worst([each[name][key] for each in every if name in each]) for key in STAGE_WORST},
            "variants": dict(sum((Counter(each[name]["variants"]) for each in every if name in each), Counter())),
        }
        for name in dict.fromkeys(name for each in every for name in each)
    }


def _truths(every: Sequence[Record | None]) -> dict[str, Any] | None:
    """Counts added up, by member as well."""
    known = [each for each in every if each is not None]
    if not known:
        return None
    members: dict[str, Counter[str]] = {}
    for each in known:
        for member, counts in each["members"].items():
            members.setdefault(member, Counter()).update(counts)
    return {
        **{key: sum(each[key] for each in known) for key in ("labelled", "right")},
        "members": {member: dict(counts) for member, counts in members.items()},
    }


def _variants(every: Sequence[Record]) -> dict[str, Any]:
    """Shares are of the last minute, weighted by what each router answered in all."""
    of_routers = [each["variants"] for each in every]
    queries = sum((Counter({v: entry["queries"] for v, entry in each.items()}) for each in of_routers), Counter())
    recent: Counter[str] = Counter()
    for each in every:
        recent.update({v: entry["share"] * each["answered"] for v, entry in each["variants"].items()})
    total = sum(each["answered"] for each in every)
    accuracies = {v: entry["expected_accuracy"] for each in of_routers for v, entry in each.items()}
    return {
        variant: {
            "queries": count,
            "share": recent[variant] / total if total else 0.0,
            "expected_accuracy": accuracies[variant],
        }
        for variant, count in queries.most_common()
    }
