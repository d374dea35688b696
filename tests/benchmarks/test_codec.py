"""The benchmark of the codec: what it times does what it says, and its figures hang together."""

import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.codec.__main__ import INFO, PEER, SHAPE, _ways, figures

NO_PEER = pytest.mark.skipif(not Path(PEER).exists(), reason="the environment of tests/support/clients is not there")


def test_all_ways_are_about_the_same_tensor() -> None:
    tensor = np.random.default_rng(1).standard_normal(SHAPE, dtype=np.float32)
    made = {name: way() for name, (way, _) in _ways(tensor).items()}
    for name in ("decode_binary_s", "decode_json_s"):
        np.testing.assert_array_equal(made[name].inputs["x"], tensor)
    np.testing.assert_array_equal(made["plain_decode_json_s"], tensor)
    content, json_bytes = made["encode_binary_s"]
    assert content[json_bytes:] == tensor.tobytes()
    assert made["encode_json_s"].json_bytes is None
    assert made["encode_json_s"].content[-200:-2] == made["plain_encode_json_s"][-200:-2]
    assert INFO.inputs[0].item_shape == tuple(SHAPE[1:])


@NO_PEER
def test_figures_have_ratios_and_goals_beside_the_times() -> None:
    found = figures(1, 0, PEER)
    times = found["times_ms"]
    assert len(times) == 10
    assert min(times.values()) > 0
    assert found["decode_json_over_plain"] == pytest.approx(times["decode_json_ms"] / times["plain_decode_json_ms"])
    assert found["goals_met"] == all(found["goals"].values())


def test_a_peer_without_the_client_is_named() -> None:
    with pytest.raises(RuntimeError, match=r"it needs tritonclient\[http\]"):
        figures(1, 0, sys.executable)
