"""The statistics extension: counts and durations of endpoints, from the status of the routers."""

import time
from collections.abc import Mapping
from typing import Any

from serve_app.oip.answer import VERSION


def statistics(endpoints: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The answer for these endpoints, as `Router.status_of_all` has them.

    ``inference_count`` counts rows, ``execution_count`` batches. Of a query ``queue`` is until its batch is launched,
    ``compute_infer`` the batch on the device, and ``compute_input`` the way to the worker and back. What refusals took
    is not measured.
    """
    return {"model_stats": [_model(name, endpoint) for name, endpoint in endpoints.items()]}


def _model(name: str, endpoint: Mapping[str, Any]) -> dict[str, Any]:
    totals, answered = endpoint["totals"], endpoint["answered"]
    ago_s = totals["last_ago_s"]
    way_s = totals["latency_s"] - totals["queue_s"] - totals["run_s"]
    return {
        "name": name,
        "version": VERSION,
        "last_inference": 0 if ago_s is None else round((time.time() - ago_s) * 1e3),
        "inference_count": totals["rows"],
        "execution_count": totals["batches"],
        "inference_stats": {
            "success": _duration(answered, totals["latency_s"]),
            "fail": _duration(endpoint["rejected"], 0.0),
            "queue": _duration(answered, totals["queue_s"]),
            "compute_input": _duration(answered, way_s),
            "compute_infer": _duration(answered, totals["run_s"]),
            "compute_output": _duration(answered, 0.0),
            "cache_hit": _duration(0, 0.0),
            "cache_miss": _duration(0, 0.0),
        },
        "batch_stats": [
            {
                "batch_size": int(rows),
                "compute_input": _duration(each["batches"], 0.0),
                "compute_infer": _duration(each["batches"], each["run_s"]),
                "compute_output": _duration(each["batches"], 0.0),
            }
            for rows, each in totals["by_batch_rows"].items()
        ],
    }


def _duration(count: int, seconds: float) -> dict[str, int]:
    return {"count": count, "ns": max(0, round(seconds * 1e9))}
