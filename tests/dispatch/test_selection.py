"""What the two policies choose."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.errors import ConfigError
from dispatch.selection.fixed import FixedSelection
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate, Choice, QueueView
from dispatch.selection.registry import create_selection

FAST = Candidate("fast", 0.7, (0.0, 0.001, 0.0015, 0.002, 0.0025))
MIDDLE = Candidate("middle", 0.8, (0.0, 0.010, 0.016, 0.022, 0.028))
SLOW = Candidate("slow", 0.9, (0.0, 0.050, 0.080))
ALL = (SLOW, MIDDLE, FAST)


def view(rows: int, slack_s: float, candidates: tuple[Candidate, ...] = ALL) -> QueueView:
    return QueueView(100.0, rows, 100.0 + slack_s, candidates)


@pytest.mark.parametrize(
    ("rows", "slack_s", "expected"),
    [
        (1, 0.1, Choice("slow", 1)),
        (1, 0.049, Choice("middle", 1)),
        (2, 0.07, Choice("middle", 2)),
        (4, 0.1, Choice("slow", 2)),  # its largest batch: the rest waits
        (4, 0.02, Choice("fast", 4)),
    ],
)
def test_greedy_takes_the_most_accurate_variant_in_time(rows: int, slack_s: float, expected: Choice) -> None:
    assert GreedySelection().choose(view(rows, slack_s)) == expected


def test_greedy_takes_the_variant_with_the_most_rows_per_second_when_all_are_late() -> None:
    assert GreedySelection().choose(view(4, -1.0)) == Choice("fast", 4)


def test_a_query_of_more_rows_than_a_batch_is_to_hold_takes_as_long_as_several() -> None:
    assert SLOW.time_s(SLOW.latency_s, 2) == SLOW.latency_s[2]
    assert SLOW.time_s(SLOW.latency_s, 5) == pytest.approx(2 * 0.080 + 0.050)
    assert SLOW.time_s(SLOW.latency_s, 4) == pytest.approx(2 * 0.080)
    for slack_s, variant in ((0.17, "slow"), (0.1, "middle"), (0.02, "fast")):
        chosen = GreedySelection().choose(view(4, slack_s)._replace(first_rows=4))
        assert chosen.variant == variant


def test_fixed_serves_its_variant_whatever_the_deadline() -> None:
    assert FixedSelection("slow").choose(view(4, -1.0)) == Choice("slow", 2)


def test_fixed_falls_back_to_the_most_accurate_when_its_variant_is_not_held() -> None:
    assert FixedSelection("gone").choose(view(3, 1.0)) == Choice("slow", 2)


@given(st.integers(1, 200), st.floats(-1, 1))
def test_greedy_never_misses_a_deadline_that_some_variant_meets(rows: int, slack_s: float) -> None:
    seen = view(rows, slack_s)
    choice = GreedySelection().choose(seen)
    chosen = next(c for c in ALL if c.variant == choice.variant)
    assert 1 <= choice.rows <= min(rows, chosen.max_batch)
    in_time = [c for c in ALL if c.latency_s[c.batch_rows(rows)] <= seen.slack_s]
    if in_time:
        assert chosen.accuracy == max(c.accuracy for c in in_time)


@pytest.mark.parametrize(
    ("policy", "variant", "message"),
    [
        (
            "fixd",
            None,
            "unknown selection policy 'fixd'; known: ramsis, greedy, slack_fit, fixed, jellyfish_plus, model_switching",
        ),
        ("fixed", None, "needs 'variant'; choose one of a, b"),
        ("fixed", "c", "variant 'c' does not do this task; choose one of a, b"),
        ("greedy", "a", "takes no 'variant'"),
    ],
)
def test_a_wrong_policy_is_refused_with_what_to_do(policy: str, variant: str | None, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        create_selection(policy, variant, ["a", "b"])
