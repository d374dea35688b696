"""A router launches batches less far ahead while its cores have no time to spare."""

import pytest

from deployments.router.spare_time import LOOK_EVERY_S, SpareTime
from dispatch.latency.estimator import LatencyEstimator
from dispatch.latency.lead import ALL_AHEAD, LEAD, NO_SPARE


def test_the_lead_follows_what_the_cores_can_spare_within_seconds_and_comes_back() -> None:
    latency, busy_share = LatencyEstimator(0.01), 0.5
    spare = SpareTime(latency, lambda: busy_share, lambda: 0.0)
    for _ in range(20):
        spare.look()
    assert latency.lead == pytest.approx(LEAD)
    busy_share = 1.0
    for _ in range(round(2.0 / LOOK_EVERY_S)):
        spare.look()
    assert latency.lead < 0.3 * LEAD
    busy_share = NO_SPARE - 0.01
    for _ in range(20):
        spare.look()
    assert 0.2 * LEAD < latency.lead < 0.5 * LEAD


def test_a_thread_that_is_busy_all_the_time_has_none_to_spare_though_cores_have() -> None:
    latency, now_s, own_share = LatencyEstimator(0.01), 100.0, 0.5
    worked_s = 7.0
    spare = SpareTime(latency, lambda: 0.1, lambda: worked_s, lambda: now_s)

    def looks() -> None:
        nonlocal now_s, worked_s
        for _ in range(20):
            now_s += LOOK_EVERY_S
            worked_s += own_share * LOOK_EVERY_S
            spare.look()

    looks()
    assert (latency.lead, latency.all_ahead) == (pytest.approx(LEAD), True)
    own_share = (ALL_AHEAD + NO_SPARE) / 2 - 0.01
    looks()
    assert (latency.lead, latency.all_ahead) == (pytest.approx(LEAD), False)
    own_share = 0.99
    looks()
    assert latency.lead < 0.1 * LEAD
    own_share = 0.5
    looks()
    assert (latency.lead, latency.all_ahead) == (pytest.approx(LEAD, rel=1e-3), True)
