import math

import numpy as np
import pytest

from catalog.errors import ConfigError
from workload.rate import RateSchedule, RateStep


def test_a_bare_number_is_one_rate_without_end() -> None:
    schedule = RateSchedule.parse("50")
    assert schedule == RateSchedule.constant(50.0)
    assert math.isinf(schedule.length_s)


def test_steps_keep_their_order_and_add_up() -> None:
    schedule = RateSchedule.parse("50:10,400:5.5,50:10")
    assert schedule.steps == (RateStep(50, 10), RateStep(400, 5.5), RateStep(50, 10))
    assert schedule.length_s == 25.5
    assert schedule.starts_s == (0.0, 10.0, 15.5)


def test_only_the_last_step_may_be_without_end() -> None:
    assert math.isinf(RateSchedule.parse("50:10,400").length_s)
    with pytest.raises(ConfigError, match=r"'50' in '50,400:10' never ends"):
        RateSchedule.parse("50,400:10")


@pytest.mark.parametrize("text", ["", "fast", "50:", "50:10,", "50:x", "-1", "nan", "inf", "50:0", "50:-2", "0", "0:5"])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        RateSchedule.parse(text)


def test_the_expected_number_of_queries_grows_with_each_step_and_the_last_rate_holds() -> None:
    edges_s, expected = RateSchedule.parse("10:2,0:3,100:1").cumulative(8.0)
    np.testing.assert_allclose(edges_s, [0, 2, 5, 8])
    np.testing.assert_allclose(expected, [0, 20, 20, 320])


def test_a_run_shorter_than_the_schedule_sees_its_beginning() -> None:
    edges_s, expected = RateSchedule.parse("10:2,100:10").cumulative(1.0)
    np.testing.assert_allclose(edges_s, [0, 1])
    np.testing.assert_allclose(expected, [0, 10])
