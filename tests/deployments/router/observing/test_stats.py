"""The last minute of an endpoint, and what keeping it costs."""

import gc

from catalog.errors import AdapterFailed, ConstraintUnmet, NoWorker, Saturated, VariantFailed
from deployments.router.observing.columns import Columns
from deployments.router.observing.stats import WINDOW_S, EndpointStats
from dispatch.commands import Answer
from dispatch.query import Query


def answer(number: int, done_s: float, variant: str = "a") -> Answer:
    query = Query(number, "e", done_s - 0.1, done_s + 1.0, 1, {}, None)
    return Answer(query, variant, 0.9, {}, 4, done_s - 0.05, done_s, 0.04)


def test_percentiles_and_shares_are_of_the_last_minute_and_totals_of_all() -> None:
    stats = EndpointStats()
    for number, (done_s, variant) in enumerate([(1.0, "old"), (WINDOW_S, "a"), (WINDOW_S, "b"), (WINDOW_S + 1.5, "b")]):
        stats.on_answer(answer(number, done_s, variant))
    shown = stats.snapshot(WINDOW_S + 1.5)
    assert shown["answered"] == 4
    assert {name: each["share"] for name, each in shown["variants"].items()} == {"b": 2 / 3, "a": 1 / 3, "old": 0.0}
    assert shown["latency_ms"]["p50"] == 100.0
    assert shown["mean_batch_rows"] == 4


def test_each_member_that_voted_has_a_share() -> None:
    stats = EndpointStats()
    stats.on_answer(answer(1, 1.0)._replace(votes={"a": (1,), "b": (2,)}))
    stats.on_answer(answer(2, 1.0)._replace(votes={"b": (1,), "a": (1,)}))
    stats.on_answer(answer(3, 1.0, "b"))
    shares = {name: each["share"] for name, each in stats.snapshot(1.0)["variants"].items()}
    assert shares == {"b": 1.0, "a": 2 / 3}


def test_every_error_is_counted_under_its_code_or_its_name() -> None:
    stats = EndpointStats()
    for error in (
        Saturated("full"),
        VariantFailed("raised"),
        AdapterFailed("too"),
        NoWorker("none"),
        ConstraintUnmet("no"),
    ):
        stats.on_reject(error)
    stats.on_reject(VariantFailed("again"), 2)
    shown = stats.snapshot(1.0)
    assert shown["rejected_by_code"] == {
        "rejected-saturated": 1,
        "VariantFailed": 3,
        "AdapterFailed": 1,
        "rejected-no-endpoints": 1,
        "ConstraintUnmet": 1,
    }
    assert (shown["rejected"], shown["failed"]) == (7, 5)


def test_answers_that_are_kept_are_nothing_for_the_garbage_collector() -> None:
    stats = EndpointStats()
    gc.collect()
    before = len(gc.get_objects())
    for number in range(2000):
        stats.on_answer(answer(number, number / 1000))
    gc.collect()
    assert len(gc.get_objects()) - before < 200


def test_of_too_many_rows_the_latest_stay() -> None:
    rows = Columns(2, 3)
    for number in range(5):
        rows.append(float(number), str(number))
    assert rows.since(0.0) == ([2.0, 3.0, 4.0], ["2", "3", "4"])
    assert rows.since(3.5) == ([4.0], ["4"])
    assert rows.since(0.0) == ([4.0], ["4"]), "what was too old is gone"
