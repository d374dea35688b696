"""Variants that failed on a worker are avoided there for a while."""

from dispatch.queues.variant_health import AVOID_S, FAILURES_TO_AVOID, VariantHealth
from dispatch.selection.policy import Candidate

A, B = (Candidate(name, 0.9, (0.0, 0.01)) for name in "ab")


def test_a_variant_is_avoided_after_so_many_failures_and_then_tried_again() -> None:
    health = VariantHealth()
    for _ in range(FAILURES_TO_AVOID - 1):
        health.on_failure("w", "a", 0.0)
    assert not health.any_avoided
    health.on_failure("w", "a", 0.0)
    assert health.any_avoided
    assert health.not_avoided("w", (A, B), 1.0) == (B,)
    assert health.usable("w", (A,), 1.0) == (A,)
    assert health.not_avoided("other", (A, B), 1.0) == (A, B)
    assert health.not_avoided("w", (A, B), AVOID_S) == (A, B)
    health.on_failure("w", "a", AVOID_S)
    assert health.not_avoided("w", (A, B), AVOID_S + 1.0) == (B,), "one more failure is enough"


def test_nobody_is_asked_for_a_variant_that_is_used_no_more() -> None:
    health = VariantHealth()
    for _ in range(FAILURES_TO_AVOID):
        health.on_failure("w", "a", 0.0)
    health.not_avoided("w", (B,), AVOID_S + 1.0)
    assert not health.any_avoided, "though a was never run again"
