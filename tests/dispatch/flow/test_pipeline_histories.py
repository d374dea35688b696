"""Pipelines under random histories: every query gets exactly one outcome, made of its own parts and no other's."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dispatch.balancing.registry import BALANCERS
from dispatch.commands import Answer
from dispatch.flow.pipeline import PipelineFlow
from dispatch.query import Query
from dispatch.selection.policy import SelectionPolicy
from dispatch_scene import Patient
from pipeline_histories_scene import (
    EVENTS,
    KINDS,
    PIPELINES,
    POLICIES,
    History,
    everything,
    expected,
)


@settings(max_examples=400)
@given(
    EVENTS,
    st.sampled_from(PIPELINES),
    st.booleans(),
    st.booleans(),
    st.sampled_from(POLICIES),
    st.sampled_from(list(BALANCERS)),
)
def test_every_query_gets_exactly_one_outcome_whatever_happens(
    events: list[tuple[str, int, float]],
    pipeline: Callable[[], PipelineFlow],
    drop_late: bool,
    anew: bool,
    selection: SelectionPolicy,
    balancing: str,
) -> None:
    history = History(
        pipeline, anew=anew, drop_late=drop_late, max_queued_rows=40, selection=selection, balancing=balancing
    )
    for kind, which, step_s in events:
        history.on(kind, which, step_s)
    history.settle()
    history.check()


@pytest.mark.parametrize("seed", range(60))
def test_long_histories_come_to_rest_as_well(seed: int) -> None:
    random = Random(seed)
    history = History(
        PIPELINES[seed % len(PIPELINES)],
        anew=random.random() < 0.5,
        drop_late=random.random() < 0.5,
        max_queued_rows=40,
        selection=random.choice(POLICIES),
        balancing=random.choice(list(BALANCERS)),
    )
    for _ in range(300):
        history.on(random.choice(KINDS), random.randrange(12), 0.05 * random.random() ** 3)
    history.settle()
    history.check()


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("balancing", ["central", "shortest_queue"])
def test_queries_keep_their_parts_together_when_workers_die(
    pipeline: Callable[[], PipelineFlow], balancing: str
) -> None:
    """Each stage has two workers, of which one dies again and again; with time enough, all queries are answered."""
    random = Random(5)
    history = History(pipeline, balancing=balancing)
    for number in range(40):
        for index, name in enumerate(history.stages):
            history.join(f"w{index}", [name])
            history.join(f"v{index}", [f"{name}-small"])
        query = Query(number, "e", history.now_s, history.now_s + 60.0, 1, {"x": np.array([number])})
        history.queries[number] = query
        history.note(history.d.on_arrival(query, history.now_s))
        for _ in range(6):
            history.advance(0.005)
            if history.running:
                history.finish(random.choice(sorted(history.running)))
        if number % 2:
            lost = random.choice(sorted(history.d.workers))
            history.running.pop(lost, None)
            history.note(history.d.on_workers_lost([lost], history.now_s))
    for index, name in enumerate(history.stages):
        history.join(f"w{index}", [name])
    history.settle()
    history.check()
    right: Mapping[int, Any] = {number: expected(history.flows[0], query) for number, query in history.queries.items()}
    found = {number: outcome for number, (outcome,) in history.ended.items()}
    for number, outcome in found.items():
        assert isinstance(outcome, Answer) == isinstance(right[number], list), "nobody but who has no answer is refused"


def test_equal_histories_have_equal_outcomes() -> None:
    def replay() -> list[str]:
        random = Random(11)
        history = History(everything, drop_late=True, selection=Patient(rows=2), balancing="shortest_queue")
        for _ in range(400):
            history.on(random.choice(KINDS), random.randrange(12), 0.02 * random.random())
        history.settle()
        return [repr(outcome) for outcomes in history.ended.values() for outcome in outcomes]

    assert replay() == replay()
