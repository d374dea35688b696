import numpy as np
import pytest

from benchmarks.placement.effect_load import (
    LEAST_TOTAL,
    MIX_SIZES,
    MOST_TOTAL,
    MOST_UTILISATION,
    ROLES,
    SteadyLoad,
    arrivals_s,
    draw_mixes,
    draw_utilisations,
)
from predictor.measure.positions import Role

NAMES = [role.variant for role in ROLES]


def utilisations(seed: int) -> dict[str, float]:
    return draw_utilisations(NAMES, np.random.default_rng(seed))


def test_every_variant_has_its_own_utilisation_and_two_fit_on_a_cpu() -> None:
    found = utilisations(0)
    assert list(found) == NAMES
    assert len(set(found.values())) == len(NAMES)
    assert 2 * max(found.values()) <= 2 * MOST_UTILISATION < 1


@pytest.mark.parametrize("seed", range(5))
def test_mixes_differ_have_variants_of_both_sizes_and_a_moderate_load(seed: int) -> None:
    utilisation = utilisations(seed)
    mixes = draw_mixes(utilisation, 9, np.random.default_rng(seed))
    assert [len(mix) for mix in mixes] == [MIX_SIZES[index % 3] for index in range(9)]
    assert len({frozenset(mix) for mix in mixes}) == 9
    for mix in mixes:
        assert len(set(mix)) == len(mix)
        assert LEAST_TOTAL <= sum(utilisation[name] for name in mix) <= MOST_TOTAL
        assert any(name in mix for name in NAMES[:4])
        assert any(name in mix for name in NAMES[4:])


def test_mixes_depend_on_the_seed_only() -> None:
    utilisation = utilisations(0)
    one, same, other = (draw_mixes(utilisation, 6, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert one == same != other


def test_mixes_that_cannot_be_had_are_an_error() -> None:
    with pytest.raises(ValueError, match="no 2 mixes of a, b"):
        draw_mixes({"a": 0.1, "b": 0.1, "c": 0.1, "d": 0.1}, 2, np.random.default_rng(0))


def test_queries_come_at_the_rate_of_the_utilisation() -> None:
    load = SteadyLoad(Role("a", 1), utilisation=0.3, service_s=0.002)
    assert load.rate_qps == pytest.approx(150.0)
    found = arrivals_s(load.rate_qps, 100.0, np.random.default_rng(0))
    assert len(found) == pytest.approx(15_000, rel=0.03)
    assert list(found) == sorted(found)
    assert 0.0 <= found[0] <= found[-1] < 100.0
    gaps = np.diff(found)
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.05)


def test_a_window_has_one_query_at_least() -> None:
    assert len(arrivals_s(1e-9, 1.0, np.random.default_rng(0))) == 1
