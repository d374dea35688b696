"""How late a loop is that something holds up for known times."""

import asyncio

import pytest

from deployments.router.observing.loop_lag import PROBE_EVERY_S, WEIGHT, LoopLag
from router_scene import virtually
from virtual_time import VirtualLoop


@virtually
async def test_an_idle_loop_is_never_late() -> None:
    lag = LoopLag()
    probing = asyncio.create_task(lag.run())
    await asyncio.sleep(100 * PROBE_EVERY_S)
    assert lag.mean_s == lag.high_s == pytest.approx(0.0, abs=1e-9)
    probing.cancel()


@virtually
async def test_a_loop_that_is_held_up_again_and_again_is_late_by_what_remains_after_each_probe_is_due() -> None:
    """Whatever runs for 0.05 s from the middle between two probes on makes the next one 0.04 s late."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    lag = LoopLag()
    probing = asyncio.create_task(lag.run())
    for _ in range(30):
        await asyncio.sleep(PROBE_EVERY_S / 2)
        loop.hold_up(0.05)
    await asyncio.sleep(PROBE_EVERY_S / 4)
    late_s = 0.05 - PROBE_EVERY_S / 2
    assert lag.mean_s == pytest.approx(late_s * (1.0 - (1.0 - WEIGHT) ** 30))
    assert lag.mean_s < lag.high_s
    probing.cancel()
