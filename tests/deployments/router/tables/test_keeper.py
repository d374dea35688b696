"""Tables in the background: what is made when, and what is in force meanwhile."""

from itertools import pairwise

import pytest
from table_keeper_scene import HIGHEST_QPS, PlayedRouter, Scene, by_tables, table

from deployments.router.tables.keeper import PUBLISH_EVERY_S, RETRY_S
from deployments.router.tables.progress import TableProgress, TableState
from deployments.router.tables.settled import SETTLED_S
from dispatch.plan import Plan
from dispatch.selection.policy import Candidate
from dispatch.selection.ramsis.policy import RamsisSelection
from dispatch.selection.ramsis.tables.latency_level import LatencyLevel
from dispatch.selection.ramsis.tables.work import TableTask, TableWork
from dispatch_scene import FAST, SLOW, endpoint


@pytest.fixture
def scene() -> Scene:
    return Scene()


def task(offered: tuple[Candidate, ...] = (FAST, SLOW), workers: int = 2) -> TableTask:
    return TableTask(offered, 0.1, workers=workers, balancing="round_robin", highest_qps=HIGHEST_QPS)


async def test_the_first_table_is_for_the_present_load_and_latency_and_in_force_at_once(scene: Scene) -> None:
    assert await scene.keeper.step()
    (problem,) = scene.maker.problems
    assert 50.0 <= problem.load_qps < 60.0
    assert (problem.slo_s, problem.workers) == (0.1, 2)
    (leveled,) = scene.selection().leveled.values()
    assert list(leveled.grids) == [LatencyLevel.above(scene.router.latency.typical())]
    assert [each.load_qps for each in scene.in_force()] == [problem.load_qps]
    progress = scene.router.tables["digits"]
    assert (progress.state, progress.made) == (TableState.EXACT, 1)


async def test_tables_are_made_in_the_order_of_their_use_until_all_are_there(scene: Scene) -> None:
    await scene.all_made()
    work = TableWork(task())
    expected = []
    work.aim(scene.router.latency.typical(), scene.router.load_qps)
    while (wanted := work.next()) is not None:
        expected.append(wanted[1])
        work.add(wanted[0], table(wanted[1]))
    assert scene.maker.problems == expected
    assert len(expected) > 30
    assert scene.router.tables["digits"] == TableProgress(TableState.EXACT, len(expected), len(expected))
    assert len(scene.in_force()) == len(expected)
    assert not await scene.keeper.step(), "nothing is missing"


async def test_many_tables_are_put_in_force_together(scene: Scene) -> None:
    steps = 0
    while await scene.keeper.step():
        steps += 1
        scene.now_s += PUBLISH_EVERY_S / 4
    assert len(scene.router.applied) == pytest.approx(steps / 4, abs=2)


async def test_while_nothing_changes_nothing_is_made(scene: Scene) -> None:
    await scene.all_made()
    applied = len(scene.router.applied)
    for _ in range(20):
        assert not await scene.keeper.step()
        scene.now_s += 1.0
    assert len(scene.router.applied) == applied


async def test_the_ladder_ends_where_the_router_does(scene: Scene) -> None:
    await scene.all_made()
    assert max(problem.load_qps for problem in scene.maker.problems) <= HIGHEST_QPS


async def test_another_load_gets_the_tables_near_it(scene: Scene) -> None:
    await scene.all_made()
    scene.router.load_qps = 200.0
    assert await scene.all_made() > 0
    level = LatencyLevel.above(scene.router.latency.typical())
    loads_qps = scene.selection().leveled["cpu"].grids[level].loads_qps
    near = [load_qps for load_qps in loads_qps if 180.0 <= load_qps <= 260.0]
    assert all(high / low < 1.07 for low, high in pairwise(near))
    assert len(near) >= 5


async def test_another_latency_gets_tables_of_its_own_and_those_of_before_stay(scene: Scene) -> None:
    await scene.all_made()
    before = scene.selection().leveled["cpu"].grids.keys()
    for number in range(40):
        scene.router.latency.on_batch("w1", FAST, 1, 0.0016, 0.02, 50.0, 100.0 + number / 5)
    latency = scene.router.latency.typical()
    assert latency.path_s > 0.01
    assert scene.router.tables["digits"].state is TableState.EXACT
    await scene.keeper.step()
    assert scene.maker.problems[-1].load_qps == pytest.approx(50.0, rel=0.07)
    await scene.all_made()
    after = scene.selection().leveled["cpu"].grids.keys()
    assert LatencyLevel.above(latency) in after
    assert before <= after


async def test_workers_that_changed_for_good_get_tables_of_their_own(scene: Scene) -> None:
    await scene.all_made()
    scene.router.workers = 1
    assert await scene.all_made() == 0
    scene.now_s += SETTLED_S - 0.1
    assert await scene.all_made() == 0
    scene.now_s += 0.1
    assert await scene.all_made() > 0
    assert {each.workers for each in scene.in_force()} == {1}


async def test_queries_of_several_rows_get_tables_of_their_own_and_keep_those_before_until_then(scene: Scene) -> None:
    await scene.all_made()
    before = scene.selection()
    scene.router.observer.rows = 4
    scene.maker.meanwhile = lambda: seen.append(scene.selection())
    seen: list[RamsisSelection] = []
    assert await scene.keeper.step()
    assert seen == [before]
    assert scene.maker.problems[-1].load_qps == pytest.approx(50.0 / 4, rel=0.07)
    scene.now_s += PUBLISH_EVERY_S
    await scene.all_made()
    assert scene.selection().leveled["cpu"].query_rows == 4
    progress = scene.router.tables["digits"]
    assert (progress.state, progress.query_rows) == (TableState.EXACT, 4)


async def test_clients_that_take_turns_have_no_tables_made_again_and_again(scene: Scene) -> None:
    scene.router.observer.rows = 8
    await scene.all_made()
    for rows in (1, 8, 1, 1, 8, 1) * 3:
        scene.router.observer.rows = rows
        assert await scene.all_made() == 0
        scene.now_s += SETTLED_S / 3
    scene.router.observer.rows = 2
    assert await scene.all_made() == 0
    scene.now_s += SETTLED_S
    assert await scene.all_made() > 0


async def test_tables_for_queries_of_another_size_are_not_exact(scene: Scene) -> None:
    await scene.all_made()
    assert scene.router.tables["digits"].state is TableState.EXACT
    scene.router.observer.rows = 4
    scene.maker.broken = True
    await scene.keeper.step()
    assert scene.router.tables["digits"].state is TableState.APPROXIMATE


async def test_a_worker_that_is_soon_replaced_changes_nothing(scene: Scene) -> None:
    await scene.all_made()
    made = scene.in_force()
    for workers in (1, 1, 2, 1, 1, 2, 1, 3, 1):
        scene.router.workers = workers
        assert await scene.all_made() == 0
        scene.now_s += SETTLED_S / 2
    assert scene.in_force() == made


async def test_tables_outlast_the_loss_of_all_workers(scene: Scene) -> None:
    await scene.all_made()
    made = scene.in_force()
    scene.router.workers = 0
    scene.now_s += 2 * SETTLED_S
    assert await scene.all_made() == 0
    assert scene.router.tables["digits"].state is TableState.NONE, "nobody is there to decide for"
    scene.router.workers = 2
    assert await scene.all_made() == 0
    assert scene.in_force() == made
    assert scene.router.tables["digits"].state is TableState.EXACT


async def test_without_workers_there_is_nothing_to_make_tables_for(scene: Scene) -> None:
    scene.router.workers = 0
    assert await scene.all_made() == 0
    assert scene.router.tables["digits"] == TableProgress(TableState.NONE, 0, 0)


async def test_another_objective_begins_anew_and_nothing_of_before_is_put_in_force(scene: Scene) -> None:
    for _ in range(3):
        await scene.keeper.step()
    scene.now_s += PUBLISH_EVERY_S
    scene.maker.meanwhile = lambda: scene.router.change(slo_s=0.2)
    assert await scene.keeper.step()
    assert scene.maker.problems[-1].slo_s == 0.1
    assert scene.in_force() == [], "the greedy policy decides until there is a table for the objective"
    scene.maker.meanwhile = lambda: None
    assert await scene.keeper.step()
    assert [each.slo_s for each in scene.in_force()] == [0.2]
    await scene.all_made()
    assert {each.slo_s for each in scene.in_force()} == {0.2}


async def test_another_variant_begins_anew(scene: Scene) -> None:
    await scene.all_made()
    better = Candidate("better", 0.99, tuple(1.2 * latency_s for latency_s in SLOW.latency_s))
    scene.router.change(candidates={"cpu": (FAST, SLOW, better)})
    scene.now_s += PUBLISH_EVERY_S
    assert await scene.keeper.step()
    assert ["better" in each.variants for each in scene.in_force()] == [True]


async def test_tables_are_put_in_force_again_where_a_variant_is_offered_that_no_worker_holds(scene: Scene) -> None:
    await scene.all_made()
    made = scene.in_force()
    large = Candidate("large", 0.99, tuple(1.2 * latency_s for latency_s in SLOW.latency_s))
    scene.router.holding = (FAST, SLOW)
    for offered in ((FAST, SLOW, large), (FAST, SLOW)):
        scene.router.change(candidates={"cpu": offered})
        assert scene.in_force() == []
        assert not await scene.keeper.step(), "nothing is missing"
        assert scene.in_force() == made
        assert scene.router.tables["digits"].state is TableState.EXACT
        applied = len(scene.router.applied)
        assert await scene.all_made() == 0
        assert len(scene.router.applied) == applied, "once is enough"


async def test_tables_for_an_objective_or_a_variant_of_before_are_not_put_in_force_again(scene: Scene) -> None:
    scene.router.change(candidates={"cpu": (FAST, SLOW), "cuda": (FAST, SLOW)})
    scene.router.devices = ("cpu", "cuda")
    await scene.all_made()
    scene.router.devices = ("cpu",)  # no worker of the other type is there just now
    scene.router.change(candidates={"cpu": (FAST, SLOW), "cuda": (FAST,)})
    await scene.keeper.step()
    assert scene.selection().leveled.keys() == {"cpu"}
    scene.router.workers = 0
    scene.router.change(slo_s=0.2)
    await scene.keeper.step()
    assert scene.selection().leveled == {}


async def test_a_device_type_that_is_offered_no_more_has_no_tables(scene: Scene) -> None:
    scene.router.change(candidates={"cpu": (FAST, SLOW), "cuda": (FAST, SLOW)})
    scene.router.devices = ("cpu", "cuda")
    await scene.all_made()
    assert scene.in_force(device="cuda")
    scene.router.devices = ("cpu",)
    assert await scene.all_made() == 0
    assert scene.in_force(device="cuda"), "it only has no worker just now"
    scene.router.change(candidates={"cpu": (FAST, SLOW)})
    scene.router.load_qps = 200.0
    await scene.all_made()
    assert scene.selection().leveled.keys() == {"cpu"}


async def test_devices_get_their_tables_in_turn(scene: Scene) -> None:
    scene.router.change(candidates={"cpu": (FAST, SLOW), "cuda": (FAST,)})
    scene.router.devices = ("cpu", "cuda")
    for number in (1, 2):
        await scene.keeper.step()
        scene.now_s += PUBLISH_EVERY_S
        assert [len(scene.in_force(device=device)) for device in scene.router.devices] == [number, number]


async def test_an_endpoint_whose_tables_fail_is_tried_again_later_and_starves_no_other() -> None:
    scene = Scene(PlayedRouter(Plan(1, {"digits": by_tables(), "letters": by_tables("letters")})))
    scene.router.change(slo_s=0.2)  # by which its problems are known

    def digits_only() -> None:
        if scene.maker.problems[-1].slo_s == 0.2:
            raise OSError("no more processes")

    scene.maker.meanwhile = digits_only
    made = await scene.all_made()
    assert sum(problem.slo_s == 0.2 for problem in scene.maker.problems) == 1
    assert len(scene.in_force("letters")) == made - 1
    assert "digits" not in scene.router.tables
    scene.now_s += RETRY_S - 0.1
    assert await scene.all_made() == 0
    scene.maker.meanwhile = lambda: None
    scene.now_s += 0.1
    assert await scene.all_made() > 0
    assert scene.router.tables["digits"].state is TableState.EXACT


async def test_an_endpoint_that_is_gone_is_let_alone(scene: Scene) -> None:
    scene.router.plan = Plan(2, {"other": endpoint("other")})
    assert await scene.all_made() == 0
