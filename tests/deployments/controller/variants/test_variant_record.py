"""Profiles of registered variants are those of the workers that they were measured on, and of no others."""

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from controller_parts import RUN_S, pool, runs_s, settings, variant

from deployments.controller.variants.variant_book import VariantBook
from deployments.controller.variants.variant_record import PoolProfile, VariantRecord
from deployments.messages.control_settings import PoolSettings

GPU = replace(pool(1), device="cuda", threads=2)
POOLS = {"cpu": pool(), "gpu": GPU}
MEASURED = {"cpu": runs_s(0.004), "gpu": runs_s(0.001)}
OTHERS = {
    "another device": replace(GPU, device="cpu"),
    "another type": replace(GPU, device="cuda-a100"),
    "more threads": replace(GPU, threads=4),
    "holds others": replace(GPU, variants=("slow", "fast")),
}


def book(pools: Mapping[str, PoolSettings]) -> VariantBook:
    return VariantBook(settings(pools=pools))


def written(*measured: str) -> list[dict[str, Any]]:
    """The record of a variant that was measured in these pools, as it comes from a store."""
    before = book(POOLS)
    before.add(variant("new"), {name: MEASURED[name] for name in measured}, 3)
    return as_stored(before)


def as_stored(of: VariantBook) -> list[dict[str, Any]]:
    record: list[dict[str, Any]] = json.loads(json.dumps(of.to_record()))
    return record


def profiles(of: VariantBook) -> dict[str, tuple[float, ...]]:
    return {name: runs for (name, each), runs in of.profiled_s.items() if each == "new"}


def test_a_record_reads_as_it_was_written() -> None:
    given = VariantRecord(variant("new"), 3, {"gpu": PoolProfile(runs_s(0.001), "cuda", 2)})
    assert VariantRecord.from_json(json.loads(json.dumps(given.to_json()))) == given


@pytest.mark.parametrize("wrong", [{"measured_on": {"gpu": {"device": "cuda", "clock": 1}}}, {"measured_on": []}])
def test_a_record_that_says_more_of_the_workers_than_is_known_here_is_not_read(wrong: dict[str, Any]) -> None:
    (record,) = written("gpu")
    after = book(POOLS)
    after.restore([record | wrong])
    assert after.names == tuple(RUN_S)
    assert after.to_record() == [record | wrong]


@pytest.mark.parametrize("now", OTHERS.values(), ids=OTHERS)
def test_a_pool_that_has_changed_has_no_profile_of_before(now: PoolSettings, caplog: pytest.LogCaptureFixture) -> None:
    after = book({"cpu": pool(), "gpu": now})
    after.restore(written("cpu", "gpu"))
    assert "new" in after.names
    assert profiles(after) == {"cpu": MEASURED["cpu"]}
    (said,) = caplog.records
    assert said.levelno == logging.WARNING
    assert "'new', registered before, is left out in pool gpu" in said.getMessage()


@pytest.mark.parametrize("now", [*OTHERS.values(), None], ids=[*OTHERS, "gone"])
def test_a_variant_without_a_profile_that_holds_is_left_out_and_stays_in_the_record(
    now: PoolSettings | None, caplog: pytest.LogCaptureFixture
) -> None:
    after = book({"cpu": pool()} | ({} if now is None else {"gpu": now}))
    after.restore(written("gpu"))
    assert after.names == tuple(RUN_S)
    assert profiles(after) == {}
    assert [each.levelno for each in caplog.records] == [logging.ERROR]
    back = book(POOLS)
    back.restore(as_stored(after))
    assert profiles(back) == {"gpu": MEASURED["gpu"]}


def test_a_pool_that_is_again_as_it_was_has_its_profile_again() -> None:
    between = book({"cpu": pool(), "gpu": OTHERS["more threads"]})
    between.restore(written("cpu", "gpu"))
    after = book(POOLS)
    after.restore(as_stored(between))
    assert profiles(after) == MEASURED


def test_other_sizes_and_prices_of_a_pool_change_no_profile(caplog: pytest.LogCaptureFixture) -> None:
    after = book({"cpu": pool(5), "gpu": replace(GPU, price_per_h=9.0, variants=("slow", "new"))})
    after.restore(written("cpu", "gpu"))
    assert profiles(after) == MEASURED
    assert caplog.records == []


def test_a_record_of_before_that_does_not_say_what_it_was_measured_on_is_taken_as_it_is() -> None:
    records = written("cpu", "gpu")
    for each in records:
        del each["measured_on"]
    after = book({"cpu": pool(), "gpu": OTHERS["another device"]})
    after.restore(records)
    assert profiles(after) == MEASURED
    (again,) = after.to_record()
    assert again["measured_on"]["gpu"] == {"device": "cpu", "threads": 2}, "from now on it is known"


def test_nor_is_it_loaded_where_the_pool_lists_others() -> None:
    records = written("cpu", "gpu")
    for each in records:
        del each["measured_on"]
    after = book({"cpu": pool(), "gpu": OTHERS["holds others"]})
    after.restore(records)
    assert profiles(after) == {"cpu": MEASURED["cpu"]}


def test_a_variant_that_is_registered_anew_or_withdrawn_has_nothing_of_before_in_the_record() -> None:
    pools = {"cpu": pool(), "gpu": OTHERS["another device"]}
    after = book(pools)
    after.restore(written("gpu"))
    after.add(variant("new", accuracy=0.6), {"cpu": runs_s(0.005)}, 3)
    (record,) = after.to_record()
    assert record["profiles_s"].keys() == record["measured_on"].keys() == {"cpu"}
    partly = book(pools)
    partly.restore(written("cpu", "gpu"))
    partly.withdraw("new")
    assert partly.to_record() == []
