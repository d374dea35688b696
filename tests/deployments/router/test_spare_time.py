"""A router launches batches less far ahead while its cores have no time to spare."""

import pytest

from deployments.router.spare_time import LOOK_EVERY_S, SpareTime
from dispatch.latency.estimator import LatencyEstimator
from dispatch.latency.lead import LEAD, NO_SPARE


def test_the_lead_follows_what_the_cores_can_spare_within_seconds_and_comes_back() -> None:
    latency, busy_share = LatencyEstimator(0.01), 0.5
    spare = SpareTime(latency, lambda: busy_share)
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
