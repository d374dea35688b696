"""Updates in 8 bits, and the weights that they make."""

import numpy as np

from catalog.zoo.sentiment.deltas import linear_names, packed, tuned_weights, unpacked


def delta(layers, rank=2, width=6):
    rng = np.random.default_rng(1)
    made = {}
    for name in linear_names(layers):
        made[f"{name}.down"] = rng.normal(size=(rank, width)).astype(np.float32)
        made[f"{name}.up"] = rng.normal(size=(width, rank)).astype(np.float32) * 1e-2
    made["head.weight"], made["head.bias"] = rng.normal(size=(3, width)).astype(np.float32), np.zeros(3, np.float32)
    return made


def test_packing_loses_less_than_a_hundredth_of_the_largest_number() -> None:
    given = delta([0])
    kept = packed(given)
    assert {array.dtype.name for name, array in kept.items() if name.endswith((".down", ".up"))} == {"int8"}
    back = unpacked(kept)
    assert back.keys() == given.keys()
    for name, array in given.items():
        np.testing.assert_allclose(back[name], array, atol=np.abs(array).max() / 100)


def test_an_update_of_zeros_stays_one() -> None:
    given = delta([0]) | {"encoder.layer.0.output.dense.up": np.zeros((6, 2), np.float32)}
    assert (unpacked(packed(given))["encoder.layer.0.output.dense.up"] == 0).all()


def test_only_the_layers_named_are_changed() -> None:
    pretrained = {f"{name}.weight": np.ones((6, 6), np.float32) for name in linear_names(range(3))}
    update = delta([0, 2])
    tuned = tuned_weights(pretrained, [0, 2], update)
    for name in linear_names([0, 2]):
        np.testing.assert_allclose(tuned[f"{name}.weight"], 1 + update[f"{name}.up"] @ update[f"{name}.down"])
    for name in linear_names([1]):
        assert (tuned[f"{name}.weight"] == 1).all()
    assert (tuned["head.weight"] == update["head.weight"]).all()
