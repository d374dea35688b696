"""Measuring stops when the 95th percentile is stable or the time is spent; the clock is a parameter."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from catalog.errors import ConfigError
from catalog.profiles.profile import BatchLatency
from catalog.profiles.profiler import SAMPLE_WORDS, profile_variant, sample_inputs
from catalog.tensor import DTYPES, TensorSpec


class FakeModel:
    """A model on its own clock: a batch takes ``duration_s(batch_size, number of the run)``."""

    def __init__(self, duration_s: Callable[[int, int], float]) -> None:
        self._duration_s = duration_s
        self.now_s = 0.0
        self.runs: Counter[int] = Counter()

    def clock(self) -> float:
        return self.now_s

    def run(self, batch_size: int) -> None:
        self.now_s += self._duration_s(batch_size, self.runs[batch_size])
        self.runs[batch_size] += 1


def test_a_steady_model_is_measured_exactly_and_quickly() -> None:
    model = FakeModel(lambda size, _: 0.001 * size)
    profile = profile_variant(model.run, "cpu", 1000.0, batch_sizes=(1, 4), clock=model.clock)
    assert profile.device == "cpu"
    assert profile.batch_sizes == (1, 4)
    assert profile.latency_ms(1) == pytest.approx(1.0)
    assert profile.latency_ms(4) == pytest.approx(4.0)
    assert model.now_s < 1.0


def test_slow_first_runs_are_left_out() -> None:
    model = FakeModel(lambda _, number: 5.0 if number < 2 else 0.001)
    profile = profile_variant(model.run, "cpu", 1000.0, batch_sizes=(1,), clock=model.clock)
    assert profile.latency_ms(1, "p99_ms") == pytest.approx(1.0)


def test_an_unsteady_model_is_measured_longer_than_a_steady_one() -> None:
    steady = FakeModel(lambda *_: 0.001)
    growing = FakeModel(lambda _, number: 0.001 * (number + 1))
    for model in (steady, growing):
        profile_variant(model.run, "cpu", 100.0, batch_sizes=(1,), clock=model.clock)
    assert growing.runs[1] > 2 * steady.runs[1]


def test_a_wait_for_its_turn_is_no_part_of_a_run_but_of_the_budget() -> None:
    model = FakeModel(lambda *_: 1.0)

    def run(batch_size: int) -> float:
        model.run(batch_size)
        return 0.001 * batch_size

    profile = profile_variant(run, "cpu", 10.0, batch_sizes=(1, 4), clock=model.clock)
    assert profile.latency_ms(1) == pytest.approx(1.0)
    assert profile.latency_ms(4) == pytest.approx(4.0)
    assert model.now_s < 15.0


def test_measuring_ends_with_the_budget_and_still_covers_every_size() -> None:
    model = FakeModel(lambda size, number: 0.01 * size * (number + 1))
    profile = profile_variant(model.run, "cpu", 5.0, batch_sizes=(1, 2, 4), clock=model.clock)
    assert profile.batch_sizes == (1, 2, 4)
    assert model.now_s < 8.0


def test_a_budget_of_nothing_gives_one_sample_of_every_size() -> None:
    model = FakeModel(lambda *_: 1.0)
    profile = profile_variant(model.run, "cpu", 0.0, batch_sizes=(1, 2), clock=model.clock)
    assert [profile.by_batch[size].samples for size in (1, 2)] == [1, 1]


def test_time_left_by_quick_sizes_goes_to_the_later_ones() -> None:
    model = FakeModel(lambda size, number: 0.0001 if size == 1 else 0.001 * (number + 1))
    profile_variant(model.run, "cpu", 10.0, batch_sizes=(1, 2), clock=model.clock)
    assert model.now_s > 9.0


def test_progress_is_told_of_every_size_in_order() -> None:
    model = FakeModel(lambda size, _: 0.001 * size)
    heard: list[tuple[int, float]] = []

    def hear(batch_size: int, latency: BatchLatency) -> None:
        heard.append((batch_size, round(latency.p95_ms, 6)))

    profile_variant(model.run, "cpu", 1.0, batch_sizes=(1, 2), clock=model.clock, on_progress=hear)
    assert heard == [(1, 1.0), (2, 2.0)]


def test_no_batch_sizes_is_refused() -> None:
    with pytest.raises(ConfigError, match="give at least one"):
        profile_variant(lambda _: None, "cpu", 1.0, batch_sizes=())


@pytest.mark.parametrize("datatype", DTYPES)
def test_sample_inputs_have_the_dtype_and_the_stacked_shape(datatype: str) -> None:
    inputs = sample_inputs((TensorSpec("x", datatype, (-1, 2, 3)),), 4, seed=1)
    assert inputs["x"].dtype == DTYPES[datatype]
    assert inputs["x"].shape == (4, 2, 3)


def test_sample_strings_are_texts_as_long_as_a_sentence() -> None:
    texts = sample_inputs((TensorSpec("text", "BYTES", (-1,)),), 5, seed=1)["text"]
    assert all(isinstance(text, str) and len(text.split()) == SAMPLE_WORDS for text in texts)
    assert len(set(texts)) == 5


def test_the_same_seed_gives_the_same_inputs() -> None:
    specs = (TensorSpec("x", "FP32", (-1, 8)), TensorSpec("n", "INT64", (-1, 8)))
    first, again, other = (sample_inputs(specs, 2, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not np.array_equal(first["x"], other["x"])
