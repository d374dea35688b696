"""Admission of endpoints with several stages: refused is what has no way to an answer in time."""

import ensemble_scene
import pipeline_scene
from catalog.errors import Infeasible
from dispatch.admission.rules import AdmissionRules
from dispatch.dispatcher import Dispatcher

RULES = AdmissionRules()


def fill(d: Dispatcher, scene: object, most: int) -> tuple[int, set[type[Exception]]]:
    """Ask so many at once: how many were refused, and how."""
    kinds = [kind for number in range(1, most + 1) for kind in refused(scene.ask(d, number))]  # type: ignore[attr-defined]
    return len(kinds), set(kinds)


def refused(commands: object) -> list[type[Exception]]:
    return list(pipeline_scene.refused(commands).values())  # type: ignore[arg-type]


def test_a_pipeline_refuses_once_one_of_its_stages_is_behind() -> None:
    flow = pipeline_scene.sequence()
    d = pipeline_scene.scene(flow, admission=RULES)
    count, kinds = fill(d, pipeline_scene, 200)
    assert kinds == {Infeasible}
    assert 0 < count < 200
    assert flow.open_queries == 200 - count, "what is refused leaves nothing behind"


def test_a_pipeline_that_is_behind_in_a_later_stage_refuses_at_its_beginning() -> None:
    flow = pipeline_scene.sequence()
    d = pipeline_scene.scene(flow, admission=RULES)
    names = [node.name for node in flow.graph.nodes]
    now_s, number = 0.0, 0
    for _ in range(40):  # the first stage is served ever on, the others are not
        for _ in range(8):
            number += 1
            pipeline_scene.ask(d, number, now_s)
        now_s += 0.01
        if d.workers[names[0]].batch is not None:
            pipeline_scene.done(d, names[0], now_s)
    assert refused(pipeline_scene.ask(d, number + 1, now_s)) == [Infeasible]
    first = d.queues.by_name["e"].stages[names[0]]
    assert first.common.queue.rows < 20


def test_an_ensemble_goes_on_as_long_as_one_member_is_in_time() -> None:
    d, _, _ = ensemble_scene.of_three(admission=RULES)
    count, kinds = fill(d, ensemble_scene, 8)
    assert (count, kinds) == (0, set())
    count, kinds = fill(d, ensemble_scene, 300)
    assert kinds == {Infeasible}
    assert count > 0
