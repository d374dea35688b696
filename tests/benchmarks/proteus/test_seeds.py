"""Seeds change the order of a trace's gaps within a second, and nothing else."""

import numpy as np
import pytest

from accuracy_scene import by_chance, evenly
from benchmarks.proteus.seeds import shuffled


def trace() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    return {"a": np.array(by_chance(40.0, 0.0, 6.0, rng)), "b": np.array(evenly(10.0, 0.0, 6.0)), "c": np.array([])}


def test_seed_0_is_the_trace_as_recorded() -> None:
    assert {name: of.tolist() for name, of in shuffled(trace(), 0).items()} == {
        name: of.tolist() for name, of in trace().items()
    }


@pytest.mark.parametrize("seed", [1, 2])
def test_gaps_are_the_same_in_another_order(seed: int) -> None:
    before, after = trace(), shuffled(trace(), seed)
    assert list(after) == ["a", "b", "c"]
    assert len(after["c"]) == 0
    for name in ("a", "b"):
        gaps = [np.sort(np.diff(of[name], prepend=0.0)) for of in (before, after)]
        assert gaps[1] == pytest.approx(gaps[0], abs=1e-9)
        assert (np.diff(after[name]) >= 0).all()
    assert not np.array_equal(before["a"], after["a"])
    assert np.diff(after["b"]) == pytest.approx(0.1, abs=0.051), "even arrivals stay even, but for the first of all"


def test_the_last_query_of_each_second_stays_where_it_is() -> None:
    before, after = trace()["a"], shuffled(trace(), 3)["a"]
    last = np.flatnonzero(np.diff(before // 1.0, append=-1.0))
    assert after[last] == pytest.approx(before[last])


@pytest.mark.parametrize("seed", range(1, 9))
def test_no_query_comes_before_the_pause_that_it_came_after(seed: int) -> None:
    late = np.array([100.2, 100.3, 100.5, 100.9, 104.0, 104.5, 105.1, 105.2])
    after = shuffled({"rare": late}, seed)["rare"]
    assert after[:4].min() == pytest.approx(100.2), "not before 100 s, which is when the second begins"
    assert after[3] == pytest.approx(100.9)
    assert after[4:6] == pytest.approx([104.0, 104.5])
    assert after[6:] == pytest.approx([105.1, 105.2]) or after[6:] == pytest.approx([104.6, 105.2])


def test_a_seed_makes_the_same_again_and_another_seed_another() -> None:
    first, again, other = (shuffled(trace(), seed)["a"].tolist() for seed in (1, 1, 2))
    assert first == again
    assert first != other
