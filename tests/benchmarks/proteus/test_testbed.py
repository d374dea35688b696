"""Objectives against values worked out by hand, and files and names that make no testbed."""

from pathlib import Path

import pytest

from accuracy_scene import CPU, GPU, write_profiles
from benchmarks.proteus import testbed
from catalog.errors import ConfigError

BERT_AND_RESNEST = ("bert", "resnest")


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    return write_profiles(
        tmp_path / "profiles.csv",
        {
            "prajjwal/BERT-tiny": (80.0, {CPU: (2.0, 3.0), GPU: (1.0, 1.0)}),
            "roberta-large": (100.0, {CPU: (10.0, 190.0), GPU: (20.0, 4.0)}),
            "resnest14": (90.0, {CPU: (0.0, 40.0), GPU: (5.0, 1.0)}),
            "resnest269": (100.0, {CPU: (0.0, 400.0), GPU: (10.0, 2.0)}),
            "yolov5": (100.0, {CPU: (0.0, 50.0)}),
        },
    )


def slo_ms(bed: testbed.Testbed) -> dict[str, float]:
    return {endpoint.name: 1e3 * endpoint.slo_s for endpoint in bed.cluster.endpoints}


def test_by_the_rule_of_the_cpu_an_objective_is_a_multiple_of_the_fastest_variant_there(profiles: Path) -> None:
    bed = testbed.Testbed.of(profiles, {"cpu": 2, "gpu": 1}, BERT_AND_RESNEST, 2.0, "cpu")
    assert slo_ms(bed) == pytest.approx({"bert": 2 * 5.0, "resnest": 2 * 40.0})
    bed = testbed.Testbed.of(profiles, {"cpu": 2}, BERT_AND_RESNEST, 3.5, "cpu")
    assert slo_ms(bed) == pytest.approx({"bert": 3.5 * 5.0, "resnest": 3.5 * 40.0})


def test_by_the_rule_of_the_most_accurate_it_is_no_less_than_that_needs_where_it_is_fastest(profiles: Path) -> None:
    bed = testbed.Testbed.of(profiles, {"cpu": 2, "gpu": 1}, BERT_AND_RESNEST, 2.0, "most_accurate")
    assert slo_ms(bed) == pytest.approx({"bert": 2 * 24.0, "resnest": 2 * 40.0})
    bed = testbed.Testbed.of(profiles, {"cpu": 2}, BERT_AND_RESNEST, 2.0, "most_accurate")
    assert slo_ms(bed) == pytest.approx({"bert": 2 * 200.0, "resnest": 2 * 400.0})


def test_an_objective_that_is_given_counts_whatever_the_rule_says(profiles: Path) -> None:
    bed = testbed.Testbed.of(profiles, {"cpu": 1}, BERT_AND_RESNEST, 2.0, "cpu", {"bert": 123.0})
    assert slo_ms(bed) == pytest.approx({"bert": 123.0, "resnest": 2 * 40.0})
    bed = testbed.Testbed.of(profiles, {"gpu": 1}, ("bert",), 2.0, "cpu", {"bert": 123.0})
    assert slo_ms(bed) == pytest.approx({"bert": 123.0})


def test_endpoints_have_the_variants_of_their_type_on_the_devices_of_the_cluster(profiles: Path) -> None:
    bed = testbed.Testbed.of(profiles, {"gpu": 2, "cpu": 1}, BERT_AND_RESNEST, 2.0, "cpu")
    assert bed.workers == {"gpu-0": "gpu", "gpu-1": "gpu", "cpu-0": "cpu"}
    assert [pool.device for pool in bed.cluster.pools] == ["gpu", "cpu"]
    assert bed.unused == ("yolov5",)
    bert, resnest = bed.cluster.endpoints
    assert list(bert.candidates) == ["gpu", "cpu"]
    for own in bert.candidates.values():
        assert [(c.variant, c.accuracy) for c in own] == [("prajjwal/BERT-tiny", 0.8), ("roberta-large", 1.0)]
    assert [c.variant for c in resnest.candidates["gpu"]] == ["resnest14", "resnest269"]
    assert resnest.candidates["gpu"][0].latency_s[1:] == pytest.approx([(5.0 + rows) / 1e3 for rows in range(1, 9)])


def test_a_device_without_variants_of_a_type_has_none_of_it(profiles: Path) -> None:
    bed = testbed.Testbed.of(profiles, {"cpu": 1, "gpu": 1}, ("yolo",), 2.0, "most_accurate")
    (yolo,) = bed.cluster.endpoints
    assert [c.variant for c in yolo.candidates["cpu"]] == ["yolov5"]
    assert yolo.candidates["gpu"] == ()


def test_what_the_profile_file_does_not_know_is_refused_in_words(profiles: Path) -> None:
    with pytest.raises(ConfigError, match=r"unknown device 'tpu': there are ort_cpu, ort_gpu"):
        testbed.Testbed.of(profiles, {"cpu": 1, "tpu": 1}, ("bert",), 2.0, "cpu")
    with pytest.raises(ConfigError, match="no variant for query types t5"):
        testbed.Testbed.of(profiles, {"cpu": 1}, ("bert", "t5"), 2.0, "cpu")
    with pytest.raises(ConfigError, match="objectives for gpt2; query types are bert, resnest"):
        testbed.Testbed.of(profiles, {"cpu": 1}, BERT_AND_RESNEST, 2.0, "cpu", {"gpt2": 1.0, "bert": 9.0})
    with pytest.raises(ConfigError, match=r"cannot read profile table .*none\.csv: No such file"):
        testbed.Testbed.of(profiles.parent / "none.csv", {"cpu": 1}, ("bert",), 2.0, "cpu")


@pytest.mark.parametrize("rule", testbed.SLO_RULES)
def test_objectives_come_from_the_cpu_also_where_the_cluster_has_none(profiles: Path, rule: str) -> None:
    alone = testbed.Testbed.of(profiles, {"gpu": 1}, ("bert",), 2.0, rule)
    both = testbed.Testbed.of(profiles, {"gpu": 1, "cpu": 1}, ("bert",), 2.0, rule)
    assert alone.cluster.endpoints[0].slo_s == both.cluster.endpoints[0].slo_s


@pytest.mark.parametrize("rule", testbed.SLO_RULES)
def test_objectives_need_a_profile_on_a_cpu(tmp_path: Path, rule: str) -> None:
    table = write_profiles(tmp_path / "gpus.csv", {"bert-base": (100.0, {GPU: (5.0, 1.0)})})
    with pytest.raises(ConfigError, match=r"no variant of 'bert' has a profile on a CPU.* --slo-ms"):
        testbed.Testbed.of(table, {"gpu": 1}, ("bert",), 2.0, rule)


def test_one_device_by_two_names_is_refused(profiles: Path) -> None:
    with pytest.raises(ConfigError, match="'cpu' and 'ort_cpu' are both ort_cpu; give"):
        testbed.Testbed.of(profiles, {"cpu": 1, "ort_cpu": 2}, ("bert",), 2.0, "cpu")


def test_workers_are_numbered_within_their_type_so_that_they_sort() -> None:
    workers = testbed.worker_ids({"cpu": 11, "gpu": 2})
    assert list(workers) == [*(f"cpu-{number:02}" for number in range(11)), "gpu-0", "gpu-1"]
    assert list(workers.values()) == ["cpu"] * 11 + ["gpu"] * 2


def test_the_parts_of_a_load_fall_with_the_rank() -> None:
    parts = testbed.zipf(["a", "b", "c", "d"], alpha=1.0)
    assert parts == pytest.approx({"a": 12 / 25, "b": 6 / 25, "c": 4 / 25, "d": 3 / 25})
    nine = list(testbed.zipf("abcdefghi").values())
    assert sum(nine) == pytest.approx(1.0)
    assert nine == sorted(nine, reverse=True)
    assert nine[0] / nine[2] == pytest.approx(3**1.001)
