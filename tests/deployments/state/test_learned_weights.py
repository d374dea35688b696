"""Every label counts once at every router, whoever of routers and controller is replaced."""

import json
from random import Random

import numpy as np
import pytest

from deployments.messages.learned import LearnedVotes
from deployments.state import learned_weights
from deployments.state.learned_weights import Learned, LearnedWeights


def learned(rows: float, endpoint: str = "digits", member: str = "a") -> dict[str, LearnedVotes]:
    return {endpoint: LearnedVotes({member: np.full((3, 2), float(rows))})}


def rows(known: Learned, endpoint: str = "digits", member: str = "a") -> float:
    votes = known.get(endpoint)
    return 0.0 if votes is None or member not in votes.by_member else float(votes.by_member[member][0, 0])


def next_controller(before: LearnedWeights) -> LearnedWeights:
    after = LearnedWeights()
    after.restore(json.loads(json.dumps(before.to_record(), allow_nan=False)))
    return after


def test_a_router_hears_of_all_others_and_not_of_itself() -> None:
    weights = LearnedWeights()
    assert weights.exchange("r1", learned(5)) == {}
    assert rows(weights.exchange("r2", learned(7))) == 5
    assert rows(weights.exchange("r1", learned(5))) == 7
    assert rows(weights.exchange("r3", {})) == 12


def test_newer_counts_of_a_router_replace_those_before() -> None:
    weights = LearnedWeights()
    for number in (1, 2, 2, 9):
        weights.exchange("r1", learned(number))
    assert rows(weights.exchange("r2", {})) == 9


def test_what_a_router_learned_stays_when_another_takes_its_place() -> None:
    weights = LearnedWeights()
    weights.exchange("r1", learned(5))
    assert rows(weights.exchange("r1-again", {})) == 5, "it begins with nothing of its own"
    weights.exchange("r1-again", learned(2))
    assert rows(weights.exchange("other", {})) == 7


def test_the_next_controller_knows_the_same_and_counts_nothing_twice() -> None:
    weights = LearnedWeights()
    weights.exchange("r1", {**learned(5), **learned(3, "letters", "b")})
    weights.exchange("r2", learned(7))
    after = next_controller(weights)
    assert after.to_record() == weights.to_record()
    known = after.exchange("new", {})
    assert (rows(known), rows(known, "letters", "b")) == (12, 3)
    after.exchange("r1", learned(6))
    assert rows(after.exchange("new", {})) == 13, "r1 went on counting while the controller was away"


def test_a_controller_that_knows_nothing_hears_it_again_from_those_that_live() -> None:
    fresh = LearnedWeights()
    fresh.exchange("r1", learned(5))
    assert rows(fresh.exchange("r2", learned(7))) == 5


def test_of_many_routers_the_ones_heard_of_longest_ago_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned_weights, "MOST_ROUTERS", 3)
    weights = LearnedWeights()
    for number in range(10):
        weights.exchange(f"r{number}", learned(number))
        weights.exchange("alive", learned(100 + number))
        weights = next_controller(weights)
    for _ in range(12 * learned_weights.SILENT):
        weights.exchange("alive", learned(109))
    record = weights.to_record()
    assert set(record["routers"]) == {"alive", "r8", "r9"}
    assert rows(weights.exchange("new", {})) == sum(range(10)) + 109
    assert rows(weights.exchange("alive", learned(109))) == sum(range(10)), "what is added up is of others"


def test_endpoints_and_members_come_and_go() -> None:
    weights = LearnedWeights()
    weights.exchange("r1", learned(5, member="a"))
    weights.exchange("r2", learned(7, member="b"))
    known = weights.exchange("r3", {})
    assert (rows(known, member="a"), rows(known, member="b")) == (5, 7)
    weights.exchange("r1", learned(6, "letters"))
    known = weights.exchange("r3", {})
    assert (rows(known, member="a"), rows(known, "letters")) == (0, 6), "a router says all that it knows every time"


@pytest.mark.parametrize("seed", range(20))
def test_whatever_restarts_every_label_counts_once(seed: int) -> None:
    """Routers count, exchange and are replaced; controllers are replaced by what they saved after the last word."""
    random = Random(seed)
    weights = LearnedWeights()
    alive = {f"r{n}": 0 for n in range(3)}
    told, born = dict.fromkeys(alive, 0), 3
    for _ in range(200):
        name = random.choice(sorted(alive))
        step = random.random()
        if step < 0.5:
            alive[name] += 1
        elif step < 0.8:
            told[name] = alive[name]
            heard = weights.exchange(name, learned(alive[name]) if alive[name] else {})
            assert rows(heard) == sum(each for other, each in told.items() if other != name)
        elif step < 0.9:
            weights = next_controller(weights)
        else:  # what it has not told is lost with it
            del alive[name]
            alive[f"r{born}"], told[f"r{born}"], born = 0, 0, born + 1


def test_more_routers_than_are_kept_apart_count_once_as_long_as_they_live() -> None:
    weights, count = LearnedWeights(), learned_weights.MOST_ROUTERS + 3
    for _ in range(3):
        for number in range(count):
            others = weights.exchange(f"r{number}", learned(1))
    assert rows(others) == count - 1
    for _ in range(learned_weights.SILENT + 2):
        for number in range(3, count):
            others = weights.exchange(f"r{number}", learned(1))
    assert rows(others) == count - 1, "three are gone, and what they learned stays"
    assert len(weights.to_record()["routers"]) <= learned_weights.MOST_ROUTERS
