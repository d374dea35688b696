"""Plans from the question to their end, and what of them is remembered."""

import json

from deployments.state.decisions import MOST_REMEMBERED, Decisions, DecisionState


def record(decisions: Decisions) -> list[tuple[int, str]]:
    return [(each["version"], each["state"]) for each in decisions.to_record()]


def test_one_is_in_force_at_a_time_and_the_one_before_was_replaced() -> None:
    decisions = Decisions()
    assert decisions.in_force is decisions.under_way is None
    first = decisions.begin("the application starts", 1000.0)
    assert decisions.under_way is first
    first.state = DecisionState.LOADING
    assert decisions.under_way is first
    decisions.put_in_force(first, 1000.0, 1001.5)
    assert (first.in_force_at, first.in_force_s) == ("1970-01-01T00:16:41.500+00:00", 1.5)
    assert decisions.in_force is first
    assert decisions.under_way is None
    second = decisions.begin("a burst", 1010.0)
    assert decisions.in_force is first
    decisions.put_in_force(second, 1010.0, 1011.0)
    assert record(decisions) == [(1, "replaced"), (2, "in force")]


def test_who_stood_beside_whom_is_remembered_of_the_plan_in_force_alone() -> None:
    decisions = Decisions()
    for version in (1, 2):
        decision = decisions.begin("a test", 1.0)
        decision.neighbours = [{"worker": f"w{version}"}]
        decisions.put_in_force(decision, 1.0, 2.0)
    assert [each["neighbours"] for each in decisions.to_record()] == [[], [{"worker": "w2"}]]


def test_the_next_controller_gives_up_what_was_half_done_and_counts_on() -> None:
    decisions, after = Decisions(), Decisions()
    decisions.put_in_force(decisions.begin("one", 1.0), 1.0, 2.0)
    decisions.begin("two", 3.0).state = DecisionState.LOADING
    decisions.begin("three", 4.0)
    after.restore(json.loads(json.dumps(decisions.to_record())))
    assert record(after) == [(1, "in force"), (2, "given up"), (3, "given up")]
    assert after.to_record()[2]["why_not"] == "the controller ended before it was in force"
    assert after.begin("four", 5.0).version == 4


def test_only_the_last_are_remembered_and_always_the_one_in_force() -> None:
    decisions = Decisions()
    decisions.put_in_force(decisions.begin("one", 1.0), 1.0, 2.0)
    kept = decisions.begin("two", 1.0)
    decisions.put_in_force(kept, 1.0, 2.0)
    for _ in range(2 * MOST_REMEMBERED):
        decisions.begin("a burst", 3.0).state = DecisionState.GIVEN_UP
    assert decisions.in_force is kept
    assert len(record(decisions)) == MOST_REMEMBERED
    assert [version for version, _ in record(decisions)][:2] == [2, MOST_REMEMBERED + 4]
    after = Decisions()
    after.restore(decisions.to_record())
    assert record(after) == record(decisions)
    decisions.put_in_force(decisions.begin("at last", 4.0), 4.0, 5.0)
    decisions.begin("another", 6.0)
    assert kept.version not in dict(record(decisions))
