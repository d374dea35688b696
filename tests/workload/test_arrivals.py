from pathlib import Path

import numpy as np
import pytest

from catalog.errors import ConfigError
from workload.arrivals import PROCESSES, ArrivalOptions, create
from workload.rate import RateSchedule
from workload.renewal import Gamma, Poisson, Uniform

FIXED = RateSchedule.constant(200.0)
STEPPED = RateSchedule.parse("50:100,400:100,50:100")


def test_poisson_gaps_have_the_mean_and_variance_of_theory() -> None:
    gaps_s = np.diff(Poisson(FIXED, seed=1).times_s(500.0))
    standard_error = 1 / np.sqrt(len(gaps_s))
    assert gaps_s.mean() * 200 == pytest.approx(1.0, abs=4 * standard_error)
    # an exponential has kurtosis 9, so the squared coefficient of variation has a standard error near sqrt(8 / n)
    assert (gaps_s.std() / gaps_s.mean()) ** 2 == pytest.approx(1.0, abs=4 * np.sqrt(8) * standard_error)


def test_poisson_counts_per_second_vary_as_much_as_their_mean() -> None:
    counts = np.histogram(Poisson(FIXED, seed=2).times_s(2000.0), bins=2000, range=(0, 2000))[0]
    assert counts.var() / counts.mean() == pytest.approx(1.0, abs=4 * np.sqrt(2 / 2000))


@pytest.mark.parametrize("shape", [0.25, 0.5, 4.0])
def test_gamma_gaps_vary_by_one_over_the_shape(shape: float) -> None:
    gaps_s = np.diff(Gamma(FIXED, shape, seed=3).times_s(1000.0))
    assert gaps_s.mean() * 200 == pytest.approx(1.0, rel=0.03)
    assert (gaps_s.std() / gaps_s.mean()) ** 2 == pytest.approx(1 / shape, rel=0.06)


def test_gamma_of_shape_one_is_poisson_in_its_gaps() -> None:
    gaps_s = np.diff(Gamma(FIXED, 1.0, seed=4).times_s(500.0))
    assert (gaps_s * 200 > 1.0).mean() == pytest.approx(np.exp(-1), abs=0.01)


def test_uniform_arrivals_are_evenly_spaced_from_the_start() -> None:
    np.testing.assert_allclose(Uniform(RateSchedule.constant(4.0)).times_s(2.0), np.arange(8) / 4)


def test_uniform_arrivals_do_not_gain_a_query_from_rounding() -> None:
    assert len(Uniform(RateSchedule.constant(0.1)).times_s(30.0)) == 3


@pytest.mark.parametrize("source", [Poisson(STEPPED, 5), Gamma(STEPPED, 0.5, 5), Uniform(STEPPED)])
def test_arrivals_follow_the_steps_of_the_rate(source: Poisson | Gamma | Uniform) -> None:
    counts = np.histogram(source.times_s(300.0), bins=3, range=(0, 300))[0]
    np.testing.assert_allclose(counts, [5000, 40000, 5000], rtol=0.08)


@pytest.mark.parametrize("source", [Poisson(STEPPED, 6), Gamma(STEPPED, 0.3, 6), Uniform(STEPPED)])
def test_arrivals_ascend_within_the_run_and_repeat_bit_for_bit(source: Poisson | Gamma | Uniform) -> None:
    times_s = source.times_s(250.0)
    assert times_s[0] >= 0
    assert times_s[-1] < 250
    assert (np.diff(times_s) >= 0).all()
    assert times_s.tobytes() == source.times_s(250.0).tobytes()


@pytest.mark.parametrize("source", [Poisson(FIXED, 6), Gamma(FIXED, 0.3, 6), Uniform(FIXED)])
@pytest.mark.parametrize("duration_s", [np.inf, 1e9])
def test_more_queries_than_can_be_in_memory_are_refused(source: Poisson | Gamma | Uniform, duration_s: float) -> None:
    with pytest.raises(ConfigError, match="one run has at most 100000000; lower the rate or the duration"):
        source.times_s(duration_s)


def test_another_seed_gives_other_arrivals() -> None:
    assert Poisson(FIXED, 1).times_s(1.0).tobytes() != Poisson(FIXED, 2).times_s(1.0).tobytes()


def test_a_longer_run_begins_like_the_shorter_one() -> None:
    short_s, long_s = (Poisson(FIXED, 7).times_s(duration_s) for duration_s in (5.0, 50.0))
    np.testing.assert_allclose(long_s[: len(short_s)], short_s, rtol=1e-9)


def test_no_query_arrives_in_a_pause() -> None:
    schedule = RateSchedule.parse("100:2,0:3,100:2")
    for source in (Poisson(schedule, 8), Uniform(schedule)):
        times_s = source.times_s(7.0)
        assert not ((times_s > 2.0) & (times_s < 5.0)).any()
        assert (times_s >= 5.0).sum() > 150


def test_every_process_can_be_made_by_name(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("arrival_ms\n100\n200\n")
    for name in PROCESSES:
        options = ArrivalOptions(rate="20", trace=trace if name == "trace" else None)
        assert len(create(name, options).times_s(2.0)) > 0


def test_an_unknown_process_is_refused_with_the_known_names() -> None:
    with pytest.raises(ConfigError, match=r"'pareto'; use one of poisson, gamma, uniform, trace"):
        create("pareto", ArrivalOptions())


def test_options_that_contradict_the_process_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot follow trace"):
        create("poisson", ArrivalOptions(trace=tmp_path / "trace.csv"))
    with pytest.raises(ConfigError, match="without a file"):
        create("trace", ArrivalOptions())
    with pytest.raises(ConfigError, match="no rate given"):
        create("uniform", ArrivalOptions(rate=None))
    with pytest.raises(ConfigError, match="one mean rate or none"):
        create("trace", ArrivalOptions(rate="10:5,20:5", trace=tmp_path / "trace.csv"))
    with pytest.raises(ConfigError, match="rate '10:5' for a trace, which has steps of its own"):
        create("trace", ArrivalOptions(rate="10:5", trace=tmp_path / "trace.csv"))
    with pytest.raises(ConfigError, match="gamma shape 0"):
        create("gamma", ArrivalOptions(shape=0.0))
    with pytest.raises(ConfigError, match="gamma shape inf"):
        create("gamma", ArrivalOptions(shape=np.inf))
