"""Live accuracies as people see them, of one router and of several."""

from typing import Any

import pytest

from deployments.router.live_accuracy.status import alerts, shadow_status, together_shadow
from dispatch.ensemble.ballots import Ballots
from dispatch.shadow.agreement import Agreement, Baseline
from dispatch.shadow.endpoint_shadow import EndpointShadow
from dispatch.shadow.rules import ShadowRules
from dispatch_scene import SLOW


def compared(**agreed: list[bool]) -> EndpointShadow:
    """What comparisons of these variants with the slow one came to."""
    shadow = EndpointShadow(ShadowRules(0.01, Ballots(10)))
    shadow.reference = SLOW
    for variant, each in agreed.items():
        agreement = Agreement(Baseline(0.9, 0.88, "slow", 0.97, 0.96))
        for one in each:
            agreement.observe(one)
        shadow.agreements[variant, "slow"] = agreement
        shadow.compared += len(each)
        shadow.drawn += len(each) + 1
        shadow.dropped += 1
    return shadow


def record(**agreed: list[bool]) -> dict[str, Any]:
    found = shadow_status(compared(**agreed))
    assert found is not None
    return found


def test_a_variant_that_is_well_has_an_estimate_and_no_alert() -> None:
    found = record(fast=[True] * 18 + [False] * 2)
    assert (found["reference"], found["compared"], found["drawn"], found["dropped"]) == ("slow", 20, 21, 1)
    own = found["variants"]["fast"]
    assert own["agreement"] == pytest.approx(0.9)
    assert own["low"] < own["accuracy"] < own["high"]
    assert (own["drifted"], own["found_after"], found["alerts"]) == (False, None, [])


def test_a_variant_that_fell_is_an_alert_that_names_it() -> None:
    found = record(fast=[True] * 20, other=[False] * 20)
    (alert,) = found["alerts"]
    assert "variant other agrees with slow on 0% of the latest 20 rows" in alert
    assert "its accuracy is about 0% now, not 90%" in alert


def test_where_all_fell_the_reference_is_named() -> None:
    (alert,) = record(fast=[False] * 20, other=[False] * 20)["alerts"]
    assert alert.startswith("all variants that were compared disagree with slow")


def test_several_routers_count_together_and_any_of_them_may_raise_the_alarm() -> None:
    well, ill = record(fast=[True] * 50), record(fast=[False] * 20)
    both = together_shadow([well, None, ill])
    assert both is not None
    assert (both["compared"], both["drawn"], both["dropped"]) == (70, 72, 2)
    assert both["variants"]["fast"]["compared"] == 70
    assert both["variants"]["fast"]["drifted"]
    assert len(both["alerts"]) == 1
    assert together_shadow([None, None]) is None


def test_nothing_is_said_where_nothing_is_compared() -> None:
    assert shadow_status(None) is None
    assert alerts(None, {}) == []
