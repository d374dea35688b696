"""What a client makes of what workers say, and of their silence; real replicas of two pools, one of them empty."""

import asyncio
import gc
from dataclasses import replace

import numpy as np
import pytest
from ray import serve
from ray.serve.config import AutoscalingConfig, RequestRouterConfig
from ray.serve.request_router import PendingRequest

from catalog.catalogue import load_catalogue
from catalog.errors import ArtifactError
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.profiles.profile_csv import ProfiledVariant, write_profiles
from catalog.tensor import Arrays
from catalog.variant import Artifact, Variant
from deployments.messages.worker import WorkerSpec
from deployments.worker import membership
from deployments.worker.client import WorkerClient, WorkerGone
from deployments.worker.replica import WorkerDeployment
from deployments.worker.sockets.link import BatchLink
from toy_models import write_toy_catalogue

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

POOLS = {"full": 1, "empty": 0}
X: Arrays = {"x": np.array([1], dtype=np.float32)}


class Members:
    """What Serve reports of a pool."""

    def __init__(self, pool: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._reported: asyncio.Queue[frozenset[str]] = asyncio.Queue()
        membership.listen(pool, lambda live: self._loop.call_soon_threadsafe(self._reported.put_nowait, live))

    async def number(self, wanted: int) -> frozenset[str]:
        """Wait for a report of so many workers."""
        while len(live := await self._reported.get()) != wanted:
            pass
        return live


class Pools:
    """Clients of both pools, and the one worker that is there."""

    def __init__(self, good: Variant, corrupt: Variant) -> None:
        self.good = good
        self.corrupt = corrupt
        self.handles = {pool: serve.get_deployment_handle(pool, pool) for pool in POOLS}
        self.worker = ""

    def client(self, router: str | None = None) -> WorkerClient:
        return WorkerClient("full", self.handles["full"], router)


@pytest.fixture(scope="module")
async def pools(ray_cluster: None, free_port: int, tmp_path_factory: pytest.TempPathFactory) -> Pools:
    folder = tmp_path_factory.mktemp("client")
    catalogue = load_catalogue(write_toy_catalogue(folder))
    good, corrupt = catalogue.variant("good"), catalogue.variant("corrupt")
    five_s = LatencyProfile("cpu", {1: BatchLatency(9, 5000.0, 1.0, *4 * (5000.0,))})
    write_profiles(folder / "slow.csv", {"slow": ProfiledVariant(90.0, five_s)})
    await asyncio.to_thread(serve.start, http_options={"host": "127.0.0.1", "port": free_port})
    for pool, workers in POOLS.items():
        spec = WorkerSpec(pool, "cpu", 1, (good,), catalogue.root, str(folder / "cache"))
        deployment = WorkerDeployment.options(
            name=pool,
            max_ongoing_requests=16,
            ray_actor_options={"num_cpus": 0.1},
            autoscaling_config=AutoscalingConfig(min_replicas=workers, initial_replicas=workers, max_replicas=1),
            request_router_config=RequestRouterConfig(
                request_router_class="deployments.worker.address:WorkerAddressRouter"
            ),
        )
        await asyncio.to_thread(serve.run, deployment.bind(spec), name=pool, route_prefix=None)
    made = Pools(good, corrupt)
    members = {pool: Members(pool) for pool in POOLS}
    for pool, workers in POOLS.items():
        WorkerClient(pool, made.handles[pool]).follow()
        for worker in await members[pool].number(workers):
            made.worker = worker
    return made


async def test_following_a_pool_tells_who_is_there_without_a_call(pools: Pools) -> None:
    report = await pools.client().describe(pools.worker)
    assert report.info.pool == "full"
    assert report.loaded == ("good",)


async def test_following_a_pool_twice_is_fine(pools: Pools) -> None:
    pools.client().follow()
    assert (await pools.client().describe(pools.worker)).loaded == ("good",)


async def test_variants_are_loaded_run_and_unloaded(pools: Pools) -> None:
    client = pools.client()
    new = replace(pools.good, name="new")
    assert (await client.load(pools.worker, new)).loaded == ("good", "new")
    assert (await client.run(pools.worker, "new", X)).outputs["y"].tolist() == [2]
    assert (await client.unload(pools.worker, "new")).loaded == ("good",)


async def test_batches_of_a_router_that_is_not_obeyed_come_back_as_lost(pools: Pools) -> None:
    client = pools.client("r1")
    assert (await client.assign(pools.worker, "r1")).router == "r1"
    assert (await client.run(pools.worker, "good", X)).error is None
    with pytest.raises(WorkerGone, match=r"^WorkerNotAssigned: this worker belongs to router r1, not r2$") as raised:
        await pools.client("r2").run(pools.worker, "good", X)
    assert not raised.value.died


async def test_batches_take_the_socket_of_a_worker_on_this_machine_and_mean_the_same(pools: Pools) -> None:
    by_handle, by_socket = pools.client("r1"), pools.client("r1")
    await by_socket.assign(pools.worker, "r1")
    await by_socket.connect(pools.worker)
    link = by_socket._links[pools.worker]
    ran = await by_socket.run(pools.worker, "good", X)
    assert ran.outputs["y"].tolist() == (await by_handle.run(pools.worker, "good", X)).outputs["y"].tolist() == [2]
    assert "does not hold it" in str((await by_socket.run(pools.worker, "other", X)).error)
    await by_socket.assign(pools.worker, "r2")
    for client in (by_socket, by_handle):
        with pytest.raises(
            WorkerGone, match=r"^WorkerNotAssigned: this worker belongs to router r2, not r1$"
        ) as raised:
            await client.run(pools.worker, "good", X)
        assert not raised.value.died
    assert not link.lost
    by_socket.forget(pools.worker)
    await asyncio.sleep(0)
    assert link.lost


async def test_batches_take_the_network_where_no_local_socket_leads_to_the_worker(
    pools: Pools, monkeypatch: pytest.MonkeyPatch
) -> None:
    _let_nobody_listen_here(monkeypatch)
    client = pools.client("r1")
    await client.assign(pools.worker, "r1")
    await client.connect(pools.worker)
    link = client._links[pools.worker]
    assert (await client.run(pools.worker, "good", X)).outputs["y"].tolist() == [2]
    assert not link.lost
    client.forget(pools.worker)


async def test_a_worker_that_no_socket_leads_to_is_called_by_the_handle(
    pools: Pools, monkeypatch: pytest.MonkeyPatch
) -> None:
    _let_nobody_listen_here(monkeypatch)
    open_link = BatchLink.open_network
    monkeypatch.setattr(BatchLink, "open_network", lambda address: open_link(replace(address, port=1)))
    client = pools.client("r1")
    await client.assign(pools.worker, "r1")
    await client.connect(pools.worker)
    assert (await client.run(pools.worker, "good", X)).error is None
    await client.connect("nobody")  # whoever is gone is no reason to raise either
    assert client._links == {}


def _let_nobody_listen_here(monkeypatch: pytest.MonkeyPatch) -> None:
    open_link = BatchLink.open_local
    monkeypatch.setattr(BatchLink, "open_local", lambda name: open_link(name + "-there"))


async def test_a_variant_is_measured_where_it_would_run(pools: Pools) -> None:
    profile = await pools.client().profile(pools.worker, replace(pools.good, name="new", max_batch=2), 0.1)
    assert profile.batch_sizes == (1, 2)


async def test_why_a_variant_cannot_be_measured_comes_back_in_one_line(pools: Pools) -> None:
    with pytest.raises(ArtifactError, match=r"corrupt\.onnx") as raised:
        await pools.client().profile(pools.worker, pools.corrupt, 0.1)
    assert "\n" not in str(raised.value)


async def test_a_worker_that_is_not_there_is_gone_whatever_it_is_asked(pools: Pools) -> None:
    client = pools.client()
    for call in (
        client.describe("nobody"),
        client.run("nobody", "good", X),
        client.assign("nobody", "r1"),
        client.load("nobody", pools.good),
        client.unload("nobody", "good"),
        client.profile("nobody", pools.good, 0.1),
    ):
        with pytest.raises(WorkerGone, match="not nobody"):
            await call


async def test_calls_that_are_over_leave_nothing_behind(pools: Pools) -> None:
    """Serve's request router keeps what it has to send; of what it has sent nothing may stay."""
    client = pools.client("r1")
    await client.assign(pools.worker, "r1")
    for _ in range(50):
        assert (await client.run(pools.worker, "good", X)).error is None
    gc.collect()
    kept = [each for each in gc.get_objects() if type(each) is PendingRequest and each.future.done()]
    assert len(kept) < 10


async def test_a_worker_that_stops_answers_what_came_over_its_socket_first(pools: Pools) -> None:
    """The last test: Serve stops the replica."""
    client = pools.client("r1")
    await client.assign(pools.worker, "r1")
    await client.connect(pools.worker)
    slow = replace(pools.good, name="slow", runtime="emulated", artifact=Artifact("slow.csv"))
    assert "slow" in (await client.load(pools.worker, slow)).loaded
    batch = asyncio.create_task(client.run(pools.worker, "slow", X))
    await asyncio.sleep(0.2)
    await asyncio.to_thread(serve.delete, "full")
    assert (await batch).error is None
    with pytest.raises(WorkerGone):
        await client.run(pools.worker, "good", X)
