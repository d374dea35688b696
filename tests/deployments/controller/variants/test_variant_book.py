"""All variants with what they take; those registered since outlive their controller."""

import json
from collections.abc import Iterable
from dataclasses import replace

import pytest
from controller_parts import RUN_S, endpoint, pool, runs_s, settings, variant

from catalog.errors import ConfigError
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.tensor import TensorSpec
from catalog.variant import PYTHON, Artifact, Variant
from deployments.controller.variants.variant_book import VariantBook, cluster_of, tabulated_s
from deployments.messages.control_settings import StageSettings
from dispatch.latency.lead import LEAD
from dispatch.selection.policy import Candidate

TWO_POOLS = {"cpu": pool(), "gpu": pool(1, 1, 4, memory=7.0)}


def names(candidates: Iterable[Candidate]) -> list[str]:
    return [each.variant for each in candidates]


@pytest.mark.parametrize(("datatype", "refused"), [("BYTES", True), ("FP32", False)])
def test_a_variant_of_texts_beside_classes_that_take_any_bytes_is_refused(datatype: str, refused: bool) -> None:
    tensors = (TensorSpec("x", datatype, (-1,)),)
    own = Variant("own", "digits", PYTHON, Artifact(import_path="models:Own"), 0.5, tensors, tensors)
    book = VariantBook(settings(variants=(own,), profiled_s={}))
    book.check(replace(own, name="another"))
    other = replace(own, name="text", runtime="onnx", artifact=Artifact("text.onnx"))
    if refused:
        with pytest.raises(ConfigError, match="variant 'text' takes text, and the others of task 'digits'"):
            book.check(other)
    else:
        book.check(other)


def latency(ms: float) -> BatchLatency:
    return BatchLatency(9, 0.0, 0.0, 0.0, 0.0, ms, 0.0)


def test_profiles_are_tabulated_for_every_number_of_rows() -> None:
    profile = LatencyProfile("cpu", {1: latency(10.0), 2: latency(20.0), 4: latency(40.0)})
    assert tabulated_s(variant("slow"), profile) == pytest.approx((0.0, 0.01, 0.02, 0.03, 0.04))


def test_candidates_are_corrected_by_pool_and_the_way_is_added() -> None:
    book = VariantBook(settings(pools=TWO_POOLS))
    served = endpoint(variants=("slow", "fast"), pools=("cpu", "gpu"))
    factors = {("cpu", "slow"): 2.0}
    found = book.candidates(
        served, lambda key: factors.get(key, 1.0), lambda name: {"cpu": 3.0, "gpu": 1.0}[name], {("gpu", "fast")}
    )
    assert found.keys() == {"cpu", "gpu"}
    assert names(found["cpu"]) == ["slow", "fast"]
    assert names(found["gpu"]) == ["slow"]
    slow, fast = found["cpu"]
    assert slow.latency_s == pytest.approx((0.0, *(2.0 * 0.030 * n + 0.006 for n in (1, 2, 3, 4))))
    assert fast.latency_s == pytest.approx((0.0, *(0.002 * n + 0.006 for n in (1, 2, 3, 4))))
    assert (slow.accuracy, fast.accuracy) == (0.9, 0.7)


def test_where_batches_follow_before_results_are_there_a_worker_is_free_for_most_of_the_way() -> None:
    book = VariantBook(settings())
    (follows,), (waits,) = (
        book.candidates(endpoint(variants=("slow",), launches_ahead=ahead), lambda _: 1.0, lambda _: 3.0, ())["cpu"]
        for ahead in (True, False)
    )
    way_s = 0.006
    assert follows.cycle_s[1:] == pytest.approx([each - LEAD * way_s for each in follows.latency_s[1:]])
    assert waits.cycle_s == waits.latency_s == follows.latency_s


def test_as_profiled_a_candidate_has_the_same_batches_without_corrections() -> None:
    book = VariantBook(settings(pools=TWO_POOLS))
    served = endpoint(variants=("slow",), pools=("cpu", "gpu"))
    plain = book.candidates(served, lambda _: 1.0, lambda _: 1.0, ())
    slower = book.candidates(served, lambda _: 2.0, lambda _: 3.0, ())
    for name in ("cpu", "gpu"):
        assert book.as_profiled(slower[name][0], name) == replace(plain[name][0], follow_s=())
    (slow,) = slower["cpu"]
    smaller = replace(slow, latency_s=slow.latency_s[:3])
    assert book.as_profiled(smaller, "cpu").latency_s == plain["cpu"][0].latency_s[:3]
    assert book.as_profiled(smaller, "cpu").runs_s == pytest.approx(runs_s(0.030, 2))


def test_emulated_variants_are_known_also_those_that_are_registered() -> None:
    book = VariantBook(settings())
    assert book.emulated == frozenset()
    book.add(replace(variant("new"), runtime="emulated"), {"cpu": runs_s(0.001)}, 3)
    assert book.emulated == {"new"}


def test_a_variant_without_a_profile_in_a_pool_does_not_serve_there() -> None:
    book = VariantBook(settings(pools=TWO_POOLS))
    book.add(variant("new", accuracy=0.95), {"gpu": runs_s(0.001)}, 3)
    found = book.candidates(endpoint(pools=("cpu", "gpu")), lambda _: 1.0, lambda _: 1.0, ())
    assert names(found["cpu"]) == [*RUN_S]
    assert names(found["gpu"]) == [*RUN_S, "new"]
    assert book.memory_bytes["new"] == 3


def test_an_endpoint_that_lists_its_variants_takes_no_others() -> None:
    book = VariantBook(settings())
    book.add(variant("new"), {"cpu": runs_s(0.001)}, 3)
    assert [each.name for each in book.of_endpoint(endpoint(variants=("fast",)))] == ["fast"]
    assert [each.name for each in book.of_endpoint(endpoint())] == [*RUN_S, "new"]


def test_what_cannot_stand_beside_the_others_is_refused() -> None:
    book = VariantBook(settings())
    other = (TensorSpec("z", "FP32", (-1,)),)
    for wrong, words in ((variant("slow"), "slow"), (replace(variant("new"), inputs=other), "differ in inputs")):
        for refuse in (book.check, lambda each: book.add(each, {}, 1)):
            with pytest.raises(ConfigError, match=words):
                refuse(wrong)
    assert book.names == tuple(RUN_S)


def test_what_was_registered_is_there_again_after_json() -> None:
    before, after = VariantBook(settings()), VariantBook(settings())
    before.add(variant("new", accuracy=0.95), {"cpu": runs_s(0.001)}, 3)
    record = json.loads(json.dumps(before.to_record()))
    after.restore(record)
    assert after.variant("new") == before.variant("new")
    assert after.profiled_s == before.profiled_s
    assert after.memory_bytes == before.memory_bytes
    assert after.to_record() == before.to_record()


def test_what_was_withdrawn_is_not_there_again() -> None:
    before, after = VariantBook(settings()), VariantBook(settings())
    before.add(variant("new", accuracy=0.95), {"cpu": runs_s(0.001)}, 3)
    before.withdraw("new")
    assert before.names == tuple(RUN_S)
    assert "new" not in {each.name for each in before.of_endpoint(settings().endpoints["digits"])}
    assert before.variant("new").accuracy == 0.95, "workers may hold it yet"
    after.restore(before.to_record())
    assert after.names == tuple(RUN_S)
    before.add(variant("new", accuracy=0.5), {"cpu": runs_s(0.002)}, 3)
    assert before.variant("new").accuracy == 0.5
    assert before.names == (*RUN_S, "new")


def test_what_the_config_has_by_now_is_the_configs() -> None:
    before = VariantBook(settings())
    before.add(variant("new", accuracy=0.95), {"cpu": runs_s(0.001)}, 3)
    config = settings()
    of_config = variant("new", accuracy=0.5)
    after = VariantBook(replace(config, variants=(*config.variants, of_config)))
    after.restore(before.to_record())
    assert after.variant("new") == of_config
    assert ("cpu", "new") not in after.profiled_s


def test_what_cannot_stand_beside_the_configs_any_more_is_left_out() -> None:
    before = VariantBook(settings())
    before.add(variant("new"), {"cpu": runs_s(0.001)}, 3)
    before.add(variant("letters", task="letters"), {"cpu": runs_s(0.001)}, 3)
    config = settings()
    other = (TensorSpec("z", "FP32", (-1,)),)
    after = VariantBook(replace(config, variants=tuple(replace(each, inputs=other) for each in config.variants)))
    after.restore(before.to_record())
    assert after.names == (*RUN_S, "letters")


def test_pools_of_a_free_size_are_the_planners_to_size_when_it_sizes() -> None:
    config = settings({"digits": endpoint(slo_s=0.3)}, TWO_POOLS)
    book = VariantBook(config)
    candidates = {"digits": book.candidates(endpoint(pools=("gpu",)), lambda _: 1.0, lambda _: 1.0, ())}
    sized, there = (cluster_of(config, candidates, book, sizing=sizing) for sizing in (True, False))
    assert [(each.device, each.max_workers, each.memory_bytes) for each in sized.pools] == [
        ("cpu", None, float("inf")),
        ("gpu", 4, 7.0),
    ]
    assert [each.max_workers for each in there.pools] == [None, None]
    assert sized.endpoints[0].slo_s == 0.3
    assert sized.memory_bytes == book.memory_bytes


def test_a_pipeline_is_planned_for_stage_by_stage() -> None:
    find = tuple(variant(name, "find") for name in ("small", "large"))
    read = variant("cnn", "read")
    stages = {"find": StageSettings("find", None), "read": StageSettings("read", None, ("find",))}
    page = endpoint(stages=stages, measured_accuracy={("small", "cnn"): 0.9})
    profiled_s = {("cpu", each.name): runs_s(0.01) for each in (*find, read)}
    config = settings({"page": page}, variants=(*find, read), profiled_s=profiled_s)
    book = VariantBook(config)
    candidates = {"page": book.candidates(page, lambda _: 1.0, lambda _: 1.0, ())}
    assert names(candidates["page"]["cpu"]) == ["small", "large", "cnn"]
    (planned,) = cluster_of(config, candidates, book, sizing=False).endpoints
    assert [(stage.name, stage.after, names(stage.candidates["cpu"])) for stage in planned.stages] == [
        ("find", (), ["small", "large"]),
        ("read", ("find",), ["cnn"]),
    ]
    assert planned.measured_accuracy == {("small", "cnn"): 0.9}


def test_another_model_of_a_name_has_no_profile_of_the_one_before() -> None:
    config = settings({"digits": endpoint(pools=("cpu", "gpu"))}, TWO_POOLS)
    book = VariantBook(config)
    book.add(variant("v"), {"cpu": runs_s(0.001), "gpu": runs_s(0.002)}, 3)
    book.withdraw("v")
    book.add(variant("v"), {"cpu": runs_s(0.005)}, 3)
    assert {key: of for key, of in book.profiled_s.items() if key[1] == "v"} == {("cpu", "v"): runs_s(0.005)}
    (record,) = book.to_record()
    assert record["profiles_s"].keys() == {"cpu"}


def test_a_stage_whose_jobs_have_several_rows_is_planned_for_in_whole_jobs() -> None:
    read = variant("cnn", "read")
    stages = {"read": StageSettings("read", None, rows_per_job=3), "find": StageSettings("find", None, ("read",))}
    page = endpoint(stages=stages)
    find = variant("small", "find")
    profiled_s = {("cpu", each.name): runs_s(0.01) for each in (read, find)}
    config = settings({"page": page}, variants=(read, find), profiled_s=profiled_s)
    book = VariantBook(config)
    candidates = {"page": book.candidates(page, lambda _: 1.0, lambda _: 1.0, ())}
    (planned,) = cluster_of(config, candidates, book, sizing=False).endpoints
    (cnn,), (small,) = (stage.candidates["cpu"] for stage in planned.stages)
    assert [stage.rows_per_job for stage in planned.stages] == [3, 1]
    assert small in candidates["page"]["cpu"]
    one, two, three, four = cnn.latency_s[1:]
    assert one == two == three == small.latency_s[3]
    assert four == small.latency_s[4]
    assert cnn.cycle_s[1] == small.cycle_s[3]
    assert cnn.of_whole_jobs(99).latency_s == (0.0, *[four] * 4)


def test_an_endpoint_of_one_task_has_no_stages_to_plan_for() -> None:
    config = settings()
    book = VariantBook(config)
    candidates = {"digits": book.candidates(endpoint(), lambda _: 1.0, lambda _: 1.0, ())}
    assert cluster_of(config, candidates, book, sizing=False).endpoints[0].stages == ()


def test_a_record_that_cannot_be_read_costs_no_other_and_stays() -> None:
    before, after = VariantBook(settings()), VariantBook(settings())
    before.add(variant("one"), {"cpu": runs_s(0.001)}, 3)
    before.add(variant("two"), {"cpu": runs_s(0.001)}, 3)
    first, second = before.to_record()
    first["variant"]["of_another_version"] = 1
    after.restore([first, second])
    assert after.names == (*RUN_S, "two")
    assert sorted(each["variant"]["name"] for each in after.to_record()) == ["one", "two"]
    assert first in after.to_record()
