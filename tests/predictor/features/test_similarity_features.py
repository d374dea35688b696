"""Points by hand."""

import numpy as np
import pytest

from predictor.features.similarity_features import variant_points
from predictor.variant_table import VariantTable


def of_architecture(**values: float) -> VariantTable:
    return VariantTable(architecture={name: {"arch_x": value} for name, value in values.items()})


def on_machines(**values: dict[str, float]) -> VariantTable:
    return VariantTable({(m, v): {"hw_x": each} for m, own in values.items() for v, each in own.items()})


def test_metrics_are_in_standard_deviations_from_the_mean() -> None:
    points = variant_points(of_architecture(a=1, b=2, c=9), ["a", "b", "c"])
    assert points[:, 0].tolist() == pytest.approx(np.array([-3, -2, 5]) / np.sqrt(38 / 3))


def test_metrics_of_different_orders_of_magnitude_are_compared_by_their_logarithms() -> None:
    points = variant_points(of_architecture(a=1e6, b=1e7, c=1e8), ["a", "b", "c"])
    assert points[:, 0].tolist() == pytest.approx([-np.sqrt(1.5), 0.0, np.sqrt(1.5)])
    with_zero = variant_points(of_architecture(a=0, b=50, c=100), ["a", "b", "c"])
    assert with_zero[:, 0].tolist() == pytest.approx([-np.sqrt(1.5), 0.0, np.sqrt(1.5)])


def test_metrics_of_machines_are_relative_to_the_others_there() -> None:
    """On n everything is ten times as much: what stays is who has more than others."""
    both = variant_points(on_machines(m={"a": 1, "b": 3, "c": 4}, n={"a": 10, "b": 30, "c": 40}), ["a", "b", "c"])
    one = variant_points(on_machines(m={"a": 1, "b": 3, "c": 4}), ["a", "b", "c"])
    np.testing.assert_allclose(both, one, atol=1e-12)


def test_metrics_of_some_machines_suffice() -> None:
    """a is -1 on m and alone on n, 0: -0.5 in the mean; b is 1 on m. Both again in standard deviations."""
    points = variant_points(on_machines(m={"a": 1, "b": 3}, n={"a": 5}), ["a", "b", "c"])
    assert points[:, 0].tolist() == pytest.approx([-1.0, 1.0, 0.0])


def test_what_is_unknown_is_the_mean() -> None:
    table = of_architecture(a=1, b=3)
    assert variant_points(table, ["a", "b", "nobody"])[:, 0].tolist() == pytest.approx([-1.0, 1.0, 0.0])


def test_what_is_the_same_for_all_tells_nothing() -> None:
    assert variant_points(of_architecture(a=7, b=7), ["a", "b"]).tolist() == [[0.0], [0.0]]
    machines = variant_points(on_machines(m={"a": 0.1, "b": 0.1, "c": 0.1}, n={"a": 0.3}), ["a", "b", "c"])
    assert machines.tolist() == [[0.0], [0.0], [0.0]]


def test_columns_are_chosen_and_are_in_the_order_given() -> None:
    table = VariantTable({("m", "a"): {"hw_x": 1}, ("m", "b"): {"hw_x": 3}}, {"a": {"arch_y": 5}, "b": {"arch_y": 4}})
    assert variant_points(table, ["a", "b"]).tolist() == [[-1.0, 1.0], [1.0, -1.0]]
    assert variant_points(table, ["a", "b"], ["arch_y"]).tolist() == [[1.0], [-1.0]]
    assert variant_points(table, ["a", "b"], []).shape == (2, 0)
    assert variant_points(VariantTable(), ["a", "b"]).shape == (2, 0)


def test_metrics_in_large_units_tell_as_much_as_in_small_ones() -> None:
    small, large = (variant_points(of_architecture(a=1 * of, b=2 * of, c=9 * of), ["a", "b", "c"]) for of in (1, 1e-12))
    np.testing.assert_allclose(large, small)
    small, large = (
        variant_points(on_machines(m={"a": 1 * of, "b": 2 * of, "c": 9 * of}), ["a", "b", "c"]) for of in (1, 1e-12)
    )
    np.testing.assert_allclose(large, small)


def test_what_machines_say_against_each_other_is_the_same_for_all_but_for_rounding() -> None:
    table = on_machines(m={"a": 0.1, "b": 0.2, "c": 0.7}, n={"a": -0.3, "b": -0.6, "c": -2.1})
    np.testing.assert_allclose(variant_points(table, ["a", "b", "c"]), np.zeros((3, 1)), atol=1e-12)
