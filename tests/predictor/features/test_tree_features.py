"""Rows by hand: degree, own metrics, the others' sum, their maximum, everyone's sum, and the machine's encoding."""

import tracemalloc

import numpy as np

from predictor.configuration import Configuration
from predictor.features.tree_features import TreeFeatures
from predictor.variant_table import VariantTable

TABLE = VariantTable(
    hardware={
        ("m", "a"): {"hw_u": 1.0, "hw_w": 2.0},
        ("m", "b"): {"hw_u": 3.0},
        ("n", "a"): {"hw_u": 5.0},
        ("elsewhere", "b"): {"hw_u": 1000.0},
    },
    architecture={"a": {"arch_f": 10.0}, "b": {"arch_f": 20.0}},
)
ENCODINGS = {"m": (1.0, 0.0), "n": (0.0, 3.0)}


def rows(*configurations: Configuration, columns: tuple[str, ...] = ("hw_u", "arch_f")) -> list[list[float]]:
    made: list[list[float]] = TreeFeatures(TABLE, columns, ENCODINGS).rows(configurations).tolist()
    return made


def test_a_row_has_a_variant_and_what_is_beside_it() -> None:
    of_a, of_b, twin = rows(Configuration("m", ("a", "b", "b")))
    assert of_a == [3, *(1, 10), *(6, 40), *(3, 20), *(7, 50), *(1, 0)]
    assert of_b == twin == [3, *(3, 20), *(4, 30), *(3, 20), *(7, 50), *(1, 0)]


def test_rows_of_different_degrees_stand_one_after_the_other() -> None:
    found = rows(Configuration("m", ("a",)), Configuration("m", ("b", "a")), Configuration("m", ("a", "a", "a")))
    assert [row[0] for row in found] == [1, 2, 2, 3, 3, 3]
    assert found[0] == [1, *(1, 10), *(0, 0), *(0, 0), *(1, 10), *(1, 0)]
    assert found[2] == [2, *(1, 10), *(3, 20), *(3, 20), *(4, 30), *(1, 0)]


def test_the_order_of_variants_only_orders_the_rows() -> None:
    assert rows(Configuration("n", ("a", "b", "z"))) == rows(Configuration("n", ("z", "b", "a")))[::-1]


def test_a_metric_that_a_variant_has_not_is_the_mean_of_the_others_there() -> None:
    (alone,) = rows(Configuration("m", ("b",)), columns=("hw_w",))
    assert alone[1] == 2.0
    (on_n,) = rows(Configuration("n", ("b",)))
    assert on_n[1] == 5.0


def test_a_metric_that_nobody_has_there_is_the_mean_of_all_machine_types() -> None:
    (alone,) = rows(Configuration("n", ("a",)), columns=("hw_w",))
    assert alone[1] == 2.0
    (unheard_of,) = rows(Configuration("n", ("a",)), columns=("hw_x",))
    assert unheard_of[1] == 0.0


def test_an_unknown_variant_is_the_mean_of_the_others() -> None:
    of_a, of_z = rows(Configuration("m", ("a", "z")))
    assert of_z[1:3] == [2.0, 15.0]
    assert of_a[3:5] == [2.0, 15.0]


def test_an_unknown_machine_type_is_the_mean_of_encodings_and_of_metrics() -> None:
    of_a, of_b = rows(Configuration("x", ("a", "b")))
    assert of_a[-2:] == of_b[-2:] == [0.5, 1.5]
    assert of_a[1:3] == [3.0, 10.0]
    assert of_b[1:3] == [4.0, 20.0]


def test_without_metrics_there_are_degree_and_machine_type() -> None:
    features = TreeFeatures(VariantTable(), (), ENCODINGS)
    np.testing.assert_array_equal(features.rows([Configuration("n", ("a", "b"))]), [[2.0, 0.0, 3.0], [2.0, 0.0, 3.0]])


def test_rows_take_no_memory_for_variants_that_are_not_in_them() -> None:
    names = [f"v{number}" for number in range(400)]
    table = VariantTable(architecture={name: {f"arch_{i}": 1.0 * i for i in range(10)} for name in names})
    features = TreeFeatures(table, table.architecture_columns, ENCODINGS)
    asked = [Configuration("m", (name, names[0])) for name in names]
    features.rows(asked[:1])
    tracemalloc.start()
    try:
        features.rows(asked)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most_bytes < 5e6, "800 rows of 402 variants with ten metrics are 26 MB"
